"""Tags in a text, as in HTML: pairs of them become groups, and the elements that the table keeps are kept."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape, unescape
from typing import Literal, NamedTuple, TypeAlias

import regex

from dragoman.markup.elements import (
    BLOCK,
    HIDDEN,
    INLINE,
    OBJECT,
    UNCLOSED,
    WORD,
    Element,
    Elements,
)
from dragoman.markup.items import Fixed, Group, Inner, Item, Piece, TextItem, raw_text, text_items
from dragoman.text.placeholders import TEMPLATE

MAX_DEPTH = 50
"""Of nested pairs, only the outer ones are groups; the tags of all others are kept."""


class CodeEdge(NamedTuple):
    """Where something opens or closes in a sequence; both edges of a pair have the same key."""

    place: int
    key: str
    opens: bool


def match_edges(edges: Iterable[CodeEdge]) -> dict[int, int]:
    """The place of the closing edge of each opening edge that has one. Pairs with different keys may cross."""
    opened: dict[str, list[int]] = defaultdict(list)
    pairs: dict[int, int] = {}
    for place, key, opens in edges:
        if opens:
            opened[key].append(place)
        elif opened[key]:
            pairs[opened[key].pop()] = place
    return pairs


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag, or another code that opens or closes a group.

    Attributes:
        raw: What the file contains.
        key: What the opening and the closing tag have in common: the name.
        kind: Whether it opens something, closes it, or is alone.
        element: What the element does.
        pieces: What the file contains, with the texts in its attributes.
        unclosed: What it does if it is opened and not closed, or is alone.
    """

    raw: str
    key: str
    kind: Literal["opening", "closing", "single"]
    element: Element = INLINE
    pieces: tuple[Piece, ...] = ()
    unclosed: Element = HIDDEN

    @property
    def parts(self) -> tuple[Piece, ...]:
        """What the file contains."""
        return self.pieces or (self.raw,)


Event: TypeAlias = Item | Tag


def fold_tags(events: Sequence[Event], depth: int = 0) -> list[Item]:
    """The items of a text with tags, in which nothing is inside of an element that is kept.

    Tags that end sentences are dividers. Between them, a pair of tags with what it surrounds is a group, and all other
    tags are kept. Of two pairs that cross, the first one is a group.

    Args:
        events: Text and tags.
        depth: How many elements with a separate text are around them.
    """
    kept = _keep_elements(events, depth)
    items: list[Item] = []
    start = 0
    for index, event in enumerate(kept):
        if isinstance(event, Tag) and event.element.ends and not event.element.wraps:
            items += [*_fold_pairs(kept[start:index]), Fixed(event.parts, BLOCK)]
            start = index + 1
    return items + _fold_pairs(kept[start:])


def _keep_elements(events: Sequence[Event], depth: int) -> list[Event]:
    """The events, with a fixed item for each element that is kept or apart.

    One in a sentence that is not closed ends where the sentence must end; any other one ends with the text.
    """
    if not any(isinstance(event, Tag) and (event.element.kept or event.element.apart) for event in events):
        return list(events)
    closings = _match(events)
    found: list[Event] = []
    index = 0
    while index < len(events):
        event = events[index]
        if not isinstance(event, Tag) or not (event.element.kept or event.element.apart) or event.element.wraps:
            found.append(event)
        elif event.kind == "closing":
            found.append(Fixed((event.raw,), BLOCK if event.element.ends else HIDDEN))
        elif event.kind == "single":
            found.append(Fixed(event.parts, event.element))
        else:
            last = closings.get(index)
            last = _end_of_unclosed(events, index) if last is None else last
            found.append(_kept(events[index : last + 1], event.element, depth))
            index = last
        index += 1
    return found


def _kept(events: Sequence[Event], element: Element, depth: int) -> Fixed:
    """An element that is kept or apart, as one item, given its start tag, its content and its end."""
    first, rest = events[0], events[1:]
    start = first.parts if isinstance(first, Tag) else ()
    if element.apart and depth < MAX_DEPTH:
        return Fixed((*start, Inner(tuple(fold_tags(rest, depth + 1)))), element)
    raw = "".join(event.raw if isinstance(event, Tag) else raw_text([event]) for event in rest)
    has_text = any(isinstance(event, TextItem) and event.text.strip() for event in events)
    return Fixed((*start, raw), element if has_text or not element.filled else OBJECT)


