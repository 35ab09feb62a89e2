"""Tab-separated files: source, tab, target."""

from __future__ import annotations

from pathlib import Path

from dragoman.corpus.lines import LineError
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.rows import has_suffix, open_rows
from dragoman.settings import CorpusReference

SYNTAX = "a .tsv file"


def recognizes(reference: CorpusReference) -> bool:
    """Whether this is a path that ends in ``.tsv`` or ``.tsv.gz``."""
    return has_suffix(reference, ".tsv")


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The corpus in this file; UserError if it is missing."""
    return open_rows(reference, _parse, languages)


def _parse(line: str, languages: Languages) -> Pair:
    columns = line.split("\t")
    if len(columns) != 2:
        raise LineError(f"expected 2 columns, found {len(columns)}")
    return Pair(columns[0], columns[1])
