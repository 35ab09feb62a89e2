"""Strings that a file writes in another way, with escapes or in quotation marks, and the HTML in them."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from dragoman.documents.formats.items import Item, Part, TextItem, original, to_parts
from dragoman.documents.formats.passage import Passage, Writing
from dragoman.documents.formats.string_markup import ReadText, markup_items
from dragoman.documents.segment import Segment, TranslatedSegment

_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]\w{1,31});")


class FileString:
    """A string whose parts are translated; if none changes, it stays what the file contains.

    Args:
        raw: What the file contains.
        parts: The parts of the string itself.
        encode: What the file contains for a changed string.
    """

    segments: Sequence[Segment] = ()

    def __init__(self, raw: str, parts: Sequence[Part], encode: Callable[[str], str]) -> None:
        self.original, self._parts, self._encode = raw, parts, encode
        self._text = original(parts)

    def nested(self) -> Iterator[Part]:
        """The parts in order."""
        return iter(self._parts)

    def write(self, translations: Sequence[TranslatedSegment], nested: Callable[[Sequence[Part]], str]) -> str:
        """What the file contains; `nested` writes the parts."""
        text = nested(self._parts)
        return self.original if text == self._text else self._encode(text)


def string_parts(
    text: str, writing: Writing, read: Callable[[str, ReadText], Sequence[Item]] = markup_items
) -> list[Part]:
    """The parts of a string that may contain tags, and references such as `&amp;` if it is HTML.

    Args:
        text: The string.
        writing: The language of the text, and how it is written in the string.
        read: The items of the string, given how a text in it is read.
    """
    decoded = _decode(text)
    if decoded != text:
        writing = replace(writing, encode=lambda new: html.escape(new, quote=False))
    return to_parts(read(text, _read_html if decoded != text else _read), partial(Passage, writing=writing))


def _read(text: str) -> Iterator[Item]:
    yield TextItem(text, text)


def _read_html(text: str) -> Iterator[Item]:
    yield TextItem(text, _decode(text))


def _decode(text: str) -> str:
    """The text with the characters that references stand for."""
    return _REFERENCE.sub(lambda match: html.unescape(match[0]), text)
