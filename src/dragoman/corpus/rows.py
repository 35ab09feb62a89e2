"""Corpora in one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from dragoman.corpus.checks import existing_file, require_text
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import as_corpus_file, describe_reference, file_name, refuse_settings
from dragoman.settings import CorpusReference


def open_single_file(reference: CorpusReference, read: Callable[[Path], Iterator[Pair]]) -> Corpus:
    """The corpus in one file.

    Args:
        reference: The file.
        read: Reads the pairs from the beginning.

    Raises:
        UserError: The file is missing; while reading, if one side has no text at all.
    """
    path = existing_file(file_name(reference))
    return Corpus(describe_reference(reference), partial(_read, path, read), (path,))


def open_without_columns(
    reference: CorpusReference, languages: Languages, read: Callable[..., Iterator[Pair]]
) -> Corpus:
    """The corpus in one file of a format without columns; `read` also gets ``encoding`` and ``languages``.

    Raises:
        UserError: As for `open_single_file`, or the reference describes columns.
    """
    refuse_settings(reference, "delimiter", "columns", "header", "quotes")
    encoding = as_corpus_file(reference).encoding
    return open_single_file(reference, partial(read, encoding=encoding, languages=languages))


def _read(path: Path, read: Callable[[Path], Iterator[Pair]]) -> Iterator[Pair]:
    return require_text(read(path), str(path))
