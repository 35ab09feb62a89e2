"""Corpora in one file, and those with one sentence pair per line; blank lines are ignored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from dragoman.corpus.checks import existing_file, require_text
from dragoman.corpus.lines import LineError, read_lines
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import as_corpus_file, describe_reference, file_name
from dragoman.errors import UserError
from dragoman.settings import CorpusReference

RowParser = Callable[[str, Languages], Pair]
"""Parses one line; raises `LineError` if it does not contain a pair."""


def open_rows(reference: CorpusReference, parse: RowParser, languages: Languages) -> Corpus:
    """The corpus in a file with one pair per line; UserError if the file is missing."""
    file = as_corpus_file(reference)
    return open_single_file(reference, partial(_parse_lines, encoding=file.encoding, parse=parse, languages=languages))


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


def _read(path: Path, read: Callable[[Path], Iterator[Pair]]) -> Iterator[Pair]:
    return require_text(read(path), str(path))


def _parse_lines(path: Path, encoding: str | None, parse: RowParser, languages: Languages) -> Iterator[Pair]:
    with closing(read_lines(path, encoding)) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                if line.strip():  # not a blank line between pairs, or after them
                    yield parse(line, languages)
            except LineError as error:
                raise UserError(f"{path} line {number}: {error}") from None
