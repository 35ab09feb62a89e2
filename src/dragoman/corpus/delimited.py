"""Tables in text files: columns separated by a delimiter, perhaps in quotation marks."""

from __future__ import annotations

import csv
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, islice
from pathlib import Path

from dragoman.corpus.checks import existing_file
from dragoman.corpus.columns import Row, languages_of_columns, select_pairs
from dragoman.corpus.delimiters import DELIMITERS, SAMPLE, detect_delimiter, stated_delimiter, table_reader
from dragoman.corpus.lines import MAX_LINE_CHARACTERS, read_lines
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import UndeclaredError, as_corpus_file
from dragoman.corpus.rows import open_single_file
from dragoman.errors import UserError, shortened
from dragoman.settings import CorpusFile, CorpusReference

QUOTED_ROWS = 20  # at the beginning of a file; in text, so many sentences in quotation marks are improbable
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
    with closing(read_rows(existing_file(file.file), file)) as rows:
        return languages_of_columns(next(rows, (0, ()))[1], file)


def _complete(reference: CorpusReference, delimiter: str | None, quotes: bool) -> tuple[CorpusFile, bool]:
    """A reference with these settings unless it states others, and whether it says nothing about quotation marks."""
    file = as_corpus_file(reference)
    is_undeclared = file.quotes is None and not quotes
    update = {"delimiter": file.delimiter or delimiter, "quotes": quotes if file.quotes is None else file.quotes}
    return file.model_copy(update=update), is_undeclared


def _read(path: Path, file: CorpusFile, languages: Languages, refuse_quotes: bool) -> Iterator[Pair]:
    with closing(read_rows(path, file)) as rows:
        kept = _without_quotes(rows, str(path)) if refuse_quotes else rows
        yield from select_pairs(kept, file, str(path), languages)


def read_rows(path: Path, file: CorpusFile) -> Generator[Row, None, None]:
    """The rows of a table with their line numbers; raises UserError if it is damaged, or its delimiter is not clear."""
    with closing(read_lines(path, file.encoding)) as lines:
        sample = list(islice(lines, SAMPLE))
        stated = stated_delimiter(sample[0]) if sample else None
        if stated:
            del sample[0]
        delimiter = file.delimiter or stated or detect_delimiter(sample, bool(file.quotes), str(path))
        if not delimiter:  # then the rows or the quotes are wrong, and reading says which
            delimiter = max(DELIMITERS, key=sample[0].count) if sample else ","
        yield from _rows(chain(sample, lines), delimiter, bool(file.quotes), str(path), before=int(bool(stated)))


def _rows(lines: Iterable[str], delimiter: str, quotes: bool, name: str, before: int = 0) -> Iterator[Row]:
    """The rows with the numbers of their first lines; `before`: how many lines of the file are before `lines`."""
    reader = table_reader((f"{line}\n" for line in lines), delimiter, quotes)
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
