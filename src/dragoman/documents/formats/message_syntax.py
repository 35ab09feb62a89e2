"""The syntax of messages in programs: ICU plural and select forms, and references to other messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from dragoman.documents.formats.items import Fixed, Item, TextItem
from dragoman.documents.pairs import CodeEdge, match_edges

_COMPLEX = re.compile(r"\{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*,")
_SELECTOR = re.compile(r"\s*(?:offset:\s*\d+\s*)?(?:=\d+|[\w-]+)\s*\{")
MAX_DEPTH = 10
"""Messages with more forms inside of each other are kept."""

_BRACE = re.compile(r"[{}]")
_END = re.compile(r"\s*\}")
_REFERENCE = re.compile(r"\$t\([^()]*\)|\$[A-Za-z]\w*\$|#(?=\s|$)")


def message_items(raw: str, decode: Callable[[str], str]) -> list[Item]:
    """The items of a message.

    The forms of `{count, plural, one {# file} other {# files}}` are texts by themselves. `$t(key)` of i18next, `$name$`
    of browser extensions and `#` in a form are kept.

    Args:
        raw: The message as a JSON file contains it, without the quotation marks.
        decode: The text of a JSON string.
    """
    braces = match_edges(CodeEdge(match.start(), "", match[0] == "{") for match in _BRACE.finditer(raw))
    return list(_Message(raw, braces, lambda part: decode(f'"{part}"')).items(0, len(raw), 0))


@dataclass(frozen=True)
class _Message:
    """A message, and where each of its braces is closed."""

    raw: str
    braces: Mapping[int, int]
    decode: Callable[[str], str]

    def items(self, position: int, end: int, depth: int) -> Iterator[Item]:
        """The items between two places, which are inside of so many forms."""
        while match := _COMPLEX.search(self.raw, position, end):
            forms = list(self._find_forms(match.end(), end))
            if not forms:
                break
            yield from _words(self.raw[position : match.start()], self.decode, depth > 0)
            position = match.start()
            for first, last in forms if depth < MAX_DEPTH else ():
                yield Fixed((self.raw[position:first],), divides=True)
                yield from self.items(first, last, depth + 1)
                position = last
            closing = self.braces[match.start()] + 1
            yield Fixed((self.raw[position:closing],), divides=True)
            position = closing
        yield from _words(self.raw[position:end], self.decode, depth > 0)

    def _find_forms(self, position: int, end: int) -> Iterator[tuple[int, int]]:
        """Where the text of each form starts and ends; nothing if the braces do not match."""
        forms = []
        while selector := _SELECTOR.match(self.raw, position, end):
            closing = self.braces.get(selector.end() - 1)
            if closing is None:
                return
            forms.append((selector.end(), closing))
            position = closing + 1
        if _END.match(self.raw, position, end):
            yield from forms


def _words(raw: str, decode: Callable[[str], str], inside: bool) -> Iterator[Item]:
    position = 0
    for match in _REFERENCE.finditer(raw):
        if match[0] != "#" or inside:
            yield TextItem(raw[position : match.start()], decode(raw[position : match.start()]))
            yield Fixed((match[0],), is_word=True)
            position = match.end()
    yield TextItem(raw[position:], decode(raw[position:]))
