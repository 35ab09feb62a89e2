"""Tables in CSV and TSV files: the cells of chosen columns are translated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from dragoman.documents.formats.characters import read_characters
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.formats.items import Part
from dragoman.documents.formats.passage import Writing
from dragoman.documents.formats.strings import FileString, string_parts
from dragoman.documents.sentences import is_translatable
from dragoman.errors import UserError, nearest

Cell = tuple[str, str]
"""What the file contains for a cell, and what follows it: a delimiter, or the end of the row."""

_DELIMITERS = ",;\t|"
_SAMPLE = 50  # rows from which the delimiter is detected
_IDENTIFIER = re.compile(r"\S*\d\S*")
"""A single word with a digit, such as A-12."""
_HEADER_CELL = re.compile(r"[^\W\d][\w.:-]*")


def open_csv(file: DocumentFile) -> PassageDocument:
    """A table whose columns are separated by commas, semicolons, tabs or vertical bars, and perhaps in quotes."""
    characters = read_characters(file)
    widths = {each: _common_width(characters.text, each, file.name) for each in _DELIMITERS}
    delimiter = max(widths, key=lambda each: widths[each])
    rows = list(_read_rows(characters.text, delimiter, '"', file.name))
    return PassageDocument(_find_parts(rows, file, partial(_quoted, delimiter=delimiter)), characters.encode)


def open_tsv(file: DocumentFile) -> PassageDocument:
    """A table whose columns are separated by tabs; quotation marks are part of the text, except around a cell."""
    characters = read_characters(file)
    quote = '"' if re.search(r'(?:^|\t)"[^\t]*"(?:\t|\r?$)', characters.text, re.MULTILINE) else ""
    rows = list(_read_rows(characters.text, "\t", quote, file.name))
    write = partial(_quoted, delimiter="\t") if quote else lambda text: " ".join(text.split())
    return PassageDocument(_find_parts(rows, file, write), characters.encode)


def _read_rows(text: str, delimiter: str, quote: str, name: str) -> Iterator[list[Cell]]:
    quoted = rf'"[^"]*+(?:""[^"]*+)*"(?=[{delimiter}\r\n]|$)|' if quote else ""
    cell = re.compile(rf"({quoted}[^{delimiter}\r\n]*+)([{delimiter}]|\r?\n|\r|$)")
    row: list[Cell] = []
    position = 0
    while position < len(text) or row:
        match = cell.match(text, position)
        assert match, "every text starts with a cell, perhaps an empty one"
        if quote and match[1].startswith('"') and (len(match[1]) < 2 or not match[1].endswith('"')):
            line = text.count("\n", 0, position) + 1
            raise UserError(f"{name} line {line}: a quotation mark is opened and not closed; correct this line")
        row.append((match[1], match[2]))
        position = match.end()
        if match[2] != delimiter:
            yield row
            row = []


def _common_width(text: str, delimiter: str, name: str) -> int:
    """The number of columns of the first rows if all have the same number, or 0."""
    lines = text.splitlines(keepends=True)
    try:
        rows = list(_read_rows("".join(lines[:_SAMPLE]), delimiter, '"', name))
    except UserError:  # the sample may end inside quotation marks
        return 0 if len(lines) <= _SAMPLE else len(next(_read_rows(text, delimiter, '"', name)))
    widths = {len(row) for row in rows if (row != [("", "")] and len(row) > 1) or row[0][0]}
    return widths.pop() if len(widths) == 1 else 0


def _find_parts(rows: Sequence[list[Cell]], file: DocumentFile, write: Callable[[str], str]) -> list[Part]:
    """The parts of a table; `write` writes the text of a changed cell."""
    names = [_unquoted(cell) for cell, _ in rows[0]] if rows else []
    columns = _choose_columns(names, file)
    header = not all(column.isdecimal() for column in file.columns) if file.columns else bool(rows) and _is_header(rows)
    writing = file.writing(lambda text: text)
    parts: list[Part] = []
    for number, row in enumerate(rows):
        for column, (cell, end) in enumerate(row):
            if column in columns and not (header and number == 0):
                parts.append(_cell_part(cell, writing, write))
            else:
                parts.append(cell)
            parts.append(end)
    return parts


def _cell_part(cell: str, writing: Writing, write: Callable[[str], str]) -> Part:
    text = _unquoted(cell)
    return cell if _IDENTIFIER.fullmatch(text) else FileString(cell, string_parts(text, writing), write)


def _choose_columns(names: Sequence[str], file: DocumentFile) -> set[int]:
    """The indices of the columns to translate."""
    chosen = set()
    for column in file.columns:
        if column in names:
            chosen.add(names.index(column))
        elif column.isdecimal() and 1 <= int(column) <= len(names):
            chosen.add(int(column) - 1)
        else:
            shown = ", ".join(names[:20])
            raise UserError(f"{file.name}: there is no column {column!r}, only {shown}{nearest(column, names)}")
    return chosen or set(range(len(names)))


def _is_header(rows: Sequence[list[Cell]]) -> bool:
    """Whether the first row consists of single words, unlike the texts below it: programs need it unchanged."""
    names, *others = [[_unquoted(cell) for cell, _ in row] for row in rows[:_SAMPLE]]
    texts = [list(filter(is_translatable, column)) for column in zip(*others, strict=False)]
    has_sentences = any(2 * sum(" " in cell for cell in column) >= len(column) > 0 for column in texts)
    return has_sentences and len(set(names)) == len(names) and all(map(_HEADER_CELL.fullmatch, names))


def _unquoted(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def _quoted(text: str, delimiter: str) -> str:
    """The cell for a text, in quotation marks if it needs them."""
    if any(character in text for character in f'{delimiter}"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
