"""Where the files of named datasets are: in a local mirror, in the cache, or at their public addresses."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from dragoman.corpus.catalog import DataFile, Dataset, find_dataset
from dragoman.corpus.hub import load_hub
from dragoman.errors import UserError

TIMEOUT_SECONDS = 30.0
"""How long a server may stay silent."""

_CHUNK_BYTES = 1 << 16


def cache_directory() -> Path:
    """Where downloads are kept: ``dragoman`` in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dragoman"


def find_file(file: DataFile, data_directory: Path | None = None) -> Path | None:
    """Where a file lies on this machine: below `data_directory` (else ``$DRAGOMAN_DATA``), else in the cache.

    Raises:
        UserError: If the file has another checksum than it should, or `data_directory` does not exist.
    """
    if data_directory is not None and not data_directory.is_dir():
        raise UserError(f"data directory {data_directory}: no such directory")
    mirror = data_directory or os.environ.get("DRAGOMAN_DATA")
    for directory in ([Path(mirror)] if mirror else []) + [cache_directory()]:
        path = directory / file.path
        if path.is_file():
            _verify(path, file, str(path))
            return path
    return None


def obtain(dataset: Dataset, files: Sequence[DataFile], data_directory: Path | None = None) -> list[Path]:
    """The paths of these files, after downloading into the cache what is nowhere on this machine.

    Raises:
        UserError: If that fails: which files to put where. If a file has another checksum than it should.
    """
    paths = []
    for file in files:
        path = find_file(file, data_directory)
        if path is None:
            path = cache_directory() / file.path
            if file.url is None:
                reason = f"these files cannot be downloaded as such: they were cut anew from {dataset.homepage}"
                raise UserError(f"{dataset.name}: {reason}\n{_what_to_do(files, data_directory)}")
            try:
                _download(file.url, file, path)
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, urllib.error.HTTPError):
                    error.close()  # it is the open answer, too
                reason = f"cannot download {file.url} ({error})"
                raise UserError(f"{dataset.name}: {reason}\n{_what_to_do(files, data_directory)}") from None
        paths.append(path)
    return paths


def obtain_hub(dataset: Dataset, split: str, data_directory: Path | None = None) -> Any:
    """The records of a split that comes from the Hugging Face hub, see `load_hub`.

    Raises:
        UserError: If that fails: which files to put where instead.
    """
    assert dataset.hub is not None
    try:
        return load_hub(dataset.hub, None, split)
    except UserError as error:
        files = [file for file in dataset.files if file.split == split]
        raise UserError(f"{dataset.name}: {error}\n{_what_to_do(files, data_directory)}") from None


def fetch(name: str, *, data_directory: Path | None = None) -> list[Path]:
    """Bring all files of a dataset onto this machine; the paths of what was there already or is there now.

    A built-in dataset has no files; those of a dataset of the Hugging Face hub are in the hub's own cache.

    Raises:
        UserError: If there is no such dataset, or its files can neither be found nor downloaded.
    """
    dataset = find_dataset(name)
    if dataset.hub and any(find_file(file, data_directory) is None for file in dataset.files):
        loaded = [obtain_hub(dataset, split, data_directory) for split in dataset.splits]
        return [Path(file["filename"]) for split in loaded for file in split.cache_files]
    return obtain(dataset, dataset.files, data_directory)


def _what_to_do(files: Sequence[DataFile], data_directory: Path | None) -> str:
    missing = [file for file in files if find_file(file, data_directory) is None]
    checksums = [f"  (sha256 {file.sha256})" if file.sha256 else "" for file in missing]
    return "\n".join(
        [
            "Put these files there yourself:",
            *(f"  {cache_directory() / file.path}{sha256}" for file, sha256 in zip(missing, checksums, strict=True)),
            "or below a directory that --data-dir or DRAGOMAN_DATA names:",
            *(f"  {file.path}" for file in missing),
        ]
    )


def _download(url: str, file: DataFile, path: Path) -> None:
    """Download to a temporary sibling, check it, and rename it: `path` is whole or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            _copy(url, stream)
            stream.flush()
            os.fsync(stream.fileno())
        _verify(part, file, url)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _copy(url: str, stream: BinaryIO) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with (
        urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response,
        Progress(*columns, console=Console(stderr=True)) as progress,
    ):
        length = response.headers["Content-Length"]
        expected = int(length) if length else None
        task = progress.add_task(url.rpartition("/")[2], total=expected)
        received = 0
        while chunk := response.read(_CHUNK_BYTES):
            stream.write(chunk)
            received += len(chunk)
            progress.update(task, completed=received)
    if expected is not None and received != expected:
        raise ConnectionError(f"connection lost after {received:,} of {expected:,} bytes")


def _verify(path: Path, file: DataFile, name: str) -> None:
    if file.sha256 is None:
        return
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != file.sha256:
        raise UserError(f"{name}: not the file it should be: expected sha256 {file.sha256}, found {found}")
