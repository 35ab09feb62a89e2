"""Translated files that clients download: unguessable names, deleted after half an hour."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePath

from dragoman.serving.errors import RequestError

LIFETIME = 30 * 60  # seconds
MOST_FILES = 1000


@dataclass(frozen=True)
class Download:
    """A translated file.

    Args:
        path: Where it is.
        name: Its name for the user.
    """

    path: Path
    name: str


class Downloads:
    """The translated files, in a temporary directory until `close`."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="dragoman-", ignore_cleanup_errors=True)
        self._files: dict[str, Download] = {}

    async def add(self, data: bytes, name: str) -> str:
        """Write a file and return the name under which `get` finds it.

        Raises:
            RequestError: There are too many files, or the disk is full; nothing is left behind.
        """
        if len(self._files) >= MOST_FILES:
            raise RequestError(503, "The server stores too many files; try again later.", 60)
        token = secrets.token_urlsafe(24) + PurePath(name).suffix.lower()
        path = Path(self._directory.name) / token
        try:
            await asyncio.to_thread(path.write_bytes, data)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise RequestError(507, "The translated file could not be written: the disk is full.") from error
        self._files[token] = Download(path, name)
        asyncio.get_running_loop().call_later(LIFETIME, self.remove, token)
        return token

    def get(self, token: str) -> Download:
        """A file by the name that `add` returned.

        Raises:
            RequestError: There is no such file, or no longer.
        """
        if token not in self._files:
            raise RequestError(404, "There is no such file, or no longer.")
        return self._files[token]

    def remove(self, token: str) -> None:
        """Delete a file, if it exists."""
        if download := self._files.pop(token, None):
            download.path.unlink(missing_ok=True)

    def files(self) -> list[Path]:
        """All files on disk."""
        return sorted(Path(self._directory.name).iterdir())

    def close(self) -> None:
        """Delete all files."""
        self._files.clear()
        self._directory.cleanup()


def translated_name(name: str, language: str) -> str:
    """The name of a translation: ``letter.txt`` becomes ``letter_en.txt``."""
    path = PurePath(PurePath(name).name)
    return f"{path.stem}_{language}{path.suffix}"
