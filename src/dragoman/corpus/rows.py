"""Files with one sentence pair per line, in a format that parses each line separately."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from dragoman.corpus.checks import existing_file, require_text
from dragoman.corpus.lines import LineError, read_lines
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.errors import UserError
from dragoman.settings import CorpusReference

RowParser = Callable[[str, Languages], Pair]
"""Parses one line; raises `LineError` if it does not contain a pair."""


def has_suffix(reference: CorpusReference, suffix: str) -> bool:
    """Whether the reference is a path with this suffix, plain or followed by ``.gz``."""
    return isinstance(reference, str) and reference.endswith((suffix, f"{suffix}.gz"))


def open_rows(reference: CorpusReference, parse: RowParser, languages: Languages) -> Corpus:
    """The corpus in a file with one pair per line; UserError if the file is missing."""
    assert isinstance(reference, str)
    path = existing_file(reference)
    return Corpus(reference, partial(_read, path, parse, languages), (path,))


def _read(path: Path, parse: RowParser, languages: Languages) -> Iterator[Pair]:
    return require_text(_parse_lines(path, parse, languages), f"source side of {path}", f"target side of {path}")


def _parse_lines(path: Path, parse: RowParser, languages: Languages) -> Iterator[Pair]:
    with closing(read_lines(path)) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield parse(line, languages)
            except LineError as error:
                raise UserError(f"{path} line {number}: {error}") from None
