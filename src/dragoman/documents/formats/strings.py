"""The strings of programs as parts of a file, in all formats whose texts are strings."""

from __future__ import annotations

from dataclasses import replace

from dragoman.documents.passage import Part, Writing, to_parts
from dragoman.markup.elements import STRINGS
from dragoman.markup.messages import has_references, message_items, quote_apostrophes, write_references


def string_parts(text: str, writing: Writing) -> list[Part]:
    """The parts of a string, which may be a message with forms, and may contain tags and references such as `&amp;`."""
    items = message_items(text, replace(STRINGS, language=writing.language))
    return to_parts(items, string_writing(text, writing))


def string_writing(text: str, writing: Writing) -> Writing:
    """How translations are written in a string: as HTML if it is HTML, and with apostrophes as a message needs them."""
    encode, quote = writing.encode, quote_apostrophes(text)
    write = write_references(text) if has_references(text) else str
    return replace(writing, encode=lambda translation: encode(write(quote(translation))))
