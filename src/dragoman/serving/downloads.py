"""Translated files that clients download: unguessable names, deleted after half an hour."""

from __future__ import annotations

import asyncio
import errno
import logging
import secrets
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

from filelock import FileLock, Timeout

from dragoman.serving.errors import RequestError

_LOG = logging.getLogger(__name__)
LIFETIME = 30 * 60  # seconds
_PREFIX = "dragoman-files-"
_LOCK = ".lock"
SHARE = 4  # the part of the whole that one client may use, as a divisor
_SMALLEST = 65_536  # bytes that a file counts at least
_LONGEST_NAME = 100  # characters
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True)
class Download:
    """A translated file.

    Args:
        path: Where it is.
        name: Its name for the user.
        client: Whose file it is.
        size: How many bytes it counts.
    """

    path: Path
    name: str
    client: str
    size: int


class Downloads:
    """The translated files, in a temporary directory until `close`.

    The directories of servers that were killed are deleted: nobody locks a file in them any more.

    Args:
        most_bytes: Maximum size of all files.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        _remove_abandoned(Path(tempfile.gettempdir()))
        self._directory = tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
        self._lock = FileLock(Path(self._directory.name) / _LOCK)
        self._lock.acquire()
        self._files: dict[str, Download] = {}

    def require_room(self, client: str, size: int) -> None:
        """Check that a file of a client can be stored.

        Raises:
            RequestError: All files, or those of the client, would be too large.
        """
        sizes = [(each.client == client, each.size) for each in self._files.values()]
        own = sum(stored for is_own, stored in sizes if is_own)
        if own and own + size > self._most_bytes // SHARE:
            raise RequestError(429, "Slowdown: too many of your files are stored; try again later.", 60)
        if sizes and sum(stored for _, stored in sizes) + size > self._most_bytes:
            raise RequestError(503, "The server stores too many files; try again later.", 60)

    async def add(self, data: bytes, name: str, client: str) -> str:
        """Write a file of a client and return the name under which `get` finds it.

        Raises:
            RequestError: There are too many files, or the file cannot be written; nothing is left behind.
        """
        size = max(len(data), _SMALLEST)
        self.require_room(client, size)
        token = secrets.token_urlsafe(24) + PurePath(name).suffix.lower()
        path = Path(self._directory.name) / token
        self._files[token] = Download(path, name, client, size)
        writing = asyncio.get_running_loop().run_in_executor(None, path.write_bytes, data)
        try:
            await asyncio.shield(writing)
        except OSError as error:
            self.remove(token)
            _LOG.exception("a translated file could not be written")
            if error.errno in _FULL:
                raise RequestError(507, "The translated file could not be written: the disk is full.") from None
            raise RequestError(500, "The translated file could not be written.") from None
        except asyncio.CancelledError:
            writing.add_done_callback(lambda _: self.remove(token))  # a thread cannot be cancelled
            raise
        asyncio.get_running_loop().call_later(LIFETIME, self.remove, token)
        return token

    def get(self, token: str) -> Download:
        """A file by the name that `add` returned.

        Raises:
            RequestError: There is no such file, or no longer.
        """
        download = self._files.get(token)
        if download is None or not download.path.is_file():
            raise RequestError(404, "The file does not exist, or was deleted.")
        return download

    def remove(self, token: str) -> None:
        """Delete a file, if it exists."""
        if download := self._files.pop(token, None):
            download.path.unlink(missing_ok=True)

    def files(self) -> list[Path]:
        """All files on disk."""
        return sorted(path for path in Path(self._directory.name).iterdir() if path.name != _LOCK)

    def close(self) -> None:
        """Delete all files."""
        self._files.clear()
        self._lock.release()
        self._directory.cleanup()


def _remove_abandoned(parent: Path) -> None:
    """Delete the directories of servers that do not run any more."""
    for lock in parent.glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(Timeout, OSError), FileLock(lock, timeout=0):  # Timeout: its server runs
            if not lock.parent.is_symlink():
                shutil.rmtree(lock.parent)


def translated_name(name: str, language: str) -> str:
    """The name of a translation: ``letter.txt`` becomes ``letter_en.txt``."""
    path = PurePath(PurePath(name).name)
    return f"{path.stem[:_LONGEST_NAME]}_{language}{path.suffix}"
