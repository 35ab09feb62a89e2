"""The text of a Markdown paragraph with emphasis, links and code, at the positions in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from markdown_it.token import Token

from dragoman.markup.elements import DIVIDER, HTML, MARKDOWN, VOID
from dragoman.markup.items import Fixed, Group, Inner, Item, TextItem
from dragoman.markup.tags import Event, fold_tags, tag_event

_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_TARGET = r"\((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*\))*\)"
_LINK_END = re.compile(rf"\](?:{_TARGET}|\[[^\[\]]*\])?", re.DOTALL)
_IMAGE = re.compile(rf"!\[((?:[^\[\]\\]|\\.|\[[^\[\]]*\])*)\](?:{_TARGET}|\[[^\[\]]*\])?", re.DOTALL)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^>]*?(/?)>")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]")
_VALUE = r"""(?:"[^"{}]*"|'[^'{}]*'|[^\s{}"']+)"""
_ATTRIBUTE = rf"(?:[#.][\w-]+|[\w:@-]+={_VALUE})"
_ATTRIBUTES = rf"\{{:?\s*{_ATTRIBUTE}(?:\s+{_ATTRIBUTE})*\s*\}}"
_ALERT = r"^\[!\w+(?:\|[^\[\]]*)?\][+-]?"
_KEPT = re.compile(
    rf"{_ATTRIBUTES}|\{{[#.:][^{{}}]*\}}"  # attributes
    r"|\{\{[^{}]*\}\}|\{%[^{}]*%\}"  # templates
    r"|!?\[\[[^\[\]\n]+\]\]"  # links in wikis
    r"|^\[[ xX]\](?=\s)|^\[TOC\]$"
    r"|(?<![\w:]):[a-z][\w+-]*:(?![\w:])|\+\+\w+(?:\+\w+)*\+\+"  # emoji, keys
    rf"|(?P<label>{_ALERT}(?=\s|$)|^\*\[[^\[\]]+\]:)"  # alerts of GitHub, abbreviations
)

_WORDS = ("{{", ":", "+", "[[", "![[")
"""What those that stand for words begin with."""


class Line(NamedTuple):
    """A line of a paragraph without what precedes it, such as the > of a quotation."""

    start: int
    end: int


class InlineMismatchError(Exception):
    """The file does not contain what the parser returns."""


def inline_items(text: str, lines: Sequence[Line], tokens: Sequence[Token]) -> list[Item]:
    """The items of a paragraph.

    Args:
        text: The file.
        lines: The lines of the paragraph.
        tokens: What the parser returns for it.

    Raises:
        InlineMismatchError: They do not agree.
    """
    reader = _Reader(text, lines, tokens)
    items = reader.read_until("")
    if reader.position != lines[-1].end:
        raise InlineMismatchError
    return items


