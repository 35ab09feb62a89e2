"""Excel workbooks: the first sheet is a table."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.corpus.archive import DAMAGED, open_archive
from dragoman.corpus.checks import existing_file
from dragoman.corpus.columns import Row, chosen_names, languages_of_columns, named_among, select_pairs
from dragoman.corpus.lines import LineError, check_text
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.pair_text import join_lines
from dragoman.corpus.references import as_corpus_file, refuse_settings
from dragoman.corpus.rows import open_single_file
from dragoman.errors import UserError
from dragoman.settings import CorpusFile, CorpusReference

SYNTAX = "a .xlsx file"
SUFFIXES = (".xlsx", ".xlsm")

MAX_BYTES = 500_000_000  # of the content; openpyxl keeps all different texts in memory
MAX_ROWS = 1 << 20  # of Excel
MAX_COLUMNS = 1000
SHOWN_SHEETS = 5  # in a message
_INVALID = (*DAMAGED, LookupError, TypeError, AttributeError, SyntaxError)
"""What openpyxl raises for files that are not valid; SyntaxError is the one of XML."""


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The rows of the first sheet of this workbook; UserError if it is missing."""
    refuse_settings(reference, "encoding", "delimiter", "quotes")
    return open_single_file(reference, partial(_read, file=as_corpus_file(reference), languages=languages))


def stated_languages(reference: CorpusReference) -> list[str]:
    """The languages that its header row names; UserError if the file is missing or damaged."""
    file = as_corpus_file(reference)
    return [] if file.header is False else languages_of_columns(_first_row(file), file)


def named_languages(reference: CorpusReference, languages: Languages) -> list[str]:
    """Those of two languages after which its columns are named; errors as for `stated_languages`."""
    file = as_corpus_file(reference)
    return [] if file.header is False else named_among(chosen_names(_first_row(file), file), languages)


def _first_row(file: CorpusFile) -> Sequence[str]:
    path = existing_file(file.file)
    with open_archive(path, MAX_BYTES) as archive:
        return next(_rows(archive, str(path)), (0, ()))[1]


def _read(path: Path, file: CorpusFile, languages: Languages) -> Iterator[Pair]:
    with open_archive(path, MAX_BYTES) as archive:
        for pair in select_pairs(_rows(archive, str(path)), file, str(path), languages):
            for text in (pair.source, pair.target):
                if isinstance(text, _Date):
                    raise UserError(f"{text.place}: {text} is a date or a time, not text; export the sheet as .csv")
            yield pair


def _rows(archive: zipfile.ZipFile, name: str) -> Iterator[Row]:
    """The rows of the first sheet that are not empty, all as wide as the first of them."""
    number, width = 0, 0
    try:
        for number, values in enumerate(_open_sheet(archive, name), start=1):
            if number > MAX_ROWS or len(values) > MAX_COLUMNS:  # openpyxl adds cells up to any number in the file
                limits = f"{MAX_ROWS:,} rows or {MAX_COLUMNS:,} columns"
                raise UserError(f"{name} line {number}: more than {limits}; export it as .csv")
            texts = [_to_text(value, f"{name} line {number}") for value in values]
            while len(texts) > max(width, 2) and not texts[-1]:  # the first row may lack a translation
                texts.pop()
            if any(texts):
                width = width or max(2, len(texts))
                yield number, texts + [""] * (width - len(texts))
    except _INVALID as error:
        place = f"{name} line {number + 1}" if number else name
        raise UserError(f"{place}: not a valid Excel workbook ({error}); save it again, or as .csv") from None


def _open_sheet(archive: zipfile.ZipFile, name: str) -> Iterator[Sequence[Any]]:
    from openpyxl import load_workbook

    assert archive.fp is not None, "the archive is open"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about features of Excel, such as charts, that are not read
        workbook = load_workbook(archive.fp, read_only=True, data_only=True, keep_links=False)
    sheet: Any = workbook.worksheets[0]
    if others := workbook.sheetnames[1:]:
        _warn_of_others(name, sheet.title, *others)
    sheet.reset_dimensions()  # those in the file may be wrong, and rows outside of them would be missing
    rows: Iterator[Sequence[Any]] = sheet.iter_rows(values_only=True)
    return rows


def _warn_of_others(name: str, first: str, *others: str) -> None:
    """Warn that only the first sheet is read."""
    shown = ", ".join(map(repr, others[:SHOWN_SHEETS])) + (", …" if len(others) > SHOWN_SHEETS else "")
    advice = "to read another one, save it as a separate workbook, or as .csv"
    warnings.warn(f"{name}: only the first sheet, {first!r}, is read, not {shown}; {advice}", stacklevel=2)


class _Date(str):
    """A date or a time in a cell, which may be in a column that is not read; its format is not known."""

    place: str


def _to_text(value: Any, place: str) -> str:
    """A text, a number or a date as text."""
    from openpyxl.utils.escape import unescape

    if value is None:
        return ""
    if isinstance(value, str | int | float):
        try:
            return check_text(join_lines(unescape(str(value))))  # Excel writes a carriage return as _x000D_
        except LineError as error:
            raise UserError(f"{place}: {error}") from None
    date = _Date(value)
    date.place = place
    return date
