"""Atomic writes: files and directories are written to a temporary sibling, flushed to disk, then renamed.

Killed processes leave temporary files and directories behind, which are deleted, or restored, when the place is used
again.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Literal

from dragoman.errors import UserError

MAX_JSON_BYTES = 100_000_000
"""Maximum size of JSON files; tokenizers of imported models have about 30 MB."""


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Yield an empty temporary directory; if the block succeeds, it is renamed to `path` and replaces what was there.

    A process that is killed at any moment leaves one complete version, see `restore_replaced`. If `path` is a symbolic
    link, what it points to is replaced.

    Raises:
        UserError: The disk is full, or `path` is not a directory, or not writable; what was there is unchanged.
    """
    if not path.name:
        raise UserError(f"{path}: could not be saved: choose a directory with a name")
    place = follow_links(path)
    # The methods of Path raise OSError for names that are too long.
    if os.path.exists(place) and not os.path.isdir(place):
        raise UserError(f"{path}: could not be saved: it is not a directory")
    temporary = place.with_name(f".{place.name}.tmp-{os.getpid()}")
    try:
        restore_replaced(place)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=place == path)  # no directories for the missing target of a link
        yield temporary
        for file in (*temporary.iterdir(), temporary):
            _flush(file)
        _replace_directory(temporary, place)
    except OSError as error:
        raise UserError(f"{path}: could not be saved: {_describe(error, place)}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _replace_directory(new: Path, path: Path) -> None:
    old = path.with_name(f".{path.name}.old-{os.getpid()}")
    replaced = path.exists()
    if replaced:  # a directory cannot be renamed to one that is not empty
        shutil.rmtree(old, ignore_errors=True)  # of a killed process with the same number
        path.rename(old)
    try:
        new.rename(path)
    except OSError:
        if replaced:
            old.rename(path)
        raise
    _flush(path.parent)
    if replaced:
        old.rename(new)  # for the caller to delete: half deleted, it must not look like a version to restore


@contextmanager
def atomic_file(path: Path, mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    """Yield an open temporary file; if the block succeeds, it is renamed to `path` and replaces what was there.

    Text is written as UTF-8. A device or a pipe, such as /dev/stdout, is written to directly instead of being replaced.
    If `path` is a symbolic link, what it points to is replaced. The new file has the owner, group and permissions of
    the old one, as far as possible. What a killed process has left of the same file is deleted.

    Raises:
        UserError: The disk is full or `path` is not writable; what was there is unchanged.
    """
    special = os.path.exists(path) and not os.path.isfile(path)
    place = path if special else follow_links(path)
    temporary = path if special else place.with_name(f".{place.name}.tmp-{os.getpid()}")
    try:
        if not special:
            for leftover in place.parent.glob(f".{glob.escape(place.name)}.tmp-*"):
                if leftover.is_file() and is_leftover(leftover) and not is_in_use(leftover):
                    leftover.unlink(missing_ok=True)
        with temporary.open(mode, encoding="utf-8" if mode == "w" else None) as file:
            if not special and place.exists():
                _copy_permissions(place, temporary)  # before there is text, which may be private
            yield file
            if not special:
                file.flush()
                os.fsync(file.fileno())
        if not special:
            temporary.rename(place)
            _flush(place.parent)
    except OSError as error:
        raise UserError(f"{path}: could not be saved: {_describe(error, place)}") from error
    finally:
        if not special:
            with suppress(OSError):  # the file does not exist (renamed, or never created)
                temporary.unlink()


def _copy_permissions(old: Path, new: Path) -> None:
    """Copy owner, group and permissions to a new file; if its group remains another one, this gets no permissions."""
    about, made = old.stat(), new.stat()
    mode = about.st_mode & 0o777
    with suppress(OSError):  # not every file system has permissions
        if about.st_gid != made.st_gid:
            try:
                os.chown(new, -1, about.st_gid)
            except OSError:
                mode &= 0o707
        if about.st_uid != made.st_uid:
            with suppress(OSError):  # only root can give files to others
                os.chown(new, about.st_uid, -1)
        new.chmod(mode)


@contextmanager
def atomic_text_file(path: Path) -> Iterator[IO[str]]:
    """As `atomic_file` for text, which is compressed if the file is named ``.gz``."""
    if path.suffix.lower() != ".gz":
        with atomic_file(path) as file:
            yield file
        return
    with (
        atomic_file(path, "wb") as binary,
        gzip.GzipFile(path.stem, "wb", fileobj=binary, mtime=0) as compressed,  # no time: same content, same file
        io.TextIOWrapper(compressed, encoding="utf-8", newline="") as file,
    ):
        yield file


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Yield an empty directory, which is deleted afterwards.

    Raises:
        UserError: It cannot be created.
    """
    try:
        directory = TemporaryDirectory(prefix="dragoman-")
    except OSError as error:
        problem = f"cannot create a temporary directory: {error.strerror}"
        raise UserError(f"{problem}; set TMPDIR to one that can be written to") from error
    with directory as path:
        yield Path(path)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically.

    Raises:
        UserError: The disk is full or `path` is not writable; what was there is unchanged.
    """
    with atomic_file(path) as file:
        file.write(text)


def write_json(path: Path, data: Any) -> None:
    """Write indented JSON atomically; raises UserError as `write_text` does."""
    write_text(path, json.dumps(data, ensure_ascii=False, indent=2) + "\n")


def is_unused(path: Path) -> bool:
    """Whether a new directory can be written there: there is nothing, an empty directory, or a link to one of them."""
    return not os.path.exists(path) or (os.path.isdir(path) and not any(path.iterdir()))


def require_size(path: Path, limit: int = MAX_JSON_BYTES) -> None:
    """Check the size of a file before it is read: a damaged file could need all memory.

    Raises:
        UserError: It is larger than `limit` bytes.
        OSError: It is missing.
    """
    if path.stat().st_size > limit:
        raise UserError(f"{path}: damaged (larger than {limit:,} bytes)")


def read_bytes(path: Path, limit: int = MAX_JSON_BYTES) -> bytes:
    """Read a file of at most `limit` bytes.

    Raises:
        UserError: The file is missing, unreadable or too large.
    """
    try:
        with path.open("rb") as file:  # which fails for a directory
            require_size(path, limit)
            return file.read()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error


def read_json_with(path: Path, keys: set[str]) -> dict[str, Any]:
    """The JSON object in a file that must have these keys; raises UserError if it does not, as `read_json` does."""
    data = read_json(path)
    if data.keys() != keys:
        raise UserError(f"{path}: another version of dragoman has written this file; use that version, or start again")
    return data


def parse_json(content: bytes, path: Path) -> dict[str, Any]:
    """Parse the content of a file; raises UserError if it is not a JSON object."""
    try:
        data = json.loads(content.decode())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid JSON ({error})") from error
    except ValueError as error:
        raise UserError(f"{path}: a number has too many digits") from error
    except RecursionError:
        raise UserError(f"{path}: not valid JSON (nested too deeply)") from None
    if not isinstance(data, dict):
        raise UserError(f"{path}: not a JSON object")
    return data


def read_json(path: Path, limit: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """Read a JSON object of at most `limit` bytes.

    Raises:
        UserError: The file is missing, unreadable, too large or does not contain a JSON object.
    """
    return parse_json(read_bytes(path, limit), path)


def sha256(path: Path) -> str:
    """The SHA-256 digest of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _describe(error: OSError, path: Path) -> str:
    if isinstance(error, FileNotFoundError) and not path.parent.exists():
        return f"there is no directory {path.parent}"
    return error.strerror or str(error)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_MAX_WAITS = 20  # of 10 ms


def follow_links(path: Path) -> Path:
    """What a symbolic link points to, which may be missing; every other path is returned unchanged."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else path


def restore_replaced(path: Path) -> None:
    """Bring back a directory if a process was killed while replacing it, after the first of the two renames.

    If another running process is between them, this waits for the second one, but not for long: the process may be
    another one with the same number.

    Raises:
        OSError: The old version cannot be renamed.
    """
    path = follow_links(path)
    for _ in range(_MAX_WAITS):
        if path.exists() or not path.parent.is_dir():
            return
        names = (each for each in path.parent.iterdir() if each.name.startswith(f".{path.name}.old-"))
        versions = list(filter(is_leftover, names))
        left = next((each for each in versions if not is_in_use(each)), None)
        if left:
            left.rename(path)
        if left or not versions:
            return
        time.sleep(0.01)


def is_in_use(leftover: Path) -> bool:
    """Whether the process that made a temporary file is another one that still runs."""
    process = int(leftover.name.rpartition("-")[2])
    try:
        os.kill(process, 0)  # sends nothing
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return process != os.getpid()  # in containers, the successor of a killed process often has the same number


def is_leftover(path: Path) -> bool:
    """Whether the name is that of a temporary file or directory, which only a killed process leaves behind."""
    return bool(re.fullmatch(r"\..+\.(tmp|old)-\d+", path.name))


def remove_leftovers(directory: Path, name: str = "", *, locked: bool = True) -> None:
    """Delete the temporary files and directories of killed processes; only those of the file `name`, if given.

    If the caller has not locked the place, those of running processes are kept. A lock is better: in containers, other
    processes often have the numbers of killed ones.

    A directory that such a process was replacing is restored first.
    """
    found = [path for path in directory.glob(f".{glob.escape(name)}*") if is_leftover(path)]
    for path in [path for path in found if locked or not is_in_use(path)]:
        original = re.sub(r"^\.|\.(tmp|old)-\d+$", "", path.name)
        if name and original != name:
            continue
        restore_replaced(directory / original)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
