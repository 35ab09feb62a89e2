"""Directories that are made once: named after what they were made from, and checked when used again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from dragoman.errors import UserError
from dragoman.system.files import atomic_directory, read_json, remove_leftovers, sha256, write_json

ABOUT = "about.json"


def digest(identity: Any) -> str:
    """A short name for what a directory is made from, plain data."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def sealed(
    path: Path, identity: Any, make: Callable[[Path], dict[str, Any]], note: Callable[[str], None]
) -> dict[str, Any]:
    """See that the directory `path` is there, whole, and made from `identity`; the facts that `make` told about it.

    Args:
        path: The directory.
        identity: All that decides what is in it, plain data.
        make: Fills an empty directory with files; called if `path` is not there, or not whole.
        note: Is told of a damaged directory, which is made again.

    Raises:
        UserError: The disk is full or the place cannot be written to.
    """
    if path.exists():
        problem = _problem(path, identity)
        if problem is None:
            facts: dict[str, Any] = read_json(path / ABOUT)["facts"]
            return facts
        note(f"{problem}; making it again")
    remove_leftovers(path.parent, path.name)
    with atomic_directory(path) as directory:
        facts = make(directory)
        checksums = {file.name: sha256(file) for file in sorted(directory.iterdir())}
        write_json(directory / ABOUT, {"identity": identity, "facts": facts, "sha256": checksums})
    return facts


def _problem(path: Path, identity: Any) -> str | None:
    """What is wrong with a directory."""
    try:
        about = read_json(path / ABOUT)
        if digest(about.get("identity")) != digest(identity):
            return f"{path / ABOUT}: tells of something else"
        for name, checksum in about["sha256"].items():
            if sha256(path / name) != checksum:
                return f"{path / name}: damaged or truncated (its SHA-256 is not the one in {ABOUT})"
        return None if isinstance(about["facts"], dict) else f"{path / ABOUT}: damaged"
    except UserError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    except (KeyError, AttributeError):
        return f"{path / ABOUT}: damaged"


@contextmanager
def locked(path: Path, note: Callable[[str], None]) -> Iterator[None]:
    """Hold a lock that one process can hold at a time, even if another was killed with it; waits for it.

    Raises:
        UserError: The place cannot be written to.
    """
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            note("waiting for another process that prepares the same text")
            lock.acquire()
    except OSError as error:
        raise UserError(f"{path}: cannot be made: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()
