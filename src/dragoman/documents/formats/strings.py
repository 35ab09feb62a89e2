"""Strings that a file writes in another way, with escapes or in quotation marks, and the HTML in them."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from dragoman.documents.formats.items import Item, Part, TextItem, original, to_parts
from dragoman.documents.formats.passage import Passage, Writing
from dragoman.documents.formats.string_markup import ReadText, markup_items
from dragoman.documents.segment import Segment, TranslatedSegment

_NAME = r"(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]\w{1,31});"
_REFERENCE = re.compile(f"&{_NAME}")
_LIKE_MARKUP = re.compile(f"<(?=[A-Za-z/!?])|&(?={_NAME})")


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
    text: str, writing: Writing, read: Callable[[str, ReadText, bool], Sequence[Item]] = markup_items
) -> list[Part]:
    """The parts of a string that may contain tags, and references such as `&amp;` if it is HTML.

    Args:
        text: The string.
        writing: The language of the text, and how it is written in the string.
        read: The items of the string, given how a text in it is read, and whether the string is HTML.
    """
    is_html = _decode(text) != text
    if is_html:
        writing = replace(writing, encode=partial(_encode, _find_references(text)))
    return to_parts(read(text, _read_html if is_html else _read, is_html), partial(Passage, writing=writing))


def _read(text: str) -> Iterator[Item]:
    yield TextItem(text, text)


def _read_html(text: str) -> Iterator[Item]:
    yield TextItem(text, _decode(text))


def _decode(text: str) -> str:
    """The text with the characters that references stand for."""
    return _REFERENCE.sub(lambda match: html.unescape(match[0]), text)


def _find_references(text: str) -> dict[str, str]:
    """The first reference to each character of a text, except to spaces, and letters and digits of ASCII."""
    references: dict[str, str] = {}
    for reference in _REFERENCE.findall(text):
        character = html.unescape(reference)
        if len(character) == 1 and not (character == " " or (character.isascii() and character.isalnum())):
            references.setdefault(character, reference)
    return references


def _encode(references: Mapping[str, str], text: str) -> str:
    """HTML for a text: characters become the references of the original, and no text becomes a tag or a reference."""
    confusing = {match.start(): html.escape(match[0]) for match in _LIKE_MARKUP.finditer(text)}
    return "".join(references.get(each, confusing.get(place, each)) for place, each in enumerate(text))
