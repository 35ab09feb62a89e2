"""Plain text files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from itertools import pairwise

import regex

from dragoman.documents.formats.characters import read_characters
from dragoman.documents.formats.file import DocumentFile, EncodedDocument, PassageDocument
from dragoman.documents.formats.subtitles import break_lines
from dragoman.documents.passage import Part, to_parts
from dragoman.documents.plain_text import PlainText, content_starts
from dragoman.languages.scripts import has_no_spaces
from dragoman.languages.sentence_marks import CLOSING, SENTENCE_ENDS
from dragoman.markup.items import TextItem

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_ENDS = regex.compile(rf"[{SENTENCE_ENDS}:]{CLOSING}*$")
_LONGEST_LINE = 120  # of wrapped text
_LEAST_LINES = 3  # that continue
_LEAST_SHARE = 0.5


def open_txt(file: DocumentFile) -> EncodedDocument:
    """A text with lines, paragraphs and lists. If its lines are wrapped, those of a paragraph are joined."""
    characters = read_characters(file)
    lines = [line for line in _LINE.findall(characters.text) if line]
    starts = content_starts(lines, file.languages[0])
    continued = [] if file.whole_lines is True else find_wrapped(lines, starts)
    if not any(continued):
        return EncodedDocument(PlainText(characters.text, file.languages[0], file.whole_lines), characters.encode)
    warnings.warn(
        f"{file.name}: its lines are wrapped; the lines of a paragraph are translated together, and wrapped again",
        stacklevel=2,
    )
    writing = file.writing(str, break_lines)
    parts: list[Part] = []
    paragraph: list[str] = []
    for line, start, continues in zip(lines, starts, continued, strict=True):
        if not paragraph:
            parts.append(line[:start])
        paragraph.append(line if paragraph else line[start:])
        if not continues:
            parts += to_parts([item for each in paragraph for item in _line_items(each)], writing)
            paragraph = []
    return PassageDocument(parts, characters.encode)


def _line_items(line: str) -> Sequence[TextItem]:
    text = line.rstrip("\r\n")
    return [TextItem(text, text), TextItem(line[len(text) :], " ")]


def find_wrapped(lines: Sequence[str], starts: Sequence[int]) -> list[bool]:
    """Whether each line of a text continues on the next one, because the next word did not fit.

    All are False if the text does not look wrapped: then most lines end where a sentence ends, or are of any length.

    Args:
        lines: The lines, with their ends.
        starts: Where the text of each begins, after bullets and numbers.
    """
    texts = [line.rstrip() for line in lines]
    width = max(map(len, texts), default=0)
    continued = [False] * len(texts)
    neighbors = inside = 0
    for place, (line, following) in enumerate(pairwise(texts)):
        if line and following and not starts[place + 1]:
            neighbors += 1
            continued[place] = not following[0].isspace() and len(line) + 1 + len(following.split()[0]) > width
            inside += continued[place] and not _ENDS.search(line)
    is_wrapped = (
        width <= _LONGEST_LINE
        and inside >= _LEAST_LINES
        and inside >= _LEAST_SHARE * neighbors
        and not has_no_spaces(texts[:100])
    )
    return continued if is_wrapped else [False] * len(texts)
