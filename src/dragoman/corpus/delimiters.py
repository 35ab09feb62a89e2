"""What separates the columns of a table in a text file, for training text, glossaries and documents alike."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from dragoman.corpus.references import UndeclaredError

if TYPE_CHECKING:
    from _csv import Reader

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
SAMPLE = 50
"""Lines at the beginning of a table from which the delimiter is detected."""

HEADER_CELL = re.compile(r"[^\W\d][\w.:-]*")
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
