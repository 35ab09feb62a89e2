"""Corpora with a name, such as ``multi30k:train``: of the catalog, or files of the data directory."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from dragoman.corpus.aligned import open_files
from dragoman.corpus.catalog import CATALOG, CatalogEntry, find_entry
from dragoman.corpus.download import find_or_download, is_complete, load_hub_split
from dragoman.corpus.hub import open_records
from dragoman.corpus.pair import Corpus, Languages
from dragoman.corpus.synthetic.generators import GENERATORS
from dragoman.errors import UserError
from dragoman.settings import CorpusReference

SYNTAX = "a split from the catalog such as 'multi30k:train'"

_REFERENCE = re.compile(r"(?!hf:)(?P<name>[\w.-]+):(?P<split>[\w.-]+)")


def recognizes(reference: CorpusReference) -> bool:
    """Whether this is ``NAME:SPLIT``, or a name in the catalog without a split."""
    return isinstance(reference, str) and (reference in CATALOG or _REFERENCE.fullmatch(reference) is not None)


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The corpus, downloaded if necessary.

    Raises:
        UserError: The catalog has no such name, split or language, or a file cannot be downloaded.
    """
    assert isinstance(reference, str)
    match = _REFERENCE.fullmatch(reference)
    if not match:
        splits = ", ".join(f"'{reference}:{split}'" for split in CATALOG[reference].splits)
        raise UserError(f"corpus {reference!r}: the split is missing; choose {splits}")
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
