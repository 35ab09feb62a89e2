"""Work on the parts of a large text in several processes, because Python's threads take turns."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import chain, islice
from multiprocessing.connection import wait
from typing import Any, TypeVar

from dragoman.system.cpu import usable_cores

Part = TypeVar("Part")
Result = TypeVar("Result")

FIRST_PARTS = 4
"""Of fewer parts, no process is started."""
WAITING_PARTS = 2
"""For each process; they are in memory."""
MAX_PROCESSES = 8
"""Reading the parts is not faster than this many."""

_function: Callable[[Any], Any]


def map_in_processes(function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
    """The results of a function, in order, like `map`; computed in forked processes if there are many parts.

    Args:
        function: It depends on nothing but its argument, and changes nothing. It and what it refers to are not copied:
            processes that are forked share them, and all have the same random hashes of texts.
        parts: What it is called with. They and the results are sent between processes.
    """
    remaining = iter(parts)
    first = list(islice(remaining, FIRST_PARTS))
    processes = min(MAX_PROCESSES, usable_cores())
    if len(first) < FIRST_PARTS or processes < 2 or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(function, chain(first, remaining))
        return
    context = multiprocessing.get_context("fork")
    executor = ProcessPoolExecutor(processes, context, _start, (function,))
    waiting: deque[Future[Result]] = deque()
    try:
        with warnings.catch_warnings():
            # Other threads do not exist in a forked process, and their locks stay held. The functions use none of them.
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
            executor.submit(os.getpid)  # starts the processes
        for part in chain(first, remaining):
            waiting.append(executor.submit(_call, part))
            if len(waiting) > WAITING_PARTS * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        executor.shutdown(cancel_futures=True)


def _start(function: Callable[[Any], Any]) -> None:
    """Prepare a forked process."""
    global _function
    _function = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends this one
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "this process was forked"
    wait([parent.sentinel])
    os._exit(1)


def _call(part: Any) -> Any:
    return _function(part)
