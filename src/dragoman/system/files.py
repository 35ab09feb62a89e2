"""Files that are either whole or absent: written to a temporary sibling, flushed to disk, then renamed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal

from dragoman.errors import UserError


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Yield an empty temporary sibling to fill; it becomes `path`, replacing what was there, if all went well.

    Raises:
        UserError: The disk is full or the place cannot be written to; `path` is as it was.
    """
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        yield temporary
        for file in (*temporary.iterdir(), temporary):
            _flush(file)
        _replace_directory(temporary, path)
    except OSError as error:
        raise UserError(f"{path}: could not be saved: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _replace_directory(new: Path, path: Path) -> None:
    old = path.with_name(f".{path.name}.old-{os.getpid()}")
    replaced = path.exists()
    if replaced:  # a directory cannot be renamed onto a full one
        path.rename(old)
    try:
        new.rename(path)
    except OSError:
        if replaced:
            old.rename(path)
        raise
    _flush(path.parent)
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def atomic_file(path: Path, mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    """Yield a file, UTF-8 if of text, to fill; it becomes `path`, replacing what was there, if all went well.

    A device or a pipe, such as /dev/stdout, is written to and not replaced.

    Raises:
        UserError: The disk is full or the place cannot be written to; `path` is as it was.
    """
    special = path.exists() and not path.is_file()
    temporary = path if special else path.with_name(f".{path.name}.tmp-{os.getpid()}")
    try:
        with temporary.open(mode, encoding="utf-8" if mode == "w" else None) as file:
            yield file
        if not special:
            _flush(temporary)
            temporary.rename(path)
            _flush(path.parent)
    except OSError as error:
        raise UserError(f"{path}: could not be saved: {error.strerror or error}") from error
    finally:
        if not special:
            with suppress(OSError):  # it is not there, be it renamed or never made
                temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a whole file or, on any error, leave what was there.

    Raises:
        UserError: The disk is full or the place cannot be written to.
    """
    with atomic_file(path) as file:
        file.write(text)


def write_json(path: Path, data: Any) -> None:
    """Write readable JSON as `write_text` does."""
    write_text(path, json.dumps(data, ensure_ascii=False, indent=2) + "\n")


def is_leftover(path: Path) -> bool:
    """Whether this is what a killed process left half written, by its name."""
    return bool(re.fullmatch(r"\..+\.(tmp|old)-\d+", path.name))


def remove_leftovers(directory: Path, name: str = "") -> None:
    """Delete from a directory what killed processes left half written, of all names or of one."""
    for path in filter(is_leftover, directory.glob(f".{name}*")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        UserError: The file is missing, unreadable or not a JSON object.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    except ValueError as error:  # broken JSON or broken UTF-8
        raise UserError(f"{path}: not valid JSON ({error})") from error
    if not isinstance(data, dict):
        raise UserError(f"{path}: not a JSON object")
    return data


def sha256(path: Path) -> str:
    """The file's SHA-256, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
