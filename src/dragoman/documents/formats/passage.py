"""A text in a file, perhaps with marks inside it, that is translated sentence by sentence."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.documents.formats.items import Item, Part, attach_spaces, original, plain_text, raw_parts
from dragoman.documents.formats.mark_tree import MarkTree
from dragoman.documents.formats.named_items import name_words
from dragoman.documents.joining import add_stops, join_with_places
from dragoman.documents.marks import Mark, place_marks
from dragoman.documents.placeholder_names import find_names, outside_names
from dragoman.documents.plain_text import find_text_spans
from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.documents.sentences import WholeLines, is_translatable


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
    """

    language: str
    encode: Callable[[str], str]
    finish: Callable[[str, str], str] = _keep
    whole_lines: WholeLines = False

    def split(self, text: str) -> list[tuple[int, int]]:
        """The start and the end of each segment of a text."""
        return list(find_text_spans(text, self.language, self.whole_lines))


class Passage:
    """A text with marks. Unchanged sentences give what the file contains."""

    def __init__(self, items: Sequence[Item], writing: Writing) -> None:
        self._items, self._writing = attach_spaces(name_words(items)), writing
        self._text = plain_text(self._items)
        self._spans = [
            (start, end) for start, end in writing.split(self._text) if is_translatable(self._text[start:end])
        ]
        self._tree = MarkTree(self._items)
        edges = sorted({edge for mark in self._tree.marks for edge in (mark.start, mark.end)})
        self.segments = [
            Segment(self._text[start:end], aligned=bisect_right(edges, start) < bisect_left(edges, end))
            for start, end in self._spans
        ]

    @property
    def original(self) -> str:
        """What the file contains."""
        return original(raw_parts(self._items))

    def nested(self) -> Iterator[Part]:
        """The parts of fixed items, in order."""
        return (part for node in self._tree.nodes for part in node.parts)

    def write(self, translations: Sequence[TranslatedSegment], nested: Callable[[Sequence[Part]], str]) -> str:
        """What the file contains for the translation of each segment; `nested` writes the parts of fixed items."""
        if all(new.text == segment.text for new, segment in zip(translations, self.segments, strict=True)):
            return nested(list(raw_parts(self._items)))
        translations = add_stops(self._text, self._spans, translations)
        text, places = join_with_places(self._text, self._spans, [each.text for each in translations])
        names = {node.name: node.mark.number for node in self._tree.nodes if node.name}
        found = find_names(text, names)
        kept, spans = {names[name] for name in found}, list(found.values())
        marks = {
            number: outside_names(mark, spans)
            for number, mark in self._place(translations, places).items()
            if number not in kept
        }
        return self._writing.finish(self._tree.write(text, marks, self._writing.encode, nested), self.original)

    def _place(self, translations: Sequence[TranslatedSegment], places: Sequence[int]) -> dict[int, Mark]:
        """Where the marks are in the translation, given where the translation of each sentence begins in it."""
        placed: dict[int, Mark] = {}
        for mark in self._regions(translations, places):
            known = placed.get(mark.number, mark)
            placed[mark.number] = mark._replace(start=min(known.start, mark.start), end=max(known.end, mark.end))
        return placed

    def _regions(self, translations: Sequence[TranslatedSegment], places: Sequence[int]) -> Iterator[Mark]:
        """The marks in each sentence, and between sentences, where nothing changes."""
        reader = _MarkReader(self._tree.marks)
        source = target = 0
        for (start, end), translated, place in zip(self._spans, translations, places, strict=True):
            yield from _moved(reader.read(source, start), target)
            inside = place_marks(reader.read(start, end), self._text[start:end], translated)
            yield from _moved(inside, place)
            source, target = end, place + len(translated.text)
        yield from _moved(reader.read(source, len(self._text)), target)


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
