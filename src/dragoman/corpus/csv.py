"""Comma-separated files, as spreadsheet programs export them."""

from __future__ import annotations

from pathlib import Path

from dragoman.corpus.delimited import open_table, stated_languages_of_table
from dragoman.corpus.pair import Corpus, Languages
from dragoman.corpus.references import has_suffix
from dragoman.settings import CorpusReference

SYNTAX = "a .csv file"


def recognizes(reference: CorpusReference) -> bool:
    """Whether this is a path that ends in ``.csv`` or ``.csv.gz``."""
    return has_suffix(reference, ".csv")


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The corpus in this file, in which columns may be in quotation marks; UserError if it is missing."""
    return open_table(reference, languages, delimiter=None, quotes=True)


def stated_languages(reference: CorpusReference) -> list[str]:
    """The languages that its header row names; UserError if the file is missing or damaged."""
    return stated_languages_of_table(reference, delimiter=None, quotes=True)
