"""A cache of directories that are built once, each named after what it is built from."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.errors import UserError
from dragoman.system.files import atomic_directory, read_json, sha256, write_json
from dragoman.system.leftovers import is_in_use, is_leftover, remove_leftovers, restore_replaced
from dragoman.system.locks import wait_for_lock
from dragoman.system.progress import Log

ABOUT = "about.json"
"""File of each entry with its identity, its facts and the checksums of its other files."""
DAY = 24 * 60 * 60
MAX_AGE = 30 * DAY  # since an entry was used
MAX_BUILD = DAY  # of an entry


def digest(identity: Any) -> str:
    """A short name for an identity, which is plain data."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Entry:
    """A directory of the cache, and the facts that were stored with it."""

    path: Path
    facts: dict[str, Any]


@dataclass(frozen=True)
class BuildCache:
    """Directories below `root`, checked whenever they are used; `log` receives messages."""

    root: Path
    log: Log

    def path(self, kind: str, identity: Any) -> Path:
        """Where the entry of this kind and identity is, or would be."""
        return self.root / f"{kind}-{digest(identity)}"

    def get(self, kind: str, identity: Any, build: Callable[[Path], dict[str, Any]]) -> Entry:
        """Return an entry, after building it if it does not exist or is damaged.

        Building an entry deletes those that were not used for 30 days.

        Args:
            kind: First part of the directory's name.
            identity: Everything that decides the content, as plain data.
            build: Fills an empty directory with files, and returns facts to store with them.

        Raises:
            UserError: The disk is full, or the directory cannot be written to.
        """
        path = self.path(kind, identity)
        restore_replaced(path)
        if path.exists():
            problem = _find_problem(path, identity)
            if problem is None:
                with suppress(OSError):  # of another user
                    os.utime(path)  # for `_remove_old`
                return Entry(path, read_json(path / ABOUT)["facts"])
            self.log(f"{problem}; building it again")
        remove_leftovers(path.parent, path.name)
        _remove_old(path.parent)
        with atomic_directory(path) as directory:
            facts = build(directory)
            checksums = {file.name: sha256(file) for file in sorted(directory.iterdir())}
            write_json(directory / ABOUT, {"identity": identity, "facts": facts, "sha256": checksums})
        return Entry(path, facts)

    @contextmanager
    def lock(self, identity: Any) -> Iterator[None]:
        """Wait until no other process holds the lock of this identity, then hold it. A killed process releases it.

        Raises:
            UserError: The cache cannot be written to.
        """
        path = self.root / f"{digest(identity)}.lock"
        with ExitStack() as stack:
            try:
                self.root.mkdir(parents=True, exist_ok=True)
                stack.enter_context(wait_for_lock(path, "prepares the same data", self.log))
            except OSError as error:
                problem = f"the cache {self.root} cannot be used: {error.strerror}"
                raise UserError(f"{problem}; set XDG_CACHE_HOME to a directory that can be written to") from error
            yield


def _remove_old(root: Path) -> None:
    """Delete entries that were not used for long, and what killed processes left behind.

    A process of another machine that shares the directory looks like a killed one, so it gets some time.
    """
    now = time.time()
    for path in root.iterdir():
        with suppress(OSError):  # another process deletes it too
            age = now - path.stat().st_mtime
            if path.is_dir() and (age > MAX_AGE or (age > MAX_BUILD and is_leftover(path) and not is_in_use(path))):
                shutil.rmtree(path)


def _find_problem(path: Path, identity: Any) -> str | None:
    """What is wrong with an entry, or None."""
    try:
        about = read_json(path / ABOUT)
        if digest(about.get("identity")) != digest(identity):
            return f"{path / ABOUT}: describes something else"
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
