"""The marks of a passage as a tree, and how a translation is written with them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from dragoman.documents.formats.items import Fixed, Item, Part, TextItem, plain_text
from dragoman.documents.marks import Mark

_NO_STYLE = ("", "")


@dataclass(slots=True)
class MarkNode:
    """A marked part of a text.

    Attributes:
        mark: Where it is; its number is the index of the node.
        start: What is written before it.
        end: What is written after it.
        style: What text directly inside it is surrounded by.
        parts: What is written instead of text.
        name: The placeholder that stands for it in the text.
        children: The numbers of the nodes inside it.
    """

    mark: Mark
    start: str = ""
    end: str = ""
    style: tuple[str, str] = _NO_STYLE
    parts: tuple[Part, ...] = ()
    name: str = ""
    children: list[int] = field(default_factory=list)


class MarkTree:
    """The groups and fixed items of a passage, and its texts in another style than most of the text around them."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.nodes: list[MarkNode] = []
        self._add_group(MarkNode(Mark(0, 0, 0)), items)

    @property
    def marks(self) -> list[Mark]:
        """All marks except that of the whole text."""
        return [node.mark for node in self.nodes[1:]]

    def write(
        self,
        text: str,
        marks: Mapping[int, Mark],
        encode: Callable[[str], str],
        nested: Callable[[Sequence[Part]], str],
    ) -> str:
        """A translation with its marks. A placeholder in it becomes what it stands for.

        Args:
            text: The translation.
            marks: The place of each mark in it, by number, except of placeholders. Marks that cross are shortened.
            encode: What is written for a text.
            nested: What is written for the parts of fixed items, called in the order of the source.
        """
        fixed = {number: nested(node.parts) for number, node in enumerate(self.nodes) if node.parts}
        named = {self.nodes[number].name: written for number, written in fixed.items() if number not in marks}
        return "".join(self._write(0, (0, len(text)), _Writer(text, marks, encode, fixed, named)))

    def _add_group(self, node: MarkNode, items: Sequence[Item]) -> int:
        """Add a node for items, which start where its mark does; returns where they end."""
        self._add(node)
        sizes = Counter[tuple[str, str]]()
        for item in items:
            if isinstance(item, TextItem):
                sizes[item.style] += len(item.text)
        node.style = max(sizes, key=lambda style: sizes[style], default=_NO_STYLE)
        position = node.mark.start
        for item in _joined(items):
            child = Mark(position, position, len(self.nodes), node.mark.number or None)
            if isinstance(item, Fixed):
                node.children.append(self._add(MarkNode(child, parts=item.parts, name=item.name)))
                position += len(item.name)
            elif not isinstance(item, TextItem):
                node.children.append(child.number)
                end = item.end if item.changed_end is None else item.changed_end
                position = self._add_group(MarkNode(child, item.start, end), item.items)
            else:
                position += len(item.text)
                if item.style != node.style:
                    child = child._replace(end=position)
                    node.children.append(self._add(MarkNode(child, style=item.style)))
        node.mark = node.mark._replace(end=position)
        return position

    def _add(self, node: MarkNode) -> int:
        self.nodes.append(node)
        return node.mark.number

    def _write(self, number: int, span: tuple[int, int], writer: _Writer) -> Iterator[str]:
        node, (position, end) = self.nodes[number], span
        if number in writer.fixed:
            yield writer.fixed[number]
            return
        yield node.start
        for child, (child_start, child_end) in writer.place(node.children, span):
            yield from writer.styled(position, child_start, node.style)
            yield from self._write(child, (child_start, child_end), writer)
            position = child_end
        yield from writer.styled(position, end, node.style)
        yield node.end


@dataclass(frozen=True)
class _Writer:
    text: str
    marks: Mapping[int, Mark]
    encode: Callable[[str], str]
    fixed: Mapping[int, str]
    named: dict[str, str]  # what placeholders stand for; each is written once

    def styled(self, start: int, end: int, style: tuple[str, str]) -> Iterator[str]:
        """A part of the translation in a style, and what the placeholders in it stand for."""
        for part in re.split(r"(\{\d+\})", self.text[start:end]) if self.named else [self.text[start:end]]:
            if part in self.named:
                yield self.named[part]
                self.named[part] = ""
            elif part:
                yield f"{style[0]}{self.encode(part)}{style[1]}"

    def place(self, numbers: Sequence[int], span: tuple[int, int]) -> list[tuple[int, tuple[int, int]]]:
        """The nodes in the order of the translation, inside of a span and without overlaps."""
        first, last = span
        placed = [
            [max(first, min(self.marks[number].start, last)), min(last, max(self.marks[number].end, first)), number]
            for number in numbers
            if number in self.marks
        ]
        _separate(placed)
        placed.sort(key=lambda each: (each[0], each[0] != each[1], each[2]))
        return [(number, (start, end)) for start, end, number in placed]


def _separate(spans: Sequence[list[int]]) -> None:
    """Shorten spans that overlap, so that few lose all of their text; empty ones move to the end of the others.

    Args:
        spans: The start, the end and the number of each, which are changed.
    """
    wide = sorted((each for each in spans if each[0] < each[1]), key=lambda each: (each[0], each[2]))
    last = [0, 0]
    for span in wide:
        if span[0] < last[1]:
            if span[0] > last[0]:
                last[1] = span[0]
            else:
                span[0] = last[1]
                span[1] = max(span[1], last[1])
        if span[0] < span[1]:
            last = span
    for point in spans:
        if point[0] == point[1]:
            point[0] = point[1] = next((end for start, end, _ in wide if start < point[0] < end), point[0])


def _joined(items: Sequence[Item]) -> Iterator[Item]:
    """Items in which words of the same style are together, and empty ones are left out."""
    known = [item for item in items if not isinstance(item, TextItem) or item.text]
    for style, group in groupby(known, lambda item: item.style if isinstance(item, TextItem) else None):
        if style is None:
            yield from group
        else:
            text = plain_text(list(group))
            yield TextItem(text, text, style)
