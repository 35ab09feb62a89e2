"""A stretch of text with marks inside, as a tree: text, things that are kept, and groups of both, such as links."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from typing import TypeAlias, TypeGuard

import regex

from dragoman.languages.scripts import begins_small
from dragoman.languages.sentence_marks import SENTENCE_ENDS
from dragoman.markup.elements import CLINGING, HIDDEN, INLINE, Element
from dragoman.text.placeholders import LETTER

Piece: TypeAlias = "str | Inner"
"""A piece of something that is kept: what the file contains, or a separate text."""


@dataclass(frozen=True, slots=True)
class TextItem:
    """Text.

    Attributes:
        raw: What the file contains.
        text: What a reader sees.
        style: What a changed text is surrounded by, such as the tags of a run in a Word document.
    """

    raw: str
    text: str
    style: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Fixed:
    """Something without text of the sentence around it, such as a picture or a footnote.

    Attributes:
        pieces: What the file contains.
        element: What it does to the sentence.
        name: The placeholder that stands for it in the sentence.
    """

    pieces: tuple[Piece, ...]
    element: Element = HIDDEN
    name: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Items between a start and an end, such as a link.

    Attributes:
        start: What is before the items.
        end: What is after the items.
        items: What is between both.
        element: What it does to the sentence.
        changed_end: What is after changed items, if that is something else.
    """

    start: tuple[Piece, ...]
    end: tuple[Piece, ...]
    items: tuple[Item, ...]
    element: Element = INLINE
    changed_end: str | None = None


Item: TypeAlias = TextItem | Fixed | Group


@dataclass(frozen=True, slots=True)
class Inner:
    """A separate text inside of something: a footnote, or the value of an attribute.

    Attributes:
        items: The text.
        encode: What the file contains for a translation, if not the same as around it.
        finish: What the changed text becomes, given what it is and was in the file.
        whole: Whether it is one segment.
    """

    items: tuple[Item, ...]
    encode: Callable[[str], str] | None = None
    finish: Callable[[str, str], str] | None = None
    whole: bool = False


def plain_text(items: Iterable[Item]) -> str:
    """The text of items; of fixed ones, the placeholders."""
    return "".join(
        item.text if isinstance(item, TextItem) else item.name if isinstance(item, Fixed) else plain_text(item.items)
        for item in items
    )


def raw_pieces(items: Iterable[Item]) -> Iterator[Piece]:
    """What the file contains."""
    for item in items:
        if isinstance(item, TextItem):
            yield item.raw
        elif isinstance(item, Fixed):
            yield from item.pieces
        else:
            yield from (*item.start, *raw_pieces(item.items), *item.end)


def raw_text(items: Iterable[Item]) -> str:
    """What the file contains, with separate texts."""
    return "".join(piece if isinstance(piece, str) else raw_text(piece.items) for piece in raw_pieces(items))


_REFERENCE = r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)"  # as in html.unescape
_STRETCH = r"[^& \t\n\r\f]+(?: [^& \t\n\r\f]+)*"  # which a reader sees as it is
_ATOM = re.compile(rf"{_REFERENCE}|(?P<space>[ \t\n\r\f]+)|{_STRETCH}|&")
_ATOM_OF_LINES = re.compile(rf"{_REFERENCE}|(?P<break>\n)|(?P<space>[ \t\r\f]+)|{_STRETCH}|&")


def text_items(raw: str, keeps_lines: bool = False) -> list[TextItem]:
    """The text of HTML or XML between tags: references are characters, and white space is one space."""
    return [
        TextItem(match[0], " " if match["space"] else unescape(match[0]) if match[0].startswith("&") else match[0])
        for match in (_ATOM_OF_LINES if keeps_lines else _ATOM).finditer(raw)
    ]


def resolve_breaks(items: Sequence[Item]) -> list[Item]:
    """The items, in which a line break is a space if the text after it continues in lower case.

    Groups in which a sentence ends are replaced by their items, between their start and their end.
    """
    return list(_flattened(_with_breaks(items, _Following())[0]))


