"""The strings of programs as parts of a file, in all formats whose texts are strings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dragoman.documents.passage import Part, Writing, to_parts
from dragoman.markup.elements import STRINGS
from dragoman.markup.items import Item, TextItem
from dragoman.markup.messages import (
    decode_references,
    has_references,
    message_items,
    quote_apostrophes,
    write_references,
)


def string_parts(text: str, writing: Writing) -> list[Part]:
    """The parts of a string, which may be a message with forms, and may contain tags and references such as `&amp;`."""
    is_html = has_references(text)
    elements = replace(STRINGS, language=writing.language)
    items = message_items(text, _read_html if is_html else _read, elements, is_html)
    return to_parts(items, string_writing(text, writing))


def _read(text: str) -> Iterator[Item]:
    yield TextItem(text, text)


def _read_html(text: str) -> Iterator[Item]:
    yield TextItem(text, decode_references(text))


def string_writing(text: str, writing: Writing) -> Writing:
    """How translations are written in a string: as HTML if it is HTML, and with apostrophes as a message needs them."""
    encode, quote = writing.encode, quote_apostrophes(text)
    write = write_references(text) if has_references(text) else str
    return replace(writing, encode=lambda translation: encode(write(quote(translation))))
