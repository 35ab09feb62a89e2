"""The strings of programs, in any format: messages with forms, what a program replaces, and references of HTML.

Messages are those of ICU: `{count, plural, one {# file} other {# files}}`. Each form is a text by itself, and all else
of the message is kept. A format gives its string to `message_items`; one whose strings contain elements of XML divides
the text with `find_stretches`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import regex

from dragoman.markup.elements import DIVIDER, NUMBER, WORD, Elements
from dragoman.markup.items import Fixed, Item, TextItem
from dragoman.markup.tags import CodeEdge, match_edges, string_items
from dragoman.text.placeholders import KEY_REFERENCE, TEMPLATE

# Messages with forms

_COMPLEX = re.compile(r"\{\s*[\w.-]+\s*,\s*(plural|select|selectordinal)\s*,")
_SELECTOR = re.compile(r"\s*(?:offset:\s*\d+\s*)?(?:=\d+|[\w-]+)\s*\{")
_END = re.compile(r"\s*\}")
_BRACE = re.compile(r"[{}]")
_QUOTED = regex.compile(r"''|'[{}#|][^']*+(?:''[^']*+)*+'")
"""Two apostrophes stand for one, and braces between apostrophes are text."""

_LINE = regex.compile(
    r"\{\{.{0,200}?\}\}|\{%.{0,200}?%\}|\{[^{}]*+\}|<[A-Za-z/!?%][^<>]*+>|\w++://\S++|(?P<line>\s*+\|++\s*+)"
)
"""What divides forms, and what may contain its sign: templates, placeholders, tags and addresses."""
_FOR_NUMBERS = regex.compile(r"(?:\{[\d, ]++\}|[\[\]][-+]?(?:\d++|Inf) ?, ?(?:\*|[-+]?(?:\d++|Inf))[\[\]])\s*+")
"""The numbers that a form is for: `{1} `, `[2,*] `."""
_BRACED_NUMBER = regex.compile(r"\{[\d, ]++\}")

MAX_DEPTH = 10
"""Messages with more forms inside of each other are kept."""


@dataclass(frozen=True, slots=True)
class StringPart:
    """A stretch of a string.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        is_text: Whether it is text; otherwise, it belongs to the structure of a message.
        has_forms: Whether it is part of a message with forms, in which apostrophes quote braces.
        counts: Whether `#` in it stands for a number, as in plural forms.
    """

    start: int
    end: int
    is_text: bool
    has_forms: bool = False
    counts: bool = False


def find_stretches(text: str) -> list[StringPart]:
    """The texts of a string, and the structure of a message or lines between them, in order."""
    if not _COMPLEX.search(text):
        return list(_divide_at_lines(text))
    for readable in (_QUOTED.sub(lambda match: "\0" * len(match[0]), text), text):
        braces = match_edges(CodeEdge(match.start(), "", match[0] == "{") for match in _BRACE.finditer(readable))
        found = [each for each in _Message(readable, braces).stretches(0, len(text), 0, False) if each.start < each.end]
        if len(found) > 1:
            return found
    return list(_divide_at_lines(text))


def _divide_at_lines(text: str) -> Iterator[StringPart]:
    """The texts of a string between vertical lines: forms of Laravel, Symfony and Vue, or parts of a title."""
    lines = [match.span() for match in _LINE.finditer(text) if match["line"]] if "|" in text else []
    starts = [0, *(end for _, end in lines)]
    numbers = [_FOR_NUMBERS.match(text, start) for start in starts]
    if len(_BRACED_NUMBER.findall(text)) > sum(found is not None and found[0][0] == "{" for found in numbers):
        numbers = [None] * len(starts)  # {0} is a placeholder
    for start, found, (end, after) in zip(starts, numbers, [*lines, (len(text), len(text))], strict=True):
        begin = found.end() if found and lines else start
        if begin > start:
            yield StringPart(start, begin, is_text=False)
        yield StringPart(begin, end, is_text=True)
        if after > end:
            yield StringPart(end, after, is_text=False)


@dataclass(frozen=True)
class _Message:
    """A message without what is quoted, and where each of its braces is closed."""

    text: str
    braces: Mapping[int, int]

    def stretches(self, position: int, end: int, depth: int, counts: bool) -> Iterator[StringPart]:
        """The stretches between two places, which are inside of so many forms."""
        while match := _COMPLEX.search(self.text, position, end):
            forms = list(self._find_forms(match.end(), end))
            if not forms:
                break
            yield StringPart(position, match.start(), is_text=True, has_forms=True, counts=counts)
            position = match.start()
            for first, last in forms if depth < MAX_DEPTH else ():
                yield StringPart(position, first, is_text=False, has_forms=True)
                yield from self.stretches(first, last, depth + 1, counts or match[1] != "select")
                position = last
            closing = self.braces[match.start()] + 1
            yield StringPart(position, closing, is_text=False, has_forms=True)
            position = closing
        yield StringPart(position, end, is_text=True, has_forms=True, counts=counts)

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


# What a program replaces in a text

_REPLACED = (
    rf"{TEMPLATE}|{KEY_REFERENCE}"
    r"|\$[A-Za-z]\w*\$"  # of browser extensions
    r"|\{\s*[\w.-]+\s*,\s*(?:number|date|time|duration|list|ordinal|spellout)\b[^{}]*\}"
    r"|(?<![\w:]):[A-Za-z]\w*(?![\w:])"  # of Laravel
)
_NUMBER = re.compile(r"#|\{[^,]*,\s*(?:number|ordinal|spellout)\b")
_IN_STRING = regex.compile(_REPLACED)
_IN_FORMS = regex.compile(rf"{_QUOTED.pattern}|{_REPLACED}")
_IN_PLURAL = regex.compile(rf"{_QUOTED.pattern}|#|{_REPLACED}")


def message_items(text: str, elements: Elements) -> list[Item]:
    """The items of a string, which may be a message with forms, and contain tags and references.

    `{n, number}`, `<%= name %>`, `$t(key)` of i18next, `@:key` of Vue, `:name` of Laravel, `$name$` of browser
    extensions, `#` in a plural form and braces in apostrophes are kept. So are tags, as in `string_items`.

    Args:
        text: The string.
        elements: What the elements that have rows do.
    """
    is_html = has_references(text)
    items: list[Item] = []
    for stretch in find_stretches(text):
        part = text[stretch.start : stretch.end]
        if stretch.is_text:
            items += string_items(part, partial(read_stretch, stretch), elements, is_html)
        else:
            items.append(Fixed((part,), DIVIDER))
    return items


def read_stretch(stretch: StringPart, text: str, encode: Callable[[str], str] = str) -> Iterator[Item]:
    """The items of a text without tags in a stretch: what a program replaces, and the text between that.

    Args:
        stretch: The stretch.
        text: A part of it.
        encode: What the file contains for a text.
    """
    pattern = _IN_PLURAL if stretch.counts else _IN_FORMS if stretch.has_forms else _IN_STRING
    position = 0
    for match in pattern.finditer(text):
        if between := text[position : match.start()]:
            yield TextItem(encode(between), decode_references(between))
        replaced = NUMBER if _NUMBER.match(match[0]) else WORD
        yield TextItem(encode("''"), "'") if match[0] == "''" else Fixed((encode(match[0]),), replaced)
        position = match.end()
    if position < len(text) or not text:
        yield TextItem(encode(text[position:]), decode_references(text[position:]))


def quote_apostrophes(message: str) -> Callable[[str], str]:
    """What writes a text into a message: an apostrophe that would quote what follows it, is doubled.

    So are all others if they are in the message.
    """
    if not any(each.has_forms for each in find_stretches(message)):
        return str
    pattern = re.compile("'" if "''" in message else "'(?=[{}#|])")
    return lambda text: pattern.sub("''", text)


# References of HTML

_NAME = r"(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]\w{1,31});"
_REFERENCE = re.compile(f"&{_NAME}")
_LIKE_MARKUP = re.compile(f"<(?=[A-Za-z/!?])|&(?={_NAME})")


def has_references(text: str) -> bool:
    """Whether a string contains references such as `&amp;`, as HTML does."""
    return decode_references(text) != text


def decode_references(text: str) -> str:
    """The text with the characters that references stand for."""
    return _REFERENCE.sub(lambda match: html.unescape(match[0]), text)


def write_references(string: str) -> Callable[[str], str]:
    """What writes a text into a string that is HTML.

    Characters become the references of the string, and no text becomes a tag or a reference.
    """
    references = _find_references(string)

    def write(text: str) -> str:
        confusing = {match.start(): html.escape(match[0]) for match in _LIKE_MARKUP.finditer(text)}
        return "".join(references.get(each, confusing.get(place, each)) for place, each in enumerate(text))

    return write


def _find_references(text: str) -> dict[str, str]:
    """The first reference to each character of a text, except to spaces, and letters and digits of ASCII."""
    references: dict[str, str] = {}
    for reference in _REFERENCE.findall(text):
        character = html.unescape(reference)
        if len(character) == 1 and not (character == " " or (character.isascii() and character.isalnum())):
            references.setdefault(character, reference)
    return references
