"""A text in a file, perhaps with marks inside it, that is translated sentence by sentence."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import NamedTuple, TypeAlias

from dragoman.documents.marks import Mark, place_marks
from dragoman.documents.segment import Segment
from dragoman.documents.sentences import (
    WholeLines,
    add_stops,
    find_text_spans,
    is_translatable,
    join_with_places,
    trimmed,
)
from dragoman.languages.codes import primary_language
from dragoman.languages.sentence_marks import ORDINAL_POINTS
from dragoman.markup.items import Fixed, Inner, Item, Piece, TextItem, plain_text, raw_pieces, resolve_breaks, tidy
from dragoman.text.translation import Translation

Part: TypeAlias = "str | Passage | FileString"
"""A part of a file: kept as it is, or translated."""

WriteParts: TypeAlias = Callable[[Sequence[Part]], str]
"""What the file contains for parts, with their translations; called in the order in which the parts have segments."""


def _keep(new: str, old: str) -> str:
    return new


@dataclass(frozen=True)
class Writing:
    """The language of a text, and how the file writes a translation.

    Attributes:
        language: A code, such as "de".
        encode: What the file contains for a text, for example `&amp;` for `&`.
        finish: What a changed passage becomes, given its translation with tags and what the file contained.
        whole_lines: Whether texts are not split into sentences, or which are not.
        whole: Whether a text is one segment.
    """

    language: str
    encode: Callable[[str], str]
    finish: Callable[[str, str], str] = _keep
    whole_lines: WholeLines = False
    whole: bool = False

    def split(self, text: str) -> list[tuple[int, int]]:
        """The start and the end of each segment of a text."""
        return trimmed(text) if self.whole else list(find_text_spans(text, self.language, self.whole_lines))

    def inside(self, inner: Inner) -> Writing:
        """How a text inside of this one is written."""
        finish = inner.finish or (_keep if inner.encode else self.finish)
        return replace(self, encode=inner.encode or self.encode, finish=finish, whole=inner.whole)


def to_parts(items: Sequence[Item], writing: Writing) -> list[Part]:
    """The parts of a stretch of a file: a passage for each text between items that end sentences."""
    parts: list[Part] = []
    stretch: list[Item] = []
    for item in resolve_breaks(items):
        if isinstance(item, Fixed) and item.element.ends:
            parts += [*_to_passage(stretch, writing), *_inner_parts(item.pieces, writing)]
            stretch = []
        else:
            stretch.append(item)
    return parts + _to_passage(stretch, writing)


def _to_passage(items: Sequence[Item], writing: Writing) -> list[Part]:
    """One passage, and the kept items before and after it."""
    if not is_translatable(plain_text(items)):
        return _inner_parts(list(raw_pieces(items)), writing)
    texts = [
        index
        for index, item in enumerate(items)
        if (isinstance(item, Fixed) and item.element.word) or plain_text([item]).strip()
    ]
    first, end = texts[0], texts[-1] + 1
    before, after = (_inner_parts(list(raw_pieces(each)), writing) for each in (items[:first], items[end:]))
    return [*before, Passage(items[first:end], writing), *after]


def _inner_parts(pieces: Sequence[Piece], writing: Writing) -> list[Part]:
    """The parts of something that is kept."""
    return [
        part
        for piece in pieces
        for part in ([piece] if isinstance(piece, str) else to_parts(piece.items, writing.inside(piece)))
    ]


def original(parts: Sequence[Part]) -> str:
    """What the file contains for these parts."""
    return "".join(part if isinstance(part, str) else part.original for part in parts)


class FileString:
    """A string whose parts are translated; if none changes, it stays what the file contains.

    Args:
        raw: What the file contains.
        parts: The parts of the string itself.
        encode: What the file contains for a changed string.
    """

    segments: Sequence[Segment] = ()

    def __init__(self, raw: str, parts: Sequence[Part], encode: Callable[[str], str]) -> None:
        self.original, self._parts, self._encode = raw, parts, encode
        self._text = original(parts)

    def nested(self) -> Iterator[Part]:
        """The parts in order."""
        return iter(self._parts)

    def write(self, translations: Sequence[Translation], nested: WriteParts) -> str:
        """What the file contains; `nested` writes the parts."""
        text = nested(self._parts)
        return self.original if text == self._text else self._encode(text)


class PassageText:
    """A text with passages to translate, whose other parts are kept."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self.segments = list(find_segments(parts))

    def assemble(self, translations: Sequence[Translation]) -> str:
        """The text with the translation of each segment."""
        remaining = iter(translations)
        written = write_parts(self._parts, remaining)
        assert next(remaining, None) is None, "one translation for each segment"
        return written


def find_segments(parts: Sequence[Part]) -> Iterator[Segment]:
    """The segments of parts, in the order in which they are written."""
    for part in parts:
        if not isinstance(part, str):
            yield from part.segments
            yield from find_segments(list(part.nested()))


