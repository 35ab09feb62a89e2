"""Outputs that take long: what is finished is kept next to them, so that an interrupted command can continue."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from dragoman.errors import UserError


def unfinished_directory(output: str | Path) -> Path:
    """Where the parts of an output are until it is complete: ``synthetic.tsv.partial``."""
    return Path(f"{output}.partial")


def delete_unfinished(output: str | Path) -> None:
    """Delete the parts of an output that is complete, if there are any."""
    shutil.rmtree(unfinished_directory(output), ignore_errors=True)


@contextmanager
def only_writer(output: str | Path) -> Iterator[Path]:
    """Create the directory of an output, and let no other process write the same output until it ends or is killed.

    Raises:
        UserError: Another process is writing it.
        OSError: The directory cannot be created.
    """
    directory = unfinished_directory(output)
    directory.mkdir(exist_ok=True)
    lock = FileLock(directory / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(
            f"{output}: another process is writing it; wait until it has finished, or choose another output"
        ) from None
    try:
        yield directory
    finally:
        lock.release()
