"""Plain text with lines, paragraphs and lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import regex

from dragoman.corpus.memory import TranslationMemory
from dragoman.documents.division import join_translations
from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.documents.sentences import WholeLines, has_words, is_kept_whole, split_paragraph, trimmed
from dragoman.languages.codes import primary_language
from dragoman.languages.scripts import WITHOUT_SPACES
from dragoman.languages.sentence_marks import ORDINAL_POINTS

_SHAPES = r"\p{Block=Geometric_Shapes}\p{Block=Dingbats}★☆"
_BULLETS = regex.compile(
    rf"\s*(?:(?:[-*+•‣◦–—·>{_SHAPES}]|\#{{1,6}})\s+(?=\S)|[・※{_SHAPES}]\s*(?=[{WITHOUT_SPACES}]))*"
)
_HAN_NUMBER = "[一二三四五六七八九十]"
_LABEL = regex.compile(
    rf"[(（]?(?:\d{{1,3}}|\p{{L}}\p{{M}}?|[ivx]{{2,5}}|{_HAN_NUMBER}{{1,3}})(?:\)\s+|）\s*)(?=\S)"
    rf"|{_HAN_NUMBER}{{1,3}}[、．]\s*(?=\S)(?!{_HAN_NUMBER})|[①-⓿]\s*(?=\S)"
)
_NUMBER = regex.compile(r"(?P<parts>\d{1,3}[.．])*(?:(?P<number>\d{1,3})|(?P<letter>\p{L})\p{M}?)(?:\.\s+|．\s*)(?=\S)")
_HANGUL = "가나다라마바사아자차카타파하"
_NEAR_LETTERS = 5
"""The distance of two letters in Unicode that follow each other in an alphabet, at most."""

ITEM_LINES = 10
"""Lines that an item of a list may have. In a long file of unrelated sentences, far more may separate two ordinals."""


class PlainText:
    """A text whose lines are split into sentences; a `SegmentedDocument`.

    Spaces, line breaks, and the bullets and numbers of lists are between the segments, so they are kept. A line without
    a letter or a number has no segment.

    Args:
        text: Any text.
        language: Its language, such as "de".
        whole_lines: Whether lines are not split, or which texts are not, see `TextTranslator.whole_lines`.
    """

    def __init__(self, text: str, language: str, whole_lines: WholeLines = False) -> None:
        self._text = text
        self._spans = list(find_text_spans(text, language, whole_lines))
        self.segments: Sequence[Segment] = [Segment(text[start:end]) for start, end in self._spans]

    def assemble(self, translations: Sequence[TranslatedSegment]) -> str:
        """The text with the translation of each segment."""
        return join_translations(self._text, self._spans, [translation.text for translation in translations])


def find_in_memory(memory: TranslationMemory, text: str) -> str | None:
    """The translation of a segment; if the memory lacks an item of a list with its number, that without the number."""
    target = memory.find(text)
    if target is not None or not (number := _NUMBER.match(text)):
        return target
    item = memory.find(text[number.end() :])
    return None if item is None else f"{number[0]}{item}"


def find_text_spans(text: str, language: str, whole_lines: WholeLines) -> Iterator[tuple[int, int]]:
    """The start and the end of each segment of a text; see `PlainText`."""
    if is_kept_whole(text, whole_lines):
        yield from trimmed(text)
        return
    lines, line_start = text.splitlines(keepends=True), 0
    for line, spans in zip(lines, find_spans_of_lines(lines, language, whole_lines), strict=True):
        for start, end in spans:
            yield line_start + start, line_start + end
        line_start += len(line)


def find_spans_of_lines(lines: Sequence[str], language: str, whole_lines: WholeLines) -> list[list[tuple[int, int]]]:
    """The start and the end of each segment in each of the lines of a text.

    Line breaks within a line, as an entry of a translation memory may have, are spaces.
    """
    found: list[list[tuple[int, int]]] = []
    for line, content in zip(lines, content_starts(lines, language), strict=True):
        if is_kept_whole(line, whole_lines) or not has_words(line[content:]):
            content = 0  # a segment of a memory with its number, or "1. 😀": the number is all that the line contains
        found.append([(content + a, content + b) for a, b in split_paragraph(line[content:], language, whole_lines)])
    return found


def content_starts(lines: Sequence[str], language: str) -> list[int]:
    """Where the text of each line begins, after its indentation, bullets, and number or letter.

    In languages that write a point after an ordinal number, "2." may be one. It is the number of a list if it follows
    the number of a line not far above, or if the line before or after it has a number too. The same holds for "B.",
    which may be an initial, in all languages.
    """
    starts: list[int] = []
    numbered: list[_NumberedLine] = []
    lettered: list[_NumberedLine] = []
    rank = 0
    for index, line in enumerate(lines):
        bullets = _BULLETS.match(line)
        start = bullets.end() if bullets else 0
        rank += bool(line.strip())
        if found := _NUMBER.match(line, start):
            if letter := found["letter"]:
                lettered.append(_NumberedLine(index, rank, _place_in_alphabet(letter), found.end()))
            else:
                start = found.end() if found["parts"] else start  # 1.2. is no ordinal number
                numbered.append(_NumberedLine(index, rank, int(found["number"]), found.end()))
        elif label := _LABEL.match(line, start):
            start = label.end()
        starts.append(start)
    listed = {each for pair in pairwise(numbered) if _is_list(*pair) for each in pair}
    letters = {each for pair in pairwise(lettered) if _follow_in_alphabet(*pair) for each in pair}
    for each in [*(numbered if primary_language(language) not in ORDINAL_POINTS else listed), *letters]:
        starts[each.line] = each.end
    return starts


class _NumberedLine(NamedTuple):
    """A line that begins with a number or a letter; `rank` counts the lines that are not empty, `end` is after it."""

    line: int
    rank: int
    number: int
    end: int


def _is_list(first: _NumberedLine, second: _NumberedLine) -> bool:
    distance = second.rank - first.rank
    return distance == 1 or (distance <= ITEM_LINES and second.number == first.number + 1)


def _place_in_alphabet(letter: str) -> int:
    """Where a letter is in its alphabet; that of Korean lists consists of syllables."""
    place = _HANGUL.find(letter)
    return ord(letter) if place < 0 else place


def _follow_in_alphabet(first: _NumberedLine, second: _NumberedLine) -> bool:
    return second.rank == first.rank + 1 and 0 < second.number - first.number <= _NEAR_LETTERS
