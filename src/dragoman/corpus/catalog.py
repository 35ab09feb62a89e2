"""The catalog: parallel corpora that recipes can name, such as ``multi30k:train``.

The corpora of a data directory have names, too: ``NAME:SPLIT`` are its files NAME/SPLIT.LANGUAGE.gz.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from dragoman.errors import OtherLanguagesError, UserError, nearest

CHECKSUMS = {
    "multi30k/train.cs.gz": "a65adb8b32e3bc664f21ecba7a6e7f6950fd1f405e135f7c312faabdb6255077",
    "multi30k/train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "multi30k/train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "multi30k/train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "multi30k/val.cs.gz": "b63226e05c4bd5dd6a42897d74b86a1b9d2c31498252c572b1ea7f7996927fcc",
    "multi30k/val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "multi30k/val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "multi30k/val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "multi30k/test_2016_flickr.cs.gz": "200a4a74cc9560f051924abb9803be008d1908d77f747e9141aeb86dfd2797f1",
    "multi30k/test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "multi30k/test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "multi30k/test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
}


_LOCAL_FILE = re.compile(r"(?P<split>[\w.-]+)\.(?P<language>[\w-]+)\.gz")


@dataclass(frozen=True, slots=True)
class CatalogFile:
    """The sentences of one split in one language, one per line."""

    split: str
    language: str
    path: str
    """Relative to the data directory or the cache."""
    sha256: str | None
    """If None, the content is not checked."""
    url: str | None
    """If None, the file cannot be downloaded."""


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A named parallel corpus."""

    name: str
    description: str
    languages: tuple[str, ...]
    splits: tuple[str, ...]
    license: str
    homepage: str
    files: tuple[CatalogFile, ...] = ()
    hub: str | None = None
    """Its name on the Hugging Face hub, if it can be downloaded from there."""
    directory: Path | None = None
    """The data directory with its files, if the catalog does not have it."""

    @property
    def built_in(self) -> bool:
        """Whether dragoman generates the pairs instead of reading files."""
        return not self.files

    @property
    def source(self) -> str:
        """Where the pairs are from: "built in", "download", "hub" or "local"."""
        if self.directory:
            return "local"
        return "built in" if self.built_in else "hub" if self.hub else "download"

    def check(self, split: str, languages: tuple[str, str]) -> None:
        """Check that the corpus has this split and these languages.

        Raises:
            UserError: It does not; lists what it has, with the nearest match.
        """
        if split not in self.splits:
            raise UserError(
                f"{self.name} has no split {split!r}, only {', '.join(self.splits)}{nearest(split, self.splits)}"
            )
        for language in languages:
            if language not in self.languages:
                raise OtherLanguagesError(f"{self.name} has no language {language!r}, only {', '.join(self.languages)}")

    def file(self, split: str, language: str) -> CatalogFile:
        """The file of one split in one language."""
        (found,) = (file for file in self.files if (file.split, file.language) == (split, language))
        return found


def find_entry(name: str, data_directory: Path | None = None) -> CatalogEntry:
    """The entry with this name in the catalog, or else in the data directory, see `local_entries`.

    Raises:
        UserError: There is none; lists the names, with the nearest match.
    """
    entries = CATALOG if name in CATALOG else CATALOG | local_entries(data_directory)
    if name not in entries:
        raise UserError(
            f"the catalog has no {name!r}, only {', '.join(CATALOG)}{nearest(name, entries)}\nOther corpora are read "
            f"from DIRECTORY/{name}/SPLIT.LANGUAGE.gz; the environment variable DRAGOMAN_DATA names the DIRECTORY."
        )
    return entries[name]


def find_data_directory(data_directory: Path | None) -> Path | None:
    """`data_directory`, or else ``$DRAGOMAN_DATA``, if any.

    Raises:
        UserError: `data_directory` does not exist.
    """
    if data_directory is not None and not data_directory.is_dir():
        raise UserError(f"data directory {data_directory}: no such directory")
    default = os.environ.get("DRAGOMAN_DATA")
    return data_directory or (Path(default) if default else None)


def local_entries(data_directory: Path | None = None) -> dict[str, CatalogEntry]:
    """An entry for each corpus that only the data directory has: each directory with files SPLIT.LANGUAGE.gz in it.

    Raises:
        UserError: `data_directory` does not exist.
    """
    directory = find_data_directory(data_directory)
    if directory is None or not directory.is_dir():
        return {}
    found = (_local_entry(each, directory) for each in sorted(directory.iterdir()) if each.name not in CATALOG)
    return {entry.name: entry for entry in found if entry}


def _local_entry(corpus: Path, directory: Path) -> CatalogEntry | None:
    names = [match for path in corpus.glob("*.gz") if (match := _LOCAL_FILE.fullmatch(path.name))]
    languages = sorted({name["language"] for name in names})
    found = {(name["split"], name["language"]) for name in names}
    complete = {split for split, _ in found if all((split, language) in found for language in languages)}
    splits = sorted(complete, key=lambda split: (split != "train", split))
    if len(languages) < 2 or not splits:
        return None
    return CatalogEntry(
        name=corpus.name,
        description=f"A corpus in {directory}.",
        languages=tuple(languages),
        splits=tuple(splits),
        license="not known",
        homepage="not known",
        files=tuple(
            CatalogFile(split, language, f"{corpus.name}/{split}.{language}.gz", None, None)
            for split in splits
            for language in languages
        ),
        directory=directory,
    )


def _files(name: str, url: str) -> tuple[CatalogFile, ...]:
    """The files of an entry, as listed in `CHECKSUMS`; `url` is the address of their directory."""
    files = []
    for path, sha256 in CHECKSUMS.items():
        directory, _, file_name = path.partition("/")
        if directory == name:
            split, language, _ = file_name.split(".")
            files.append(CatalogFile(split, language, path, sha256, url + file_name))
    return tuple(files)


_ENTRIES = (
    CatalogEntry(
        name="captions",
        description="Sentences like image captions, generated by a grammar.",
        languages=("de", "en"),
        splits=("train", "validation", "test"),
        license="Apache-2.0",
        homepage="part of dragoman: dragoman.corpus.synthetic.captions",
    ),
    CatalogEntry(
        name="copy",
        description="The copy task: sequences of ten random words, the translation is the same sequence.",
        languages=("given", "copied"),
        splits=("train", "validation", "test"),
        license="Apache-2.0",
        homepage="part of dragoman: dragoman.corpus.synthetic.copy_task",
    ),
    CatalogEntry(
        name="multi30k",
        description="Image captions of Flickr30k with human translations (Elliott et al. 2016): 29,000 for training.",
        languages=("en", "de", "fr", "cs"),
        splits=("train", "val", "test_2016_flickr"),
        license="for research and education (see the homepage)",
        homepage="https://github.com/multi30k/dataset",
        files=_files("multi30k", "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"),
    ),
    CatalogEntry(
        name="iitb-en-hi",
        description="The IIT Bombay English-Hindi corpus (Kunchukuttan et al. 2018): 1.66 million pairs, many domains.",
        languages=("en", "hi"),
        splits=("train", "validation", "test"),
        license="CC BY-NC 4.0",
        homepage="https://huggingface.co/datasets/cfilt/iitb-english-hindi",
        files=tuple(
            CatalogFile(split, language, f"iitb-en-hi/{split}.{language}.gz", None, None)
            for split in ("train", "validation", "test")
            for language in ("en", "hi")
        ),
        hub="cfilt/iitb-english-hindi",
    ),
)

CATALOG = {entry.name: entry for entry in _ENTRIES}
