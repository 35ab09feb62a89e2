"""Work on the parts of a large text in several processes, because Python's threads take turns."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, cycle, islice
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from dragoman.errors import UserError
from dragoman.system.cpu import usable_cores

Part = TypeVar("Part")
Result = TypeVar("Result")

FIRST_PARTS = 4
"""Of fewer parts, no process is started."""
MAX_PROCESSES = 8
"""Reading the parts is not faster than this many."""


def map_in_processes(function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[tuple[Part, Result]]:
    """Each part with the result of a function, in order; computed in forked processes if there are many parts.

    Args:
        function: It depends on nothing but its argument, and changes nothing. It and what it refers to are not copied:
            processes that are forked share them, and all have the same random hashes of texts.
        parts: What it is called with. They and the results are sent between processes.

    Raises:
        UserError: A process was killed.
        Exception: What the function raises.
    """
    remaining = iter(parts)
    first = list(islice(remaining, FIRST_PARTS))
    count = min(MAX_PROCESSES, usable_cores())
    can_fork = "fork" in multiprocessing.get_all_start_methods() and not multiprocessing.current_process().daemon
    if len(first) < FIRST_PARTS or count < 2 or not can_fork:
        for part in chain(first, remaining):
            yield part, function(part)
        return
    processes: list[_Process[Part, Result]] = []
    waiting: deque[tuple[Part, _Process[Part, Result]]] = deque()
    try:
        for _ in range(count):
            processes.append(_Process(function))
        for part, process in zip(chain(first, remaining), cycle(processes), strict=False):
            # once all are busy, the oldest part is that of this process
            done = [(waiting.popleft()[0], process.receive())] if len(waiting) == count else []
            process.send(part)
            waiting.append((part, process))
            yield from done
        for part, process in waiting:
            yield part, process.receive()
    finally:
        for process in processes:
            process.end()


class _Process(Generic[Part, Result]):
    """A forked process that calls a function with one part after another.

    Each has its own pipe, so that one that is killed does not leave the others waiting for a shared lock.
    """

    def __init__(self, function: Callable[[Part], Result]) -> None:
        context = multiprocessing.get_context("fork")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(function, theirs), daemon=True)
        with warnings.catch_warnings():
            # Other threads do not exist in a forked process, and their locks stay held. The functions use none of them.
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
            self._process.start()
        theirs.close()  # so that reading ends if the process is killed

    def send(self, part: Part) -> None:
        """Let it compute. Its last result was received."""
        try:
            self._connection.send(part)
        except OSError as error:
            raise _killed() from error

    def receive(self) -> Result:
        """The result for the last part."""
        try:
            result, error = self._connection.recv()
        except (EOFError, OSError) as problem:
            raise _killed() from problem
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]

    def end(self) -> None:
        """Stop at once: it changes nothing that must be complete."""
        self._process.kill()
        self._process.join()
        self._connection.close()


def _killed() -> UserError:
    return UserError("a process was killed; perhaps the memory was full")


def _work(function: Callable[[Any], Any], connection: Connection) -> None:
    """Answer parts with results until this process is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends this one
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        part = connection.recv()
        answer: tuple[Any, Exception | None]
        try:
            answer = function(part), None
        except Exception as error:
            error.add_note(traceback.format_exc())  # the traceback itself cannot be sent
            answer = None, error
        connection.send(answer)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "this process was forked"
    wait([parent.sentinel])
    os._exit(1)