@dataclass(slots=True)
class _Following:
    """What follows an item: whether the next text begins in lower case, and its style."""

    continues: bool = False
    style: tuple[str, str] = ("", "")


def _with_breaks(items: Sequence[Item], following: _Following) -> tuple[list[Item], bool]:
    """The items from the last to the first, and whether a sentence ends among them."""
    found: list[Item] = []
    ends = False
    for item in reversed(items):
        if isinstance(item, Group):
            inner, divided = _with_breaks(item.items, following)
            ends |= divided
            item = replace(item, items=tuple(inner), element=replace(item.element, ends=divided))
        elif isinstance(item, Fixed) and item.element.wraps and following.continues:
            found.append(TextItem("", " ", following.style))
            item = replace(item, element=replace(item.element, ends=False))
            following.continues = False
        elif isinstance(item, Fixed) and item.element.ends:
            ends, following.continues = True, False
        elif isinstance(item, TextItem) and (text := item.text.strip()):
            following.continues, following.style = begins_small(text), item.style
        found.append(item)
    return found[::-1], ends


def _flattened(items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        if isinstance(item, Group) and item.element.ends:
            yield Fixed(item.start)
            yield from _flattened(item.items)
            yield Fixed(item.end)
        else:
            yield item


def tidy(items: Sequence[Item], names: Iterator[str]) -> list[Item]:
    """The items of one text as a translator needs them.

    References to notes are fixed. Words that are left alone, with only a sign between them, are one word, and have a
    placeholder. Of two spaces that follow each other in different items, the second one is no text.

    Args:
        items: The items.
        names: The placeholders to use, in order.
    """
    noted = _with_notes(items, "")
    merged = _merged(list(_decided(noted, plain_text(noted), 0)))
    return _spaced(list(_named(merged, names)), _Before())


_JOIN = re.compile(r"\s*[+/|>→–&-]\s*")
_SIGNS = re.compile(rf"[^\w\s()\[\]{{}}<>„“”‚‘’«»\"'。！？]*|{_JOIN.pattern}")
"""What may be between two words that are left alone and belong together, as in Ctrl+C."""

_NOTE = re.compile(r"\s*(?:[\[(［（]\s*\w{1,4}\s*[\])］）]|[\d,–-]*\d|[*†‡§¶⁰¹²³⁴-⁹]+)\s*")
"""The text of a reference to a note: 55, [1], (a), *, †."""

_BEFORE_NOTE = regex.compile(rf"\S$|[{SENTENCE_ENDS}]\s+$")
_BEFORE_LINK = regex.compile(
    rf"(?:[\p{{L}}\p{{M}},;:、\"'“\p{{Pe}}\p{{Pf}}]|[{SENTENCE_ENDS}--[.]]|(?<!\d)\.)$", regex.VERSION1
)


_LETTER = regex.compile(LETTER, regex.VERSION1)


def _with_notes(items: Sequence[Item], before: str) -> list[Item]:
    """The items, in which references to notes are fixed, given the text before them."""
    found: list[Item] = []
    for index, item in enumerate(items):
        if isinstance(item, Group):
            if item.element.note and _is_note(item, before, plain_text(items[index + 1 : index + 2])):
                item = Fixed(tuple(raw_pieces([item])), CLINGING)
            else:
                item = replace(item, items=tuple(_with_notes(item.items, before)))
        found.append(item)
        before = (before + plain_text([item]))[-5:]
    return found


def _is_note(group: Group, before: str, after: str) -> bool:
    """Whether a group refers to a note; the first number of a fraction does not."""
    if not _NOTE.fullmatch(plain_text(group.items)) or after[:1] in ("/", "\u2044"):
        return False
    pattern = _BEFORE_LINK if group.element.clings else _BEFORE_NOTE
    return group.element.space or bool(pattern.search(before))


def _merged(items: Sequence[Item]) -> list[Item]:
    """The items, in which words that are left alone and belong together are one."""
    found: list[Item] = []
    for item in items:
        if isinstance(item, Group):
            item = replace(item, items=tuple(_merged(item.items)))
        elif _is_word(item):
            place = next((n for n in range(len(found) - 1, -1, -1) if not isinstance(found[n], TextItem)), -1)
            if place >= 0 and _belong_together(found[place], item, plain_text(found[place + 1 :])):
                together = found[place:]
                del found[place:]
                item = Fixed(tuple(raw_pieces([*together, item])), item.element)
        found.append(item)
    return found


def _belong_together(first: Item, second: Fixed, between: str) -> bool:
    """Whether two items are words with only a sign between them; without one that joins, codes may be formatting."""
    if not _is_word(first):
        return False
    pattern = _JOIN if first.element.alone or second.element.alone else _SIGNS
    return pattern.fullmatch(between) is not None


def _is_word(item: Item) -> TypeGuard[Fixed]:
    return isinstance(item, Fixed) and item.element.word


def _named(items: Iterable[Item], names: Iterator[str]) -> Iterator[Item]:
    """The items, with placeholders for those that stand for words."""
    for item in items:
        if isinstance(item, Group):
            yield replace(item, items=tuple(_named(item.items, names)))
        else:
            yield replace(item, name=next(names)) if _is_word(item) else item


def _decided(items: Iterable[Item], text: str, position: int) -> Iterator[Item]:
    """The items, which start at a position of the text; what is only a word if it touches no letter is none there."""
    for item in items:
        length = len(plain_text([item]))
        if isinstance(item, Group):
            yield replace(item, items=tuple(_decided(item.items, text, position)))
        elif _is_word(item) and item.element.alone and _touches_letter(text, position):
            yield replace(item, element=replace(item.element, word=False))
        else:
            yield item
        position += length


def _touches_letter(text: str, position: int) -> bool:
    return bool(_LETTER.match(text[position : position + 1]) or _LETTER.match(text[max(0, position - 1) : position]))


@dataclass(slots=True)
class _Before:
    """What precedes an item: the last character, and whether something without text follows it."""

    character: str = ""
    is_textless: bool = False


def _spaced(items: Sequence[Item], before: _Before) -> list[Item]:
    """The items, but a space after a space is no text; it stays in the file if something is between them."""
    found: list[Item] = []
    for item in items:
        last = found[-1] if found else None
        if isinstance(item, TextItem) and isinstance(last, Fixed) and _needs_space(last, before.character, item.text):
            found[-1] = replace(last, element=replace(last.element, wraps=True))
            found.append(TextItem("", " ", item.style))
        if isinstance(item, Group):
            item = replace(item, items=tuple(_spaced(item.items, before)))
            before.is_textless |= not plain_text(item.items)
        elif isinstance(item, Fixed):
            if item.name:
                before.character = item.name[-1]
            before.is_textless = not item.name
        elif item.text:
            if item.text[0] == before.character == " ":
                first, item = _without_space(item)
                written = first.raw or f"{item.style[0]} {item.style[1]}"
                found.append(Fixed((written,)) if before.is_textless else first)
            if item.text:
                before.character = item.text[-1]
            before.is_textless = False
        found.append(item)
    return found


def _needs_space(last: Fixed, before: str, text: str) -> bool:
    """Whether something that takes up space is between letters of a script with spaces between words."""
    return last.element.space and not last.name and bool(_LETTER.match(before) and _LETTER.match(text[:1]))


def _without_space(item: TextItem) -> tuple[TextItem, TextItem]:
    """The space at the beginning of a text as an item without text, and the rest of the text."""
    if item.text == " ":
        return replace(item, text=""), replace(item, raw="", text="")
    is_plain = item.raw.startswith(" ")  # otherwise it is written in another way, or inside of a run
    return TextItem(" " if is_plain else "", "", item.style), replace(item, raw=item.raw[is_plain:], text=item.text[1:])
