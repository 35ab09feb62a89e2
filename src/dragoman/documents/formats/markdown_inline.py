"""The text of a Markdown paragraph with emphasis, links and code, at the positions in the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from markdown_it.token import Token

from dragoman.documents.formats.codes import Code, fold_codes
from dragoman.documents.formats.items import Fixed, Group, Item, TextItem, to_parts
from dragoman.documents.formats.passage import Passage

_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_TARGET = r"\((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*\))*\)"
_LINK_END = re.compile(rf"\](?:{_TARGET}|\[[^\[\]]*\])?", re.DOTALL)
_IMAGE = re.compile(rf"!\[((?:[^\[\]\\]|\\.|\[[^\[\]]*\])*)\](?:{_TARGET}|\[[^\[\]]*\])?", re.DOTALL)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^>]*?(/?)>")
_VOID = {"br", "img", "hr", "wbr", "input"}
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


class Line(NamedTuple):
    """A line of a paragraph without what precedes it, such as the > of a quotation."""

    start: int
    end: int


class InlineMismatchError(Exception):
    """The file does not contain what the parser returns."""


def inline_items(
    text: str, lines: Sequence[Line], tokens: Sequence[Token], make_passage: Callable[[Sequence[Item]], Passage]
) -> list[Item]:
    """The items of a paragraph.

    Args:
        text: The file.
        lines: The lines of the paragraph.
        tokens: What the parser returns for it.
        make_passage: Makes the passages for descriptions of images.

    Raises:
        InlineMismatchError: They do not agree.
    """
    reader = _Reader(text, lines, tokens, make_passage)
    items = reader.read_until("")
    if reader.position != lines[-1].end:
        raise InlineMismatchError
    return items


class _Reader:
    def __init__(
        self,
        text: str,
        lines: Sequence[Line],
        tokens: Sequence[Token],
        make_passage: Callable[[Sequence[Item]], Passage],
    ) -> None:
        self._text, self._lines, self._make_passage = text, lines, make_passage
        self._tokens = iter(tokens)
        self.position = lines[0].start
        self._ends_title = bool(re.match(_ALERT, text[lines[0].start : lines[0].end]))  # the first line is one

    def read_until(self, closing: str) -> list[Item]:
        """The items up to a closing token."""
        items: list[Item | Code] = []
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
        return _attach_attributes(fold_codes([*items, *self._read_text(text)]))

    def _read_text(self, text: str) -> Iterator[Item]:
        if text:
            yield from _text_items(self._take(text, text.replace("|", "\\|")), text)

    def _read(self, token: Token) -> Iterator[Item | Code]:
        kind = token.type.removesuffix("_open")
        if kind in ("em", "strong", "s"):
            start = self._take(token.markup)
            items = self.read_until(f"{kind}_close")
            yield Group(start, self._take(token.markup), tuple(items))
        elif token.type.startswith("math_inline"):
            yield Fixed((self._take(f"{token.markup}{token.content}{token.markup}"),), is_word=True)
        elif token.type == "footnote_ref":
            yield Fixed((self._match(_FOOTNOTE)[0],))
        elif token.type == "text_special":
            yield TextItem(self._take(token.markup), token.content)
        elif token.type in ("softbreak", "hardbreak"):
            following = next((line.start for line in self._lines if line.start > self.position), self.position)
            raw, self.position = self._text[self.position : following], following
            divides = token.type == "hardbreak" or self._ends_title
            self._ends_title = False
            yield Fixed((raw,), divides=True) if divides else TextItem(raw, " ")
        elif token.type == "link_open":
            yield self._read_link(token)
        elif token.type == "image":
            image = self._match(_IMAGE)
            alt = to_parts([TextItem(image[1], image[1])], self._make_passage)
            yield Fixed(("![", *alt, image[0][2 + len(image[1]) :]), is_word=True)
        elif token.type == "code_inline":
            yield Fixed((self._match(_CODE)[0],), is_word=True)
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
            return Fixed((self._text[start : self.position],), is_word=True)
        self._take("[")
        items = self.read_until("link_close")
        label = self._text[start + 1 : self.position]
        end = self._match(_LINK_END)[0]
        return Group("[", end, tuple(items), f"][{label}]" if end in ("]", "][]") else None)

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
        raw = item.parts[0] if isinstance(item, Fixed) and len(item.parts) == 1 else ""
        if not isinstance(raw, str) or not re.fullmatch(_ATTRIBUTES, raw) or not isinstance(last, Group | Fixed):
            attached.append(item)
        elif isinstance(last, Fixed):
            attached[-1] = replace(last, parts=(*last.parts, raw))
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
        is_label = match["label"] is not None
        yield Fixed(
            (match[0],), divides=is_label, is_word=match[0].startswith(("{{", ":", "+", "[[", "![[")) and not is_label
        )
        position = match.end()
    yield TextItem(raw[position:], raw[position:])


def _tag_item(raw: str) -> Item | Code:
    tag = _TAG.fullmatch(raw)
    if not tag or tag[3] or tag[2].lower() in _VOID:
        return Fixed((raw,), divides=bool(tag and tag[2].lower() in ("br", "hr")))
    return Code(raw, tag[2].lower(), not tag[1])