def write_parts(parts: Sequence[Part], translations: Iterator[Translation]) -> str:
    """What the file contains for parts whose segments have the next translations."""
    return "".join(
        part
        if isinstance(part, str)
        else part.write([next(translations) for _ in part.segments], lambda inner: write_parts(inner, translations))
        for part in parts
    )


_PLACEHOLDER = re.compile(r"\{\d+\}")
_NO_STYLE = ("", "")


@dataclass(slots=True)
class _Node:
    """A marked part of a text.

    Attributes:
        mark: Where it is; its number is the index of the node.
        start: What is written before it, or for it if it is fixed.
        end: What is written after it.
        style: What text directly inside it is surrounded by.
        name: The placeholder that stands for it in the text.
        counts: Whether it stands for a number.
        is_break: Whether it breaks a line, and stands for a space.
        is_hollow: Whether it is left out if nothing is inside of it.
        children: The numbers of the nodes inside it.
    """

    mark: Mark
    start: Sequence[Part] = ()
    end: Sequence[Part] = ()
    style: tuple[str, str] = _NO_STYLE
    name: str = ""
    counts: bool = False
    is_break: bool = False
    is_hollow: bool = False
    children: list[int] = field(default_factory=list)


class _Copy(NamedTuple):
    """A part of a translation, from `start` up to `end`, that is as it was from `source` on."""

    start: int
    end: int
    source: int


