"""Corpora with a name, such as ``multi30k:train``: of the catalog, or files of the data directory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from dragoman.corpus.aligned import open_files
from dragoman.corpus.catalog import CATALOG, CatalogEntry, CatalogFile, find_entry
from dragoman.corpus.download import find_file, find_or_download, is_complete, load_hub_split
from dragoman.corpus.hub import open_records
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import OF_FILES, corpus_name, file_name, refuse_settings
from dragoman.corpus.synthetic.generators import GENERATORS
from dragoman.errors import UserError
from dragoman.settings import CorpusReference

SYNTAX = "a split from the catalog such as 'multi30k:train'"

_REFERENCE = re.compile(r"(?!hf:)(?P<name>[\w.-]+):(?P<split>[\w.-]+)")


def recognizes(reference: CorpusReference) -> bool:
    """Whether this is ``NAME:SPLIT``, or a name in the catalog without a split."""
    return file_name(reference) in CATALOG or corpus_name(reference, _REFERENCE) is not None


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The corpus, downloaded if necessary.

    Raises:
        UserError: The catalog has no such name, split or language, or a file cannot be downloaded.
    """
    refuse_settings(reference, *OF_FILES)
    match = corpus_name(reference, _REFERENCE)
    if not match:
        name = file_name(reference)
        splits = ", ".join(f"'{name}:{split}'" for split in CATALOG[name].splits)
        raise UserError(f"corpus {name!r}: the split is missing; choose {splits}")
    return open_split(find_entry(match["name"], data_directory), match["split"], languages, data_directory)


def open_split(entry: CatalogEntry, split: str, languages: Languages, data_directory: Path | None) -> Corpus:
    """One split of a catalog entry; raises UserError as `open_corpus` does."""
    name = f"{entry.name}:{split}"
    entry.check(split, languages)
    if entry.built_in:
        return Corpus(name, partial(GENERATORS[entry.name], split, languages))
    files = [entry.file(split, language) for language in languages]
    if entry.hub and not is_complete(files, data_directory):
        return open_records(name, load_hub_split(entry, split, data_directory), entry.hub, languages)
    return open_files(name, *map(str, find_or_download(entry, files, data_directory)))


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
