"""Tables in text files, ``.csv`` and ``.tsv``: columns separated by a delimiter, perhaps in quotation marks."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import regex

from dragoman.corpus.checks import existing_file
from dragoman.corpus.columns import Row, chosen_names, languages_of_columns, named_among, select_pairs, states_machine
from dragoman.corpus.lines import MAX_LINE_CHARACTERS, read_lines
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import UndeclaredError, as_corpus_file
from dragoman.corpus.rows import open_single_file
from dragoman.errors import UserError, shortened
from dragoman.settings import CorpusFile, CorpusReference

if TYPE_CHECKING:
    from _csv import Reader

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
SAMPLE = 50
"""Lines at the beginning of a table from which the delimiter is detected."""

HEADER_CELL = regex.compile(r"[^\W\d][\w\p{M}.:-]*")
"""The name of a column."""
_LEAST_NAMES = 3
_STATED = re.compile(r'"?sep=([,;|\t])"?', re.IGNORECASE)


def stated_delimiter(line: str) -> str | None:
    """The delimiter that the first line of a table states, such as ``sep=;``, which Excel does not show, or None."""
    stated = _STATED.fullmatch(line)
    return stated[1] if stated else None


def detect_delimiter(sample: Sequence[str], quotes: bool, name: str) -> str | None:
    """The delimiter of a table, or None if it probably has a single column.

    It gives all rows the same number of columns, and more than one. If none does, it gives most rows the same number:
    then the others are damaged, unless it is usually followed by a space, as punctuation is. Otherwise, it separates
    names in the first row, and the rows below lack cells at their end.

    Args:
        sample: The first lines of the table, at most `SAMPLE`. If they are fewer, it has no others.
        quotes: Whether columns may be in quotation marks.
        name: What the error calls the table.

    Raises:
        UndeclaredError: Several delimiters are equally probable.
    """
    widths = {each: _widths(sample, each, quotes) for each in DELIMITERS}
    possible = [each for each, found in widths.items() if len(set(found)) == 1 and found[0] > 1] or [
        each for each in widths if _usual_width(widths[each]) > 1 and not _is_punctuation(sample, each)
    ]
    if not possible:
        widest = (each for each, found in widths.items() if found and found[0] == max(found))
        possible = [each for each in widest if _has_names(sample, each)]
    if len(possible) > 1:
        possible.sort(key=lambda each: _usual_width(widths[each]) != 2)
        shown = " or ".join(DELIMITERS[each] for each in possible)
        raise UndeclaredError(f"{name} line 1: the columns may be separated by {shown}", delimiter=possible[0])
    return possible[0] if possible else None


def table_reader(lines: Iterable[str], delimiter: str, quotes: bool) -> Reader:
    """A reader of the rows in some lines, which end in line breaks; it raises csv.Error for damaged ones."""
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    return csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)


def _widths(sample: Sequence[str], delimiter: str, quotes: bool) -> list[int]:
    """The number of columns of each row that is not blank, as far as the rows can be read."""
    widths = []
    try:
        for row in table_reader((f"{line}\n" for line in sample), delimiter, quotes):
            if len(row) > 1 or "".join(row).strip():
                widths.append(len(row))
    except csv.Error:  # the sample may end inside quotation marks; reading the table reports damaged rows
        pass
    return widths


def _has_names(sample: Sequence[str], delimiter: str) -> bool:
    """Whether the first row consists of three or more names of columns."""
    names = [cell.strip('"\r') for cell in sample[0].split(delimiter)]
    return len(names) == len(set(names)) >= _LEAST_NAMES and all(map(HEADER_CELL.fullmatch, names))


def _is_punctuation(sample: Sequence[str], character: str) -> bool:
    number = sum(line.count(character) for line in sample)
    return 2 * sum(line.count(f"{character} ") for line in sample) >= max(1, number)


def _usual_width(widths: Sequence[int]) -> int:
    """The number of columns that more than half of the rows have, or 0."""
    ((width, count),) = Counter(widths or [0]).most_common(1)
    return width if 2 * count > len(widths) else 0


QUOTED_ROWS = 20  # at the beginning of a file; in text, so many sentences in quotation marks are improbable
_IN_QUOTES = re.compile(r'"(?:[^"]|"")*"')
_QUOTED = re.compile(r'"(?:[^"]|"")*""(?:[^"]|"")*"')


@dataclass
class DelimitedFormat:
    """A format of tables, of which a reference may change delimiter and quotation marks.

    Attributes:
        SYNTAX: What a reference to such a file looks like.
        SUFFIXES: How the names of such files end; they may be followed by ``.gz``.
        delimiter: What separates the columns; detected if None.
        quotes: Whether columns may be in quotation marks.
    """

    SYNTAX: str
    SUFFIXES: tuple[str, ...]
    delimiter: str | None
    quotes: bool

    def open_corpus(self, reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
        """The corpus in this file; UserError if it is missing."""
        stated = as_corpus_file(reference)
        refuses_quotes = stated.quotes is None and not self.quotes  # those like Excel's, which nothing explains
        read = partial(_read, file=self._complete(stated), languages=languages, refuse_quotes=refuses_quotes)
        corpus = open_single_file(reference, read)
        return replace(corpus, machine_tags=self._machine_tags(stated) if corpus.files[0].is_file() else ())

    def stated_languages(self, reference: CorpusReference) -> list[str]:
        """The languages after which its columns are named; UserError if the file is missing or damaged."""
        file = self._complete(as_corpus_file(reference))
        return [] if file.header is False else languages_of_columns(_first_row(file), file)

    def named_languages(self, reference: CorpusReference, languages: Languages) -> list[str]:
        """Those of two languages after which its columns are named; errors as for `stated_languages`."""
        file = self._complete(as_corpus_file(reference))
        return [] if file.header is False else named_among(chosen_names(_first_row(file), file), languages)

    def _machine_tags(self, stated: CorpusFile) -> tuple[str, ...]:
        if stated.header is False:
            return ()
        try:
            header = _first_row(self._complete(stated))
        except UserError:  # reading the pairs reports it
            return ()
        return tuple(header) if states_machine(header) else ()

    def _complete(self, file: CorpusFile) -> CorpusFile:
        quotes = self.quotes if file.quotes is None else file.quotes
        return file.model_copy(update={"delimiter": file.delimiter or self.delimiter, "quotes": quotes})


def _first_row(file: CorpusFile) -> Sequence[str]:
    with closing(read_rows(existing_file(file.file), file)) as rows:
        return next(rows, (0, ()))[1]


CSV = DelimitedFormat("a .csv file", (".csv",), None, quotes=True)
TSV = DelimitedFormat("a .tsv file", (".tsv",), "\t", quotes=False)


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