class Passage:
    """A text with marks. What does not change in it stays what the file contains."""

    def __init__(self, items: Sequence[Item], writing: Writing) -> None:
        self._writing = writing
        self._inner: dict[int, list[Part]] = {}
        self._parts = self._parts_of(list(raw_pieces(items)))
        items = tidy(items, _new_names(plain_text(items)))
        self._text = plain_text(items)
        self._raw: list[str | None] = []
        """What the file contains for each character; None if this is only known for several characters."""
        self._nodes: list[_Node] = []
        """The whole text, and the marked parts in it, each after the one around it."""
        self._add_group(_Node(Mark(0, 0, 0)), items)
        self._marks = [node.mark for node in self._nodes[1:]]
        self._spans = [(start, end) for start, end in self._split(writing) if is_translatable(self._text[start:end])]
        self._inner.clear()
        edges = sorted({edge for mark in self._marks for edge in (mark.start, mark.end)})
        self.segments = [
            Segment(self._text[start:end], aligned=bisect_right(edges, start) < bisect_left(edges, end))
            for start, end in self._spans
        ]

    @property
    def original(self) -> str:
        """What the file contains."""
        return original(self._parts)

    def _split(self, writing: Writing) -> list[tuple[int, int]]:
        """The start and the end of each segment; none ends after an ordinal number, as in "den {1}. Hund"."""
        spans = writing.split(self._text)
        if primary_language(writing.language) not in ORDINAL_POINTS:
            return spans
        ordinals = tuple(f"{node.name}." for node in self._nodes if node.counts)
        joined: list[tuple[int, int]] = []
        for start, end in spans:
            if joined and self._text[slice(*joined[-1])].endswith(ordinals):
                start = joined.pop()[0]
            joined.append((start, end))
        return joined

    def nested(self) -> Iterator[Part]:
        """The texts in marks, in order."""
        return (part for part in self._parts if not isinstance(part, str))

    def write(self, translations: Sequence[Translation], nested: WriteParts) -> str:
        """What the file contains for the translation of each segment; `nested` writes the texts in marks."""
        if all(new.text == segment.text for new, segment in zip(translations, self.segments, strict=True)):
            return nested(self._parts)
        translations = add_stops(self._text, self._spans, translations)
        text, places = join_with_places(self._text, self._spans, [each.text for each in translations])
        found = _find_names(text, {node.name for node in self._nodes if node.name})
        spans = list(found.values())
        marks = {
            number: _outside_names(mark, spans)
            for number, mark in self._place(translations, places).items()
            if self._nodes[number].name not in found
        }
        written, ends = self._write_marks(nested)
        names = {node.name: written[node.mark.number] for node in self._nodes if node.name in found}
        writer = _Writer(self._nodes, self._raw, self._writing.encode, text, marks, written, ends, names)
        writer.copies = list(self._copies(text, translations, places))
        return self._writing.finish("".join(writer.write(0, (0, len(text)))), self.original)

    def _write_marks(self, nested: WriteParts) -> tuple[list[str], list[str]]:
        """What is written at the start and at the end of each node."""
        starts, ends = [""] * len(self._nodes), [""] * len(self._nodes)

        def write(number: int) -> None:
            node = self._nodes[number]
            starts[number] = nested(node.start) if node.start else ""
            for child in node.children:
                write(child)
            ends[number] = nested(node.end) if node.end else ""

        write(0)
        return starts, ends

    def _parts_of(self, pieces: Sequence[Piece]) -> list[Part]:
        """Pieces as parts; the same pieces always give the same parts."""
        parts: list[Part] = []
        for piece in pieces:
            if isinstance(piece, str):
                parts.append(piece)
            else:
                if id(piece) not in self._inner:
                    self._inner[id(piece)] = _inner_parts([piece], self._writing)
                parts += self._inner[id(piece)]
        return parts

    def _add_group(self, node: _Node, items: Sequence[Item]) -> None:
        """Add a node for items, which begin at the end of the text that was read."""
        self._nodes.append(node)
        sizes = Counter[tuple[str, str]]()
        for item in items:
            if isinstance(item, TextItem):
                sizes[item.style] += len(item.text)
        node.style = max(sizes, key=lambda style: sizes[style], default=_NO_STYLE)
        before = ""  # what the file contains between the last character and the next one
        styled: _Node | None = None  # the last node, if it is a text in another style
        for item in items:
            child = Mark(len(self._raw), len(self._raw), len(self._nodes), node.mark.number or None)
            if isinstance(item, TextItem):
                if not item.text:
                    before += item.raw
                    continue
                self._raw += _raw_characters(item, before)
                if item.style == node.style:
                    styled = None
                elif styled and styled.style == item.style:
                    styled.mark = styled.mark._replace(end=len(self._raw))
                else:
                    styled = self._add(node, _Node(child._replace(end=len(self._raw)), style=item.style))
                before = ""
                continue
            before, styled = self._end_characters(before), None
            if isinstance(item, Fixed):
                child = child._replace(clings=item.element.clings)
                is_break = item.element.wraps
                parts, counts = self._parts_of(item.pieces), item.element.counts
                self._add(node, _Node(child, parts, name=item.name, counts=counts, is_break=is_break))
                self._raw += [None] * len(item.name)
            else:
                node.children.append(child.number)
                end = self._parts_of(item.end) if item.changed_end is None else [item.changed_end]
                self._add_group(
                    _Node(child, self._parts_of(item.start), end, is_hollow=item.element.hollow), item.items
                )
        self._end_characters(before)
        node.mark = node.mark._replace(end=len(self._raw))

    def _add(self, parent: _Node, node: _Node) -> _Node:
        parent.children.append(node.mark.number)
        self._nodes.append(node)
        return node

    def _end_characters(self, raw: str) -> str:
        """Add what the file contains after the last character to it; nothing remains of that."""
        if raw and self._raw and self._raw[-1] is not None:
            self._raw[-1] += raw
        return ""

    def _copies(self, text: str, translations: Sequence[Translation], places: Sequence[int]) -> Iterator[_Copy]:
        """The parts of the translation that are as they were: between sentences, and sentences that do not change."""
        last = 0
        for (start, end), translated, place in zip(self._spans, translations, places, strict=True):
            yield _Copy(place - (start - last), place, last)
            if translated.text == self._text[start:end]:
                yield _Copy(place, place + end - start, start)
            last = end
        yield _Copy(len(text) - (len(self._text) - last), len(text), last)

    def _place(self, translations: Sequence[Translation], places: Sequence[int]) -> dict[int, Mark]:
        """Where the marks are in the translation, given where the translation of each sentence begins in it."""
        placed: dict[int, Mark] = {}
        for mark in self._regions(translations, places):
            known = placed.get(mark.number, mark)
            placed[mark.number] = mark._replace(start=min(known.start, mark.start), end=max(known.end, mark.end))
        return placed

    def _regions(self, translations: Sequence[Translation], places: Sequence[int]) -> Iterator[Mark]:
        """The marks in each sentence, and between sentences, where nothing changes."""
        reader = _MarkReader(self._marks)
        source = target = 0
        for (start, end), translated, place in zip(self._spans, translations, places, strict=True):
            yield from _moved(reader.read(source, start), target)
            inside, text = reader.read(start, end), self._text[start:end]
            yield from _moved(inside if translated.text == text else place_marks(inside, text, translated), place)
            source, target = end, place + len(translated.text)
        yield from _moved(reader.read(source, len(self._text)), target)


def _raw_characters(item: TextItem, before: str) -> Iterator[str | None]:
    """What the file contains for each character of a text, with what is before the first one."""
    known: Sequence[str | None] = [None] * len(item.text)
    if item.style == _NO_STYLE and item.raw == item.text:
        known = item.raw
    elif item.style == _NO_STYLE and len(item.text) == 1:
        known = [item.raw]
    for index, raw in enumerate(known):
        yield f"{before}{raw}" if before and not index and raw is not None else raw


