"""Calling a function in a thread before its results are needed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class Prefetcher(Generic[T]):
    """The results of one call after another, in order; one thread makes the calls a few results ahead.

    Args:
        produce: The function; only one call runs at a time.
        ahead: Maximum number of results that wait to be used.
    """

    def __init__(self, produce: Callable[[], T], ahead: int) -> None:
        self.produce, self.ahead = produce, ahead
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="prefetch")
        self._futures: deque[Future[T]] = deque()

    def next(self) -> T:
        """The result of the next call, or the exception that it raised."""
        while len(self._futures) <= self.ahead:
            self._futures.append(self._thread.submit(self.produce))
        return self._futures.popleft().result()

    def close(self) -> None:
        """Wait for the call that is running, and discard results that were not used."""
        self._thread.shutdown(cancel_futures=True)
        self._futures.clear()
