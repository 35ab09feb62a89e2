"""A catalog entry with those of its files and sentence pairs that are on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dragoman.corpus.catalog import CatalogEntry, CatalogFile, find_entry
from dragoman.corpus.download import find_file
from dragoman.corpus.named import open_split
from dragoman.corpus.pair import Pair

_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Description:
    """An entry of the catalog, the path of each file (None if it is not on this machine), and its first pairs."""

    entry: CatalogEntry
    files: tuple[tuple[CatalogFile, Path | None], ...]
    examples: tuple[Pair, ...]


def describe_corpus(name: str, *, data_directory: Path | None = None) -> Description:
    """A catalog entry with its first pairs in its first two languages, if they are on this machine.

    Raises:
        UserError: There is no such entry, or one of its files is damaged.
    """
    entry = find_entry(name, data_directory)
    files = tuple((file, find_file(file, data_directory)) for file in entry.files)
    split, languages = entry.splits[0], (entry.languages[0], entry.languages[1])
    present = {(file.split, file.language) for file, path in files if path is not None}
    examples: tuple[Pair, ...] = ()
    if entry.built_in or all((split, language) in present for language in languages):
        examples = tuple(islice(open_split(entry, split, languages, data_directory).read(), _EXAMPLES))
    return Description(entry, files, examples)
