"""The strings of programs: HTML in them, and messages with plural and select forms."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dragoman.documents.passage import Part, Writing, to_parts
from dragoman.markup.elements import DIVIDER, WORD
from dragoman.markup.items import Fixed, Item, TextItem
from dragoman.markup.tags import CodeEdge, ReadText, match_edges, string_items

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


_COMPLEX = re.compile(r"\{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*,")
_SELECTOR = re.compile(r"\s*(?:offset:\s*\d+\s*)?(?:=\d+|[\w-]+)\s*\{")
MAX_DEPTH = 10
"""Messages with more forms inside of each other are kept."""

_BRACE = re.compile(r"[{}]")
_END = re.compile(r"\s*\}")
_MESSAGE_REFERENCE = re.compile(
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
        for match in _MESSAGE_REFERENCE.finditer(text):
            if match[0] != "#" or inside:
                yield from self.read_text(text[position : match.start()])
                yield Fixed((match[0],), WORD)
                position = match.end()
        yield from self.read_text(text[position:])
