"""The syntax of messages in programs: ICU plural and select forms, and references to other messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from dragoman.documents.formats.items import Fixed, Item, TextItem

_COMPLEX = re.compile(r"\{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*,")
_SELECTOR = re.compile(r"\s*(?:offset:\s*\d+\s*)?(?:=\d+|[\w-]+)\s*\{")
_REFERENCE = re.compile(r"\$t\([^()]*\)|\$[A-Za-z]\w*\$|#(?=\s|$)")


def message_items(raw: str, decode: Callable[[str], str]) -> list[Item]:
    """The items of a message.

    The forms of `{count, plural, one {# file} other {# files}}` are texts by themselves. `$t(key)` of i18next, `$name$`
    of browser extensions and `#` in a form are kept.

    Args:
        raw: The message as a JSON file contains it, without the quotation marks.
        decode: The text of a JSON string.
    """
    return list(_items(raw, lambda part: decode(f'"{part}"'), inside=False))


def _items(raw: str, decode: Callable[[str], str], inside: bool) -> Iterator[Item]:
    position = 0
    while match := _COMPLEX.search(raw, position):
        forms = list(_find_forms(raw, match.end()))
        if not forms:
            break
        yield from _words(raw[position : match.start()], decode, inside)
        position = match.start()
        for start, end in forms:
            yield Fixed((raw[position:start],), divides=True)
            yield from _items(raw[start:end], decode, inside=True)
            position = end
        closing = raw.index("}", position + 1) + 1
        yield Fixed((raw[position:closing],), divides=True)
        position = closing
    yield from _words(raw[position:], decode, inside)


def _find_forms(raw: str, position: int) -> Iterator[tuple[int, int]]:
    """Where the text of each form starts and ends; nothing if the braces do not match."""
    forms = []
    while selector := _SELECTOR.match(raw, position):
        end = _find_brace(raw, selector.end())
        if end is None:
            return
        forms.append((selector.end(), end))
        position = end + 1
    if re.match(r"\s*\}", raw[position:]):
        yield from forms


def _find_brace(raw: str, position: int) -> int | None:
    """Where the brace is closed that was opened before a position."""
    depth = 1
    for index in range(position, len(raw)):
        depth += {"{": 1, "}": -1}.get(raw[index], 0)
        if depth == 0:
            return index
    return None


def _words(raw: str, decode: Callable[[str], str], inside: bool) -> Iterator[Item]:
    position = 0
    for match in _REFERENCE.finditer(raw):
        if match[0] != "#" or inside:
            yield TextItem(raw[position : match.start()], decode(raw[position : match.start()]))
            yield Fixed((match[0],), is_word=True)
            position = match.end()
    yield TextItem(raw[position:], decode(raw[position:]))
