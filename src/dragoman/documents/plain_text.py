"""Plain text with lines, paragraphs and lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from dragoman.documents.joining import join_translations
from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.documents.sentences import has_words, split_paragraph

_MARKER = r"(?:[-*+•‣◦▪–—·>]|\#{1,6}|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{2,5})\)|(?:\d{1,3}\.)+|[a-z]\.)"
_LINE_START = regex.compile(rf"\s*(?:{_MARKER}\s+(?=\S))*")


class PlainText:
    """A text whose lines are split into sentences; a `SegmentedDocument`.

    Spaces, line breaks, and the bullets and numbers of lists are between the segments, so they are kept. A line without
    a letter or a number has no segment.

    Args:
        text: Any text.
        language: Its language, such as "de".
        whole_lines: Do not split lines, for translators that were trained with several sentences per line.
    """

    def __init__(self, text: str, language: str, whole_lines: bool = False) -> None:
        self._text = text
        self._spans = list(find_text_spans(text, language, whole_lines))
        self.segments: Sequence[Segment] = [Segment(text[start:end]) for start, end in self._spans]

    def assemble(self, translations: Sequence[TranslatedSegment]) -> str:
        """The text with the translation of each segment."""
        return join_translations(self._text, self._spans, [translation.text for translation in translations])


def find_text_spans(text: str, language: str, whole_lines: bool) -> Iterator[tuple[int, int]]:
    """The start and the end of each segment of a text; see `PlainText`."""
    line_start = 0
    for line in text.splitlines(keepends=True):
        match = _LINE_START.match(line)
        content = match.end() if match else 0
        if not has_words(line[content:]):  # such as "1. 😀": the number is all that the line contains
            content = 0
        for start, end in split_paragraph(line[content:], language, whole_lines):
            yield line_start + content + start, line_start + content + end
        line_start += len(line)