def _end_of_unclosed(events: Sequence[Event], start: int) -> int:
    """The last event of an element without a closing tag: one in a sentence ends before the next block."""
    first = events[start]
    for last in range(start, len(events) - 1):
        following = events[last + 1]
        is_block = isinstance(following, Tag | Fixed) and following.element.ends and not following.element.wraps
        if is_block and isinstance(first, Tag) and not first.element.ends:
            return last
    return len(events) - 1


def _match(events: Sequence[Event]) -> dict[int, int]:
    return match_edges(
        CodeEdge(index, event.key, event.kind == "opening")
        for index, event in enumerate(events)
        if isinstance(event, Tag) and event.kind != "single"
    )


def _fold_pairs(events: Sequence[Event]) -> list[Item]:
    pairs = _match(events)
    closings = set(pairs.values())
    contents: list[list[Item]] = [[]]
    groups: list[tuple[Tag, int]] = []  # the start of each open group, and the index of its end
    for index, event in enumerate(events):
        if not isinstance(event, Tag):
            contents[-1].append(event)
        elif event.element.ends:
            contents[-1].append(Fixed(event.parts, event.element))
        elif groups and groups[-1][1] == index:
            start = groups.pop()[0]
            inner = tuple(contents.pop())
            contents[-1].append(Group(start.parts, (event.raw,), inner, start.element))
        elif index in pairs and len(groups) < MAX_DEPTH and (not groups or pairs[index] < groups[-1][1]):
            groups.append((event, pairs[index]))
            contents.append([])
        elif index in pairs or index in closings or event.kind == "closing":
            contents[-1].append(Fixed(event.parts))
        else:
            contents[-1].append(Fixed(event.parts, event.unclosed))
    return contents[0]


_NAME = re.compile(r"</?([^\t\n\r\f />]*)")
_ATTRIBUTE = re.compile(r"([^\s=/>\"'<]+)(?:\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s>\"']+))?")


class Attribute(NamedTuple):
    """An attribute with a value: where the value is in a tag, with its quotation marks."""

    name: str
    start: int
    end: int


def read_attributes(tag: str) -> Iterator[Attribute]:
    """The attributes of a tag that have values."""
    name = _NAME.match(tag)
    for match in _ATTRIBUTE.finditer(tag, name.end() if name else 0):
        if match[2] is not None:
            yield Attribute(match[1].lower(), *match.span(2))


def tag_event(
    tag: str,
    name: str,
    kind: Literal["opening", "closing", "single"],
    elements: Elements,
    encode: Callable[[str], str] = str,
) -> Tag:
    """A tag as HTML and XML write it; `encode` gives what the file contains for it."""
    attributes = list(read_attributes(tag)) if kind != "closing" and "=" in tag else []
    values = {each.name: unescape(tag[each.start : each.end].strip("\"'")) for each in attributes}
    element = elements.find(name, values)
    unclosed = HIDDEN if name in elements.rows else elements.single
    excluded = elements.is_excluded(name, values)
    if excluded and kind == "single":
        element = elements.find(name)
    pieces = () if excluded or not attributes else attribute_pieces(tag, name, attributes, values, elements, encode)
    return Tag(encode(tag), name, kind, element, pieces, unclosed)


def attribute_pieces(
    tag: str,
    name: str,
    attributes: Iterable[Attribute],
    values: Mapping[str, str],
    elements: Elements,
    encode: Callable[[str], str] = str,
) -> tuple[Piece, ...]:
    """The pieces of a tag: the values of its attributes that people read are separate texts."""
    pieces: list[Piece] = []
    position = 0
    for attribute in attributes:
        if elements.is_text(name, attribute.name, values):
            quote = tag[attribute.start] if tag[attribute.start] in "\"'" else ""
            start, end = attribute.start + len(quote), attribute.end - len(quote)
            pieces += [encode(tag[position:start]), _value(tag[start:end], quote, encode)]
            position = end
    return (*pieces, encode(tag[position:])) if pieces else ()


