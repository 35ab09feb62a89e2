"""The strings of programs as parts of a file, in all formats whose texts are strings."""

from __future__ import annotations

import re
from dataclasses import replace

from dragoman.documents.passage import Part, Writing, to_parts
from dragoman.markup.elements import STRINGS
from dragoman.markup.messages import has_references, message_items, quote_apostrophes, write_references

_CODE = re.compile(
    r"""
      [a-zA-Z0-9\#@-]++ (?: [.:_]++ [a-zA-Z0-9\#@-]++ )+   # app.title, app:title, snake_case
    | [a-zA-Z0-9]*+ _ \w*+                                 # _private, name_
    | (?: (?![a-z][A-Z]) [\w$.-] )* [a-z][A-Z][\w$-]*+     # camelCase
    | \#[0-9a-fA-F]{3,8}                                   # colors
    | [a-zA-Z]++ :// \S*+                                  # URLs
    | \.{0,2} / [\w\#@./:-]*+                              # /usr/bin, ../images
    | [\w\#@.:-]++ (?: / [\w\#@.:-]*+ ){2,}               # images/icons/logo.png
    | [a-z0-9@._+-]++ / [a-z0-9@._+-]++                    # text/html
    """,
    re.ASCII | re.VERBOSE,
)
"""Names in programs, colors and paths, but not Name: or Yes/No."""


def is_code(text: str) -> bool:
    """Whether a text is a name in a program, a color or a path, as values of JSON and cells of tables may be."""
    return _CODE.fullmatch(text) is not None


def string_parts(text: str, writing: Writing) -> list[Part]:
    """The parts of a string, which may be a message with forms, and may contain tags and references such as `&amp;`."""
    items = message_items(text, replace(STRINGS, language=writing.language))
    return to_parts(items, string_writing(text, writing))


def string_writing(text: str, writing: Writing) -> Writing:
    """How translations are written in a string: as HTML if it is HTML, and with apostrophes as a message needs them."""
    encode, quote = writing.encode, quote_apostrophes(text)
    write = write_references(text) if has_references(text) else str
    return replace(writing, encode=lambda translation: encode(write(quote(translation))))
