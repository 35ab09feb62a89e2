"""Tab-separated files: source, tab, target."""

from __future__ import annotations

from pathlib import Path

from dragoman.corpus.delimited import open_table, stated_languages_of_table
from dragoman.corpus.pair import Corpus, Languages
from dragoman.corpus.references import has_suffix
from dragoman.settings import CorpusReference

SYNTAX = "a .tsv file"


def recognizes(reference: CorpusReference) -> bool:
    """Whether this is a path that ends in ``.tsv`` or ``.tsv.gz``."""
    return has_suffix(reference, ".tsv")


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The corpus in this file, in which quotation marks are text by default; UserError if it is missing."""
    return open_table(reference, languages, delimiter="\t", quotes=False)


def stated_languages(reference: CorpusReference) -> list[str]:
    """The languages that its header row names; UserError if the file is missing or damaged."""
    return stated_languages_of_table(reference, delimiter="\t", quotes=False)