def _value(raw: str, quote: str, encode: Callable[[str], str]) -> Inner:
    """The value of an attribute; one without quotation marks is one segment, and gets them if it changes."""
    items = tuple(
        TextItem(encode(each.raw), each.text)
        if isinstance(each, TextItem)
        else Fixed((encode(raw_text([each])),), WORD)
        for each in template_items(raw, text_items)
    )
    written = partial(_encode_value, quote or '"', encode)
    quoted = encode('"')
    return Inner(items, written, None if quote else lambda new, old: f"{quoted}{new}{quoted}", whole=not quote)


def _encode_value(quote: str, encode: Callable[[str], str], text: str) -> str:
    return encode(escape(text, quote=False).replace(quote, escape(quote)))


_TAG = re.compile(
    r"""<!--(?:-?>|(?s:.*?)(?:-->|\Z))|<(/?)([A-Za-z][\w.:-]*+|\d++)([^<>"']*+(?:(?:"[^"<>]*+"|'[^'<>]*+')[^<>"']*+)*)>"""
    r"""|<[A-Za-z][^<>]{0,1000}+<[^<>]{0,1000}+>"""  # a tag that browsers read, with < in it
)

ReadText: TypeAlias = Callable[[str], Iterable[Item]]

_TEMPLATE = regex.compile(TEMPLATE)


def hide_templates(text: str) -> str:
    """A text of the same length, in which U+FFFD replaces code of templates, which may be inside of tags."""
    return _TEMPLATE.sub(lambda match: "\ufffd" * len(match[0]), text)


def template_items(text: str, read_text: ReadText) -> Iterator[Item]:
    """The items of a text between tags: code of templates is a word, and the others are those of `read_text`."""
    position = 0
    for match in _TEMPLATE.finditer(text):
        yield from read_text(text[position : match.start()])
        yield Fixed((match[0],), WORD)
        position = match.end()
    yield from read_text(text[position:])


def string_items(
    text: str, read_text: ReadText, elements: Elements, is_html: bool = False, encode: Callable[[str], str] = str
) -> list[Item]:
    """The items of a string of a program, such as "Click <b>here</b>".

    A pair of tags may have any name, because programs define other tags, such as `<0>` and `<link>`. A `<` of no tag is
    text, and so is a tag such as `<file>` that is not closed, unless the string is HTML.

    Args:
        text: The string.
        read_text: The items of a text between tags.
        elements: What the elements that have rows do.
        is_html: Whether tags that are not closed are also tags.
        encode: What the file contains for a tag.
    """
    tags = list(_TAG.finditer(hide_templates(text)))
    edges = (CodeEdge(index, tag[2].lower(), not tag[1]) for index, tag in enumerate(tags) if _is_edge(tag))
    closings = match_edges(edges)
    paired = {*closings, *closings.values()}
    events: list[Event] = []
    position = 0
    for index, tag in enumerate(tags):
        if is_html or index in paired or not _is_edge(tag) or tag[2].lower() in UNCLOSED:
            raw = text[tag.start() : tag.end()]
            events += [
                *read_text(text[position : tag.start()]),
                _string_tag(raw, tag, index in paired, elements, encode),
            ]
            position = tag.end()
    return fold_tags([*events, *read_text(text[position:])])


def _is_edge(tag: re.Match[str]) -> bool:
    return tag[2] is not None and not tag[3].endswith("/")


def _string_tag(
    raw: str, tag: re.Match[str], is_paired: bool, elements: Elements, encode: Callable[[str], str]
) -> Event:
    """A tag of a string; also a comment, and a tag that contains another. In `raw`, templates are not hidden."""
    if tag[2] is None:
        return Fixed((encode(raw),))
    name = tag[2].lower()
    kind: Literal["opening", "closing", "single"] = "closing" if tag[1] else "opening" if is_paired else "single"
    if kind == "single" and _is_edge(tag) and name in elements.rows and not elements.rows[name].kept:
        kind = "opening"
    return tag_event(raw, name, kind, elements, encode)
