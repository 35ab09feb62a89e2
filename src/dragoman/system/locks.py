"""Locks between processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


@contextmanager
def wait_for_lock(path: Path, work: str, log: Callable[[str], object]) -> Iterator[None]:
    """Wait until no other process holds a lock, then hold it. A killed process releases it.

    Args:
        path: The file of the lock.
        work: What the process that holds it does, for the message.
        log: Gets a message before the program waits.

    Raises:
        OSError: The file cannot be written.
    """
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        log(f"waiting for another process that {work}")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
