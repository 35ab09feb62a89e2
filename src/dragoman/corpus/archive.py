"""ZIP archives from unknown sources: checked before anything is read, and read without extracting files."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from dragoman.errors import UserError

MAX_FILES = 10_000
MAX_RATIO = 200
"""Compression of all files together; text reaches 10, and only an archive made for it reaches 1,000."""
MAX_SMALL = 100_000_000
"""Content up to this size in bytes may be compressed to any ratio."""

DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError)
"""What reading a damaged, encrypted or unusual archive raises."""


@contextmanager
def open_archive(path: Path, max_bytes: int) -> Iterator[zipfile.ZipFile]:
    """A checked archive. Reading from it never returns more bytes than it declares.

    Args:
        path: The file.
        max_bytes: The largest total size of the content.

    Raises:
        UserError: It is not a ZIP archive, is damaged, encrypted or too large, is compressed too strongly, or contains
            names that point outside of it. Errors while reading in the block are reported too.
    """
    if not path.is_file():
        raise UserError(f"{path}: not a regular file; a ZIP archive cannot be read from a pipe or a device")
    with read_archive(path, str(path), max_bytes) as archive:
        yield archive


@contextmanager
def read_archive(file: Path | IO[bytes], name: str, max_bytes: int) -> Iterator[zipfile.ZipFile]:
    """The same for an open file, which error messages call by a name."""
    try:
        with zipfile.ZipFile(file) as archive:
            _check(archive, name, max_bytes)
            yield archive
    except DAMAGED as error:
        raise UserError(f"{name}: not a valid ZIP archive ({error}); export or download it again") from None


def _check(archive: zipfile.ZipFile, path: str, max_bytes: int) -> None:
    entries = archive.infolist()
    if len(entries) > MAX_FILES:
        raise UserError(f"{path}: contains {len(entries):,} files; at most {MAX_FILES:,} are read")
    for entry in entries:
        member = PurePosixPath(entry.filename.replace("\\", "/"))
        if member.is_absolute() or ".." in member.parts or ":" in entry.filename[:2]:
            raise UserError(f"{path}: unsafe file name {entry.filename!r}; do not use this archive")
        if entry.flag_bits & 1:
            raise UserError(f"{path}: {entry.filename} is encrypted; extract it and use its files")
    size, compressed = (sum(getattr(entry, key) for entry in entries) for key in ("file_size", "compress_size"))
    if size > max_bytes or (size > MAX_SMALL and size > MAX_RATIO * compressed):
        raise UserError(
            f"{path}: {compressed:,} bytes would become {size:,} bytes; more than {max_bytes:,} bytes, or {MAX_RATIO} "
            "times as many, are refused; extract it yourself if you trust it"
        )
