"""The syntax of messages in programs: ICU plural and select forms, and references to other messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dragoman.markup.elements import DIVIDER, WORD
from dragoman.markup.items import Fixed, Item
from dragoman.markup.tags import CodeEdge, ReadText, match_edges, string_items

_COMPLEX = re.compile(r"\{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*,")
_SELECTOR = re.compile(r"\s*(?:offset:\s*\d+\s*)?(?:=\d+|[\w-]+)\s*\{")
MAX_DEPTH = 10
"""Messages with more forms inside of each other are kept."""

_BRACE = re.compile(r"[{}]")
_END = re.compile(r"\s*\}")
_REFERENCE = re.compile(
    r"\$t\([^()]*\)|\$[A-Za-z]\w*\$|#(?=\s|$)"
    r"|\{\s*[\w.-]+\s*,\s*(?:number|date|time|duration|list|ordinal|spellout)\b[^{}]*\}"
    r"|@(?:\.\w+)?:(?:[\w.]+\w|\{[^{}]*\})|(?<![\w:]):[A-Za-z]\w*(?![\w:])"  # of Vue and Laravel
)


def message_items(text: str, read_text: ReadText, is_html: bool = False) -> list[Item]:
    """The items of a message.

    The forms of `{count, plural, one {# file} other {# files}}` are texts by themselves. `{n, number}`, `$t(key)` of
    i18next, `@:key` of Vue, `:name` of Laravel, `$name$` of browser extensions and `#` in a form are kept. So are tags.

    Args:
        text: The message.
        read_text: The items of a text between these.
        is_html: Whether tags that are not closed are also tags.
    """
    braces = match_edges(CodeEdge(match.start(), "", match[0] == "{") for match in _BRACE.finditer(text))
    return list(_Message(text, braces, read_text, is_html).items(0, len(text), 0))


@dataclass(frozen=True)
class _Message:
    """A message, and where each of its braces is closed."""

    text: str
    braces: Mapping[int, int]
    read_text: ReadText
    is_html: bool

    def items(self, position: int, end: int, depth: int) -> Iterator[Item]:
        """The items between two places, which are inside of so many forms."""
        while match := _COMPLEX.search(self.text, position, end):
            forms = list(self._find_forms(match.end(), end))
            if not forms:
                break
            yield from self._words(self.text[position : match.start()], depth > 0)
            position = match.start()
            for first, last in forms if depth < MAX_DEPTH else ():
                yield Fixed((self.text[position:first],), DIVIDER)
                yield from self.items(first, last, depth + 1)
                position = last
            closing = self.braces[match.start()] + 1
            yield Fixed((self.text[position:closing],), DIVIDER)
            position = closing
        yield from self._words(self.text[position:end], depth > 0)

    def _find_forms(self, position: int, end: int) -> Iterator[tuple[int, int]]:
        """Where the text of each form starts and ends; nothing if the braces do not match."""
        forms = []
        while selector := _SELECTOR.match(self.text, position, end):
            closing = self.braces.get(selector.end() - 1)
            if closing is None:
                return
            forms.append((selector.end(), closing))
            position = closing + 1
        if _END.match(self.text, position, end):
            yield from forms

    def _words(self, text: str, inside: bool) -> Sequence[Item]:
        """The items of a text without forms, which may be inside of one."""
        return string_items(text, lambda part: self._without_references(part, inside), self.is_html)

    def _without_references(self, text: str, inside: bool) -> Iterator[Item]:
        position = 0
        for match in _REFERENCE.finditer(text):
            if match[0] != "#" or inside:
                yield from self.read_text(text[position : match.start()])
                yield Fixed((match[0],), WORD)
                position = match.end()
        yield from self.read_text(text[position:])
