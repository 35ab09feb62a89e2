"""Tables in text files: columns separated by a delimiter, perhaps in quotation marks."""

from __future__ import annotations

import csv
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from dragoman.corpus.checks import existing_file
from dragoman.corpus.columns import Row, languages_of_columns, select_pairs
from dragoman.corpus.lines import MAX_LINE_CHARACTERS, read_lines
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import UndeclaredError, as_corpus_file
from dragoman.corpus.rows import open_single_file
from dragoman.errors import UserError, shortened
from dragoman.settings import CorpusFile, CorpusReference

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_SAMPLE = 50  # rows from which the delimiter is detected
QUOTED_ROWS = 20  # at the beginning of a file; in text, so many sentences in quotation marks are improbable
_STATED_DELIMITER = re.compile(r'"?sep=([,;|\t])"?', re.IGNORECASE)  # the first line, which Excel does not show
_IN_QUOTES = re.compile(r'"(?:[^"]|"")*"')
_QUOTED = re.compile(r'"(?:[^"]|"")*""(?:[^"]|"")*"')


def open_table(reference: CorpusReference, languages: Languages, delimiter: str | None, quotes: bool) -> Corpus:
    """The corpus in a table.

    Args:
        reference: The file.
        languages: Source and target.
        delimiter: What separates the columns if the reference does not say so; detected if None.
        quotes: Whether columns may be in quotation marks if the reference does not say so.

    Raises:
        UserError: The file is missing.
    """
    file, is_undeclared = _complete(reference, delimiter, quotes)
    read = partial(_read, file=file, languages=languages, refuse_quotes=is_undeclared)
    return open_single_file(reference, read)


def stated_languages_of_table(reference: CorpusReference, delimiter: str | None, quotes: bool) -> list[str]:
    """The languages after which its columns are named; arguments and errors as for `open_table`."""
    file, _ = _complete(reference, delimiter, quotes)
    if file.header is False:
        return []
    with closing(_read_rows(existing_file(file.file), file)) as rows:
        return languages_of_columns(next(rows, (0, ()))[1], file)


def _complete(reference: CorpusReference, delimiter: str | None, quotes: bool) -> tuple[CorpusFile, bool]:
    """A reference with these settings unless it states others, and whether it says nothing about quotation marks."""
    file = as_corpus_file(reference)
    is_undeclared = file.quotes is None and not quotes
    update = {"delimiter": file.delimiter or delimiter, "quotes": quotes if file.quotes is None else file.quotes}
    return file.model_copy(update=update), is_undeclared


def _read(path: Path, file: CorpusFile, languages: Languages, refuse_quotes: bool) -> Iterator[Pair]:
    with closing(_read_rows(path, file)) as rows:
        kept = _without_quotes(rows, str(path)) if refuse_quotes else rows
        yield from select_pairs(kept, file, str(path), languages)


def _read_rows(path: Path, file: CorpusFile) -> Generator[Row, None, None]:
    with closing(read_lines(path, file.encoding)) as lines:
        sample = list(islice(lines, _SAMPLE))
        stated = _STATED_DELIMITER.fullmatch(sample[0]) if sample else None
        if stated:
            del sample[0]
        delimiter = file.delimiter or (stated and stated[1]) or _detect_delimiter(sample, file, str(path))
        yield from _rows(chain(sample, lines), delimiter, bool(file.quotes), str(path), before=int(bool(stated)))


def _rows(lines: Iterable[str], delimiter: str, quotes: bool, name: str, before: int = 0) -> Iterator[Row]:
    """The rows with the numbers of their first lines; `before`: how many lines of the file are before `lines`."""
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, quoting=quoting, strict=True)
    while True:
        first_line = before + reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            remedy = (
                "if quotation marks are part of the text, set quotes = false (--no-quotes)" if quotes else "shorten it"
            )
            raise UserError(f"{name} line {first_line}: {_describe(error)}; {remedy}") from None
        if row is None:
            return
        if before + reader.line_num > first_line and len("".join(row)) > MAX_LINE_CHARACTERS:
            raise UserError(f"{name} line {first_line}: longer than {MAX_LINE_CHARACTERS:,} characters")
        if len(row) > 1 or "".join(row).strip():  # not a blank line between rows, or after them
            yield first_line, row


def _describe(error: csv.Error) -> str:
    problem = str(error)
    if "unexpected end of data" in problem or "field limit" in problem:
        return "a quotation mark is opened and not closed"
    return problem


def _without_quotes(rows: Iterator[Row], name: str) -> Iterator[Row]:
    """The rows; UndeclaredError if a column, or all of the first rows, are in quotation marks like those of Excel.

    One of them need not be: the first one may be a header.
    """
    width, quoted = 0, 0
    for index, (number, row) in enumerate(rows, start=1):
        width = width or max(2, len(row))
        place = f"{name} line {number}"
        if any(text[:1] == '"' for text in row):
            _refuse_quotes(row, len(row) != width, place)
        quoted += index <= QUOTED_ROWS + 1 and _is_text_quoted(row)
        if quoted == QUOTED_ROWS:
            raise _quoted_like_excel(place, next(filter(is_quoted, row)))
        yield number, row


def _refuse_quotes(row: Sequence[str], incomplete: bool, place: str) -> None:
    for text in row:
        opened = incomplete and text.count('"') % 2  # and closed on another line
        if text.startswith('"') and (opened or looks_quoted(text)):
            raise _quoted_like_excel(place, text)


def _quoted_like_excel(place: str, text: str) -> UndeclaredError:
    problem = f"{place}: the quotation marks in {shortened(text)} look like those of Excel"
    return UndeclaredError(f"{problem}; if they are part of the text, set quotes = false (--no-quotes)", quotes=True)


def _is_text_quoted(row: Sequence[str]) -> bool:
    """Whether several columns of a row are in quotation marks, and the others have no letters."""
    unquoted = [text for text in row if not is_quoted(text)]
    return len(row) - len(unquoted) > 1 and not any(character.isalpha() for text in unquoted for character in text)


def is_quoted(text: str) -> bool:
    """Whether a column is in quotation marks, which may be a part of the text."""
    return _IN_QUOTES.fullmatch(text) is not None


def looks_quoted(text: str) -> bool:
    """Whether a column without tabs looks like those of Excel: in quotation marks, and with "" inside."""
    return _QUOTED.fullmatch(text) is not None


def _detect_delimiter(sample: list[str], file: CorpusFile, name: str) -> str:
    """The only delimiter that gives the first rows the same number of columns.

    Raises:
        UserError: There are several, or none.
    """
    whole = len(sample) < _SAMPLE
    widths = {each: _common_width(sample, each, bool(file.quotes), whole) for each in _DELIMITERS}
    possible = sorted((each for each in widths if widths[each] > 1), key=lambda each: widths[each] != 2)
    if len(possible) == 1 or not sample:
        return possible[0] if possible else ","
    if possible:
        shown = " or ".join(_DELIMITERS[each] for each in possible)
        raise UndeclaredError(f"{name} line 1: the columns may be separated by {shown}", delimiter=possible[0])
    return max(_DELIMITERS, key=sample[0].count)  # then the rows or the quotes are wrong, and reading says which


def _common_width(sample: list[str], delimiter: str, quotes: bool, whole: bool) -> int:
    """The number of columns that all rows of the sample have, or 0 if they differ."""
    try:
        widths = {len(row) for _, row in _rows(sample, delimiter, quotes, "")}
    except UserError:  # the sample may end inside quotation marks
        return 0 if whole or len(sample) == 1 else _common_width(sample[:-1], delimiter, quotes, whole)
    return widths.pop() if len(widths) == 1 else 0
