"""The strings of programs, and the HTML in them."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from dragoman.documents.passage import Part, Writing, to_parts
from dragoman.markup.items import Item, TextItem
from dragoman.markup.tags import ReadText, string_items

_NAME = r"(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]\w{1,31});"
_REFERENCE = re.compile(f"&{_NAME}")
_LIKE_MARKUP = re.compile(f"<(?=[A-Za-z/!?])|&(?={_NAME})")


def string_parts(
    text: str, writing: Writing, read: Callable[[str, ReadText, bool], Sequence[Item]] = string_items
) -> list[Part]:
    """The parts of a string that may contain tags, and references such as `&amp;` if it is HTML.

    Args:
        text: The string.
        writing: The language of the text, and how it is written in the string.
        read: The items of the string, given how a text in it is read, and whether the string is HTML.
    """
    is_html = has_references(text)
    return to_parts(read(text, _read_html if is_html else _read, is_html), string_writing(text, writing))


def _read(text: str) -> Iterator[Item]:
    yield TextItem(text, text)


def _read_html(text: str) -> Iterator[Item]:
    yield TextItem(text, decode_references(text))


def has_references(text: str) -> bool:
    """Whether a string contains references such as `&amp;`, as HTML does."""
    return decode_references(text) != text


def string_writing(text: str, writing: Writing) -> Writing:
    """How translations are written in a string: as HTML if it is HTML."""
    if not has_references(text):
        return writing
    references, encode = _find_references(text), writing.encode
    return replace(writing, encode=lambda translation: encode(_encode(references, translation)))


def decode_references(text: str) -> str:
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
