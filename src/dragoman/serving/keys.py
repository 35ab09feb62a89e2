"""API keys: only their hashes are stored."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from dragoman.errors import UserError, nearest
from dragoman.settings.serving import Serving
from dragoman.system.files import read_json, write_json

_DIGEST = re.compile("[0-9a-f]{64}")
KEYS_FILE = "keys.json"
_LOG = logging.getLogger(__name__)


def state_directory(settings: Serving) -> Path:
    """The directory for API keys, glossaries and corrections."""
    if settings.state_directory is not None:
        return Path(settings.state_directory)
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "dragoman"


class KeyFile:
    """The names of API keys with the SHA-256 of each key. Keys are random, so that a fast hash suffices."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._modified = 0
        self._hashes: dict[str, str] = {}
        self._is_damaged = False  # logged once

    def names(self) -> list[str]:
        """The names of all keys."""
        self._read()
        return list(self._hashes)

    def add(self, name: str) -> str:
        """Create and return a key.

        Raises:
            UserError: There is a key of this name, or the file cannot be written.
        """
        if not name.isprintable() or not name.strip():
            raise UserError(f"{name!r}: choose a name of printable characters")
        with self._locked():
            if name in self._hashes:
                raise UserError(f"there is a key named {name!r}; remove it first: dragoman serve-key remove {name}")
            key = secrets.token_urlsafe(32)
            self._write({**self._hashes, name: hash_key(key)})
        return key

    def remove(self, name: str) -> None:
        """Delete a key.

        Raises:
            UserError: There is no key of this name, or the file cannot be written.
        """
        with self._locked():
            if name not in self._hashes:
                raise UserError(f"no key is named {name!r}{nearest(name, self._hashes)}")
            self._write({other: digest for other, digest in self._hashes.items() if other != name})

    def owner(self, key: str) -> str | None:
        """The name of a key, or None; it takes the same time for every wrong key.

        If the file is damaged, the keys that were read last stay valid.
        """
        try:
            self._read()
            self._is_damaged = False
        except UserError as error:
            if not self._is_damaged:
                _LOG.error("the earlier API keys stay valid: %s", error)
            self._is_damaged = True
        digest, found = hash_key(key), None
        for name, stored in self._hashes.items():
            if hmac.compare_digest(stored, digest):
                found = name
        return found

    def _read(self) -> None:
        """Read the file if it has changed, so that new keys are valid at once."""
        try:
            modified = self._path.stat().st_mtime_ns
        except FileNotFoundError:
            self._hashes, self._modified = {}, 0
            return
        except OSError as error:
            raise UserError(f"{self._path}: {error.strerror}") from error
        if modified != self._modified:
            stored = read_json(self._path)
            if not all(isinstance(digest, str) and _DIGEST.fullmatch(digest) for digest in stored.values()):
                raise UserError(f"{self._path}: damaged")
            self._hashes, self._modified = stored, modified

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Read the file and let no other process change it meanwhile.

        Raises:
            UserError: The file is damaged, or its directory cannot be written to.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = FileLock(self._path.with_suffix(".lock"))
            lock.acquire()
        except OSError as error:
            raise UserError(f"{self._path}: could not be saved: {error.strerror}") from error
        try:
            self._modified = 0  # two changes may have the same time
            self._read()
            yield
        finally:
            lock.release()

    def _write(self, hashes: dict[str, str]) -> None:
        write_json(self._path, hashes)
        self._path.chmod(0o600)


def hash_key(key: str) -> str:
    """What is stored instead of a key."""
    return hashlib.sha256(key.encode()).hexdigest()
