"""Finding the files of catalog entries on this machine, and downloading the others into the cache."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.corpus.catalog import CatalogEntry, CatalogFile, find_data_directory, find_entry
from dragoman.corpus.hub import load_split
from dragoman.errors import UserError
from dragoman.system.cache import cache_directory
from dragoman.system.files import sha256
from dragoman.system.progress import PLAIN_SECONDS


def find_file(file: CatalogFile, data_directory: Path | None = None) -> Path | None:
    """The path of a file in `data_directory` (default: ``$DRAGOMAN_DATA``) or else in the cache, or None.

    Raises:
        UserError: The file has a wrong checksum, or `data_directory` does not exist.
    """
    mirror = find_data_directory(data_directory)
    for directory in ([mirror] if mirror else []) + [cache_directory()]:
        path = directory / file.path
        if path.is_file():
            if file.sha256 and (found := sha256(path)) != file.sha256:
                raise UserError(f"{path}: wrong content: expected sha256 {file.sha256}, found {found}")
            return path
    return None


def is_complete(files: Sequence[CatalogFile], data_directory: Path | None) -> bool:
    """Whether all these files are on this machine; raises UserError as `find_file` does."""
    return all(find_file(file, data_directory) is not None for file in files)


def find_or_download(
    entry: CatalogEntry, files: Sequence[CatalogFile], data_directory: Path | None = None
) -> list[Path]:
    """The paths of these files; those that are not on this machine are downloaded into the cache.

    Raises:
        UserError: A file cannot be downloaded, with a list of files to download manually; or it has a wrong checksum.
    """
    paths = []
    for file in files:
        path = find_file(file, data_directory)
        if path is None:
            path = cache_directory() / file.path
            assert file.url, "files of the hub and of a data directory are found"
            try:
                download(file.url, path, file.sha256)
            except (OSError, ValueError) as error:
                problem = f"cannot download {file.url} ({error})"
                raise UserError(f"{entry.name}: {problem}\n{_manual_steps(files, data_directory)}") from None
        paths.append(path)
    return paths


def load_hub_split(entry: CatalogEntry, split: str, data_directory: Path | None = None) -> Any:
    """The records of a split from the Hugging Face hub, see `load_split`.

    Raises:
        UserError: They cannot be downloaded; lists the files to provide instead.
    """
    assert entry.hub is not None
    try:
        return load_split(entry.hub, None, split)
    except UserError as error:
        files = [file for file in entry.files if file.split == split]
        raise UserError(f"{entry.name}: {error}\n{_manual_steps(files, data_directory)}") from None


def fetch(name: str, *, data_directory: Path | None = None) -> list[Path]:
    """The paths of all files of a catalog entry, downloaded if necessary.

    A built-in corpus has no files; those from the Hugging Face hub are in the cache of its library. Those of a corpus
    that only the data directory has are there.

    Raises:
        UserError: There is no such entry, or its files can neither be found nor downloaded.
    """
    entry = find_entry(name, data_directory)
    if entry.hub and not is_complete(entry.files, data_directory):
        splits = [load_hub_split(entry, split, data_directory) for split in entry.splits]
        return [Path(file["filename"]) for split in splits for file in split.cache_files]
    return find_or_download(entry, entry.files, data_directory)


def _manual_steps(files: Sequence[CatalogFile], data_directory: Path | None) -> str:
    missing = [file for file in files if find_file(file, data_directory) is None]
    mirror = find_data_directory(data_directory)
    checksums = [f"  (sha256 {file.sha256})" if file.sha256 else "" for file in missing]
    return "\n".join(
        [
            "Put these files there yourself:",
            *(
                f"  {cache_directory() / file.path}{checksum}"
                for file, checksum in zip(missing, checksums, strict=True)
            ),
            f"or in {mirror or 'the directory that the environment variable DRAGOMAN_DATA names'}:",
            *(f"  {file.path}" for file in missing),
        ]
    )


def download(url: str, path: Path, checksum: str | None) -> None:
    """Download a file, show the progress on stderr, verify the checksum; `path` is complete or does not exist."""
    import pooch  # these three are imported late: few runs download anything
    from requests.exceptions import ChunkedEncodingError
    from tqdm import tqdm

    pooch.get_logger().setLevel("WARNING")  # the progress bar replaces its messages
    try:
        # pooch replaces the total. Without one, the truth value of a bar is undefined.
        between = 0.1 if sys.stderr.isatty() else PLAIN_SECONDS
        with tqdm(desc=path.name, total=1, unit="B", unit_scale=True, mininterval=between) as progress:
            headers = {"Accept-Encoding": "identity"}  # requests must not decompress .gz files
            downloader = pooch.HTTPDownloader(progressbar=progress, headers=headers)
            pooch.retrieve(url, known_hash=checksum, fname=path.name, path=path.parent, downloader=downloader)
    except ChunkedEncodingError:
        raise ConnectionError("the connection was lost; try again") from None
    path.chmod(path.parent.stat().st_mode & 0o666)  # pooch creates files that only their owner can read
