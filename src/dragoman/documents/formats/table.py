"""Tables in CSV and TSV files: the cells of chosen columns are translated."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest

from dragoman.corpus.delimited import DELIMITERS, HEADER_CELL, SAMPLE, detect_delimiter, stated_delimiter
from dragoman.corpus.references import UndeclaredError
from dragoman.documents.formats.characters import read_characters
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.formats.strings import is_code, string_parts
from dragoman.documents.passage import FileString, Part, Writing
from dragoman.documents.sentences import is_translatable
from dragoman.errors import UserError, nearest
from dragoman.languages.scripts import has_no_spaces

Cell = tuple[str, str]
"""What the file contains for a cell, and what follows it: a delimiter, or the end of the row."""

WriteCell = Callable[[str, str], str]
"""What the file contains for a cell, given what it contained before, and the new text."""

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_IDENTIFIER = re.compile(r"\S*\d\S*")
"""A single word with a digit, such as A-12."""
_ALTERNATIVES = re.compile(r"[A-Za-z]+(?:/[A-Za-z]+)+")
"""Words such as yes/no, which look like a path."""
_WORD_WITHOUT_SPACES = 6  # characters
_QUOTED = r'"[^"]*+(?:""[^"]*+)*"'
_QUOTED_WITHOUT_TABS = _QUOTED.replace('[^"]', r'[^"\t]')


def open_csv(file: DocumentFile) -> PassageDocument:
    """A table whose columns are separated by commas, semicolons, tabs or vertical bars, and perhaps in quotes."""
    characters = read_characters(file)
    first, *_ = _LINE_BREAK.split(characters.text, 1)
    stated = stated_delimiter(first)
    table = _LINE_BREAK.search(characters.text) if stated else None
    start, text = (characters.text[: table.end()], characters.text[table.end() :]) if table else ("", characters.text)
    delimiter = stated or _find_delimiter(text, file.name)
    rows = list(_read_rows(text, delimiter, _QUOTED, file.name))
    _check_widths(rows, delimiter, file.name)
    return PassageDocument([start, *_find_parts(rows, file, partial(_csv_cell, delimiter))], characters.encode)


def open_tsv(file: DocumentFile) -> PassageDocument:
    """A table whose columns are separated by tabs; quotation marks are part of the text, except around a whole cell.

    A quoted cell may contain line breaks, as Excel writes them, unless the file has cells of which only the beginning
    is in quotation marks, as in dialogues.
    """
    characters = read_characters(file)
    try:
        rows = list(_read_rows(characters.text, "\t", _QUOTED_WITHOUT_TABS, file.name))
    except UserError:
        rows = list(_read_rows(characters.text, "\t", "", file.name))
    return PassageDocument(_find_parts(rows, file, _tsv_cell), characters.encode)


def _read_rows(text: str, delimiter: str, quoted: str, name: str) -> Iterator[list[Cell]]:
    """The rows of a table, given the pattern of quoted cells, or an empty one if quotation marks have no meaning."""
    alternative = rf"{quoted}(?=[{delimiter}\r\n]|$)|" if quoted else ""
    cell = re.compile(rf"({alternative}[^{delimiter}\r\n]*+)([{delimiter}]|\r?\n|\r|$)")
    row: list[Cell] = []
    position = 0
    while position < len(text) or row:
        match = cell.match(text, position)
        assert match, "every text starts with a cell, perhaps an empty one"
        if quoted and match[1].startswith('"') and (len(match[1]) < 2 or not match[1].endswith('"')):
            line = text.count("\n", 0, position) + 1
            raise UserError(f"{name} line {line}: a quotation mark is opened and not closed; correct this line")
        row.append((match[1], match[2]))
        position = match.end()
        if match[2] != delimiter:
            yield row
            row = []


def _find_delimiter(text: str, name: str) -> str:
    """What separates the columns; a character that is not in the text if there is a single column."""
    try:
        detected = detect_delimiter(_LINE_BREAK.split(text, SAMPLE)[:SAMPLE], True, name)
    except UndeclaredError as error:
        raise UserError(f"{error.problem}; write sep=, or sep=; in a line above the table") from None
    return detected or next((each for each in DELIMITERS if each not in text), "\0")


def _usual(widths: Sequence[int]) -> int:
    """The number of columns that more than half of the rows have, or 0."""
    ((width, count),) = Counter(widths).most_common(1)
    return width if 2 * count > len(widths) else 0


def _check_widths(rows: Sequence[list[Cell]], delimiter: str, name: str) -> None:
    """UserError if a row has more cells than most: then one of them contains the delimiter, and would be divided.

    Rows may lack cells at their end, so that a header may have more of them.
    """
    widths = [max((index for index, (cell, _) in enumerate(row, 1) if cell), default=0) for row in rows]
    usual, line = _usual(list(filter(None, widths))) if any(widths) else 0, 1
    names = [_unquoted(cell) for cell, _ in rows[0][: widths[0]]] if rows else []
    if len(set(names)) == len(names) and all(map(HEADER_CELL.fullmatch, names)):
        usual = max(usual, len(names))
    for row, width in zip(rows, widths, strict=True):
        if 1 < usual < width:
            raise UserError(
                f"{name} line {line}: {width} columns, where most rows have {usual}; put a cell that contains "
                f"{delimiter!r} in quotation marks"
            )
        line += "".join(cell + end for cell, end in row).count("\n")


def _find_parts(rows: Sequence[list[Cell]], file: DocumentFile, write: WriteCell) -> list[Part]:
    """The parts of a table; `write` writes changed cells."""
    names = [_unquoted(cell) for cell, _ in rows[0]] if rows else []
    columns = _choose_columns(names, file)
    header = not all(column.isdecimal() for column in file.columns) or (bool(rows) and _is_header(rows))
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


def _cell_part(cell: str, writing: Writing, write: WriteCell) -> Part:
    text = _unquoted(cell)
    is_name = is_code(text) and not _ALTERNATIVES.fullmatch(text)
    if is_name or (_IDENTIFIER.fullmatch(text) and not has_no_spaces([text])):
        return cell
    return FileString(cell, string_parts(text, writing), partial(write, cell))


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
    names, *others = [[_unquoted(cell) for cell, _ in row] for row in rows[:SAMPLE]]
    texts = [list(filter(is_translatable, column)) for column in zip_longest(*others, fillvalue="")]
    has_sentences = any(2 * sum(map(_has_words, column)) >= len(column) > 0 for column in texts)
    are_names = all(HEADER_CELL.fullmatch(name) and not _has_words(name) for name in names)
    return has_sentences and are_names and len(set(names)) == len(names)


def _has_words(cell: str) -> bool:
    """Whether a cell has several words, or in a script without spaces more characters than most words."""
    return " " in cell or (len(cell) > _WORD_WITHOUT_SPACES and has_no_spaces([cell]))


def _is_quoted(cell: str) -> bool:
    return re.fullmatch(_QUOTED, cell) is not None


def _unquoted(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if _is_quoted(cell) else cell


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _csv_cell(delimiter: str, before: str, text: str) -> str:
    """The cell for a text, in quotation marks if the cell had them before, or the text needs them."""
    needed = any(character in text for character in f'{delimiter}"\r\n')
    return _quoted(text) if needed or _is_quoted(before) else text


def _tsv_cell(before: str, text: str) -> str:
    """The cell for a text, in quotation marks if the cell had them before."""
    return _quoted(text.replace("\t", " ")) if _is_quoted(before) else " ".join(text.split())