@dataclass(slots=True)
class _Writer:
    """Writes a translation with its marks.

    Attributes:
        nodes: The marked parts.
        raw: What the file contains for each character of the source.
        encode: What the file contains for a text.
        text: The translation.
        marks: The place of each mark in it, by number, except of placeholders. Marks that cross are shortened.
        written: What is written at the start of each node.
        ends: What is written at the end of each node.
        names: What the placeholders in the text stand for; each is written once.
        copies: The parts of the translation that are as they were.
    """

    nodes: Sequence[_Node]
    raw: Sequence[str | None]
    encode: Callable[[str], str]
    text: str
    marks: Mapping[int, Mark]
    written: Sequence[str]
    ends: Sequence[str]
    names: dict[str, str]
    copies: Sequence[_Copy] = ()

    def write(self, number: int, span: tuple[int, int]) -> Iterator[str]:
        """A node around a part of the text."""
        node, (position, end) = self.nodes[number], span
        if node.is_hollow and not self.text[position:end].strip() and not node.children:
            yield self.text[position:end]
            return
        yield self.written[number]
        for child, (child_start, child_end) in self._ordered(node.children, span):
            yield from self._styled(position, child_start, node.style)
            yield from self.write(child, (child_start, child_end))
            position = max(position, child_end)
            if self.nodes[child].is_break and position < end and self.text[position] == " ":
                position += 1
        yield from self._styled(position, end, node.style)
        yield self.ends[number]

    def _styled(self, start: int, end: int, style: tuple[str, str]) -> Iterator[str]:
        """A part of the text in a style, and what the placeholders in it stand for."""
        for part in re.split(r"(\{\d+\})", self.text[start:end]) if self.names else [self.text[start:end]]:
            if part in self.names:
                yield self.names[part]
                self.names[part] = ""
            elif part:
                yield f"{style[0]}{self._encoded(start, start + len(part))}{style[1]}"
            start += len(part)

    def _encoded(self, start: int, end: int) -> str:
        """What the file contains for a part of the text: for what does not change, the same as before."""
        encoded: list[str] = []
        index = bisect_right(self.copies, start, key=lambda copy: copy.end)
        while start < end:
            copy = self.copies[index] if index < len(self.copies) else _Copy(end, end, 0)
            if copy.start > start:
                encoded.append(self.encode(self.text[start : min(copy.start, end)]))
                start = min(copy.start, end)
            if start < (last := min(copy.end, end)):
                source = copy.source + start - copy.start
                known = self.raw[source : source + last - start]
                raw = [each for each in known if each is not None]
                encoded.append("".join(raw) if len(raw) == len(known) else self.encode(self.text[start:last]))
                start = last
            index += 1
        return "".join(encoded)

    def _ordered(self, numbers: Sequence[int], span: tuple[int, int]) -> list[tuple[int, tuple[int, int]]]:
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


class _MarkReader:
    """Reads the marks of a text, each after its parent, region by region.

    Args:
        marks: The marks in the order in which they start.
    """

    def __init__(self, marks: Sequence[Mark]) -> None:
        self._marks = marks
        self._next = 0
        self._open: list[Mark] = []

    def read(self, start: int, end: int) -> list[Mark]:
        """The marks in the next region, relative to its start. A point at its end is in it if its parent is."""
        inside = self._open
        numbers: set[int | None] = {None, *(mark.number for mark in inside)}
        while self._next < len(self._marks):
            mark = self._marks[self._next]
            if mark.start >= end and (mark.end != end or mark.parent not in numbers):
                break
            inside.append(mark)
            numbers.add(mark.number)
            self._next += 1
        self._open = [mark for mark in inside if mark.end > end]
        return [mark._replace(start=max(mark.start, start) - start, end=min(mark.end, end) - start) for mark in inside]


def _moved(marks: Sequence[Mark], offset: int) -> Iterator[Mark]:
    for mark in marks:
        yield mark._replace(start=mark.start + offset, end=mark.end + offset)


def _new_names(text: str) -> Iterator[str]:
    """{1}, {2} and so on, without those that the text contains."""
    used = set(_PLACEHOLDER.findall(text))
    return (name for number in count(1) if (name := f"{{{number}}}") not in used)


def _find_names(text: str, names: Collection[str]) -> dict[str, tuple[int, int]]:
    """Where each of the names that a translation contains is, in order; only the first time that it occurs."""
    found: dict[str, tuple[int, int]] = {}
    for match in _PLACEHOLDER.finditer(text):
        if match[0] in names:
            found.setdefault(match[0], match.span())
    return found


def _outside_names(mark: Mark, spans: Sequence[tuple[int, int]]) -> Mark:
    """The mark, whose start and end move to the end of a placeholder that they are inside of."""

    def move(position: int) -> int:
        index = bisect_right(spans, (position,)) - 1
        return max(position, spans[index][1]) if index >= 0 and spans[index][0] < position else position

    return mark._replace(start=move(mark.start), end=move(mark.end))