class _Reader:
    def __init__(self, text: str, lines: Sequence[Line], tokens: Sequence[Token]) -> None:
        self._text, self._lines = text, lines
        self._tokens = iter(tokens)
        self.position = lines[0].start
        self._ends_title = bool(re.match(_ALERT, text[lines[0].start : lines[0].end]))  # the first line is one

    def read_until(self, closing: str) -> list[Item]:
        """The items up to a closing token."""
        items: list[Event] = []
        text = ""
        for token in self._tokens:
            if token.type == "text":
                text += token.content
                continue
            items += self._read_text(text)
            text = ""
            if token.type == closing:
                break
            items += self._read(token)
        return _attach_attributes(fold_tags([*items, *self._read_text(text)]))

    def _read_text(self, text: str) -> Iterator[Item]:
        if text:
            yield from _text_items(self._take(text, text.replace("|", "\\|")), text)

    def _read(self, token: Token) -> Iterator[Event]:
        kind = token.type.removesuffix("_open")
        if kind in ("em", "strong", "s"):
            start = self._take(token.markup)
            items = self.read_until(f"{kind}_close")
            yield Group((start,), self._take(token.markup), tuple(items))
        elif token.type.startswith("math_inline"):
            yield Fixed((self._take(f"{token.markup}{token.content}{token.markup}"),), MARKDOWN["math"])
        elif token.type == "footnote_ref":
            yield Fixed((self._match(_FOOTNOTE)[0],), MARKDOWN["footnote"])
        elif token.type == "text_special":
            yield TextItem(self._take(token.markup), token.content)
        elif token.type in ("softbreak", "hardbreak"):
            following = next((line.start for line in self._lines if line.start > self.position), self.position)
            raw, self.position = self._text[self.position : following], following
            element = DIVIDER if self._ends_title else MARKDOWN[token.type]
            self._ends_title = False
            yield Fixed((raw,), element) if element.ends else TextItem(raw, " ")
        elif token.type == "link_open":
            yield self._read_link(token)
        elif token.type == "image":
            image = self._match(_IMAGE)
            alt = Inner((TextItem(image[1], image[1]),))
            yield Fixed(("![", alt, image[0][2 + len(image[1]) :]), MARKDOWN["image"])
        elif token.type == "code_inline":
            yield Fixed((self._match(_CODE)[0],), MARKDOWN["code"])
        elif token.type == "html_inline":
            yield _tag_item(self._take(token.content))
        else:
            raise InlineMismatchError

    def _read_link(self, token: Token) -> Item:
        start = self.position
        if token.info == "auto":
            self._take("<")
            self.read_until("link_close")
            self._take(">")
            return Fixed((self._text[start : self.position],), MARKDOWN["autolink"])
        self._take("[")
        items = self.read_until("link_close")
        label = self._text[start + 1 : self.position]
        end = self._match(_LINK_END)[0]
        changed_end = f"][{label}]" if end in ("]", "][]") else None
        return Group(("[",), end, tuple(items), changed_end=changed_end)

    def _take(self, *alternatives: str) -> str:
        """What comes next, if it is one of these."""
        for alternative in alternatives:
            if self._text.startswith(alternative, self.position):
                self.position += len(alternative)
                return alternative
        raise InlineMismatchError

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self._text, self.position, self._lines[-1].end)
        if not match:
            raise InlineMismatchError
        self.position = match.end()
        return match


def _attach_attributes(items: Sequence[Item]) -> list[Item]:
    """The items, in which attributes such as {.red} belong to the link or the picture before them."""
    attached: list[Item] = []
    for item in items:
        last = attached[-1] if attached else None
        raw = item.pieces[0] if isinstance(item, Fixed) and len(item.pieces) == 1 else ""
        if not isinstance(raw, str) or not re.fullmatch(_ATTRIBUTES, raw) or not isinstance(last, Group | Fixed):
            attached.append(item)
        elif isinstance(last, Fixed):
            attached[-1] = replace(last, pieces=(*last.pieces, raw))
        else:
            changed_end = None if last.changed_end is None else last.changed_end + raw
            attached[-1] = replace(last, end=last.end + raw, changed_end=changed_end)
    return attached


def _text_items(raw: str, text: str) -> Iterator[Item]:
    if raw != text:
        yield TextItem(raw, text)
        return
    position = 0
    for match in _KEPT.finditer(raw):
        yield TextItem(raw[position : match.start()], raw[position : match.start()])
        kind = "label" if match["label"] is not None else "template" if match[0].startswith(_WORDS) else "attributes"
        yield Fixed((match[0],), MARKDOWN[kind])
        position = match.end()
    yield TextItem(raw[position:], raw[position:])


def _tag_item(raw: str) -> Event:
    tag = _TAG.fullmatch(raw)
    if not tag:
        return Fixed((raw,))
    name = tag[2].lower()
    return tag_event(raw, name, "closing" if tag[1] else "single" if tag[3] or name in VOID else "opening", HTML)
