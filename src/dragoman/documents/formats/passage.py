"""A text in a file, perhaps with marks inside it, that is translated sentence by sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.documents.formats.items import Item, Part, is_translatable, plain_text, raw_parts
from dragoman.documents.formats.mark_tree import MarkTree
from dragoman.documents.formats.named_items import name_words
from dragoman.documents.joining import join_translations
from dragoman.documents.marks import Mark, place_marks
from dragoman.documents.placeholder_names import find_names, outside_names
from dragoman.documents.plain_text import find_text_spans
from dragoman.documents.segment import Segment, TranslatedSegment


def _keep(new: str, old: str) -> str:
    return new


@dataclass(frozen=True)
class Writing:
    """The language of a text, and how the file writes a translation.

    Attributes:
        language: A code, such as "de".
        encode: What the file contains for a text, for example `&amp;` for `&`.
        finish: What a changed passage becomes, given its translation with tags and what the file contained.
        whole: Do not split texts into sentences.
    """

    language: str
    encode: Callable[[str], str]
    finish: Callable[[str, str], str] = _keep
    whole: bool = False

    def split(self, text: str) -> list[tuple[int, int]]:
        """The start and the end of each segment of a text."""
        return list(find_text_spans(text, self.language, self.whole))


class Passage:
    """A text with marks. Unchanged sentences give what the file contains."""

    def __init__(self, items: Sequence[Item], writing: Writing) -> None:
        self._items, self._writing = name_words(items), writing
        self._text = plain_text(self._items)
        self._spans = [
            (start, end) for start, end in writing.split(self._text) if is_translatable(self._text[start:end])
        ]
        self._tree = MarkTree(self._items)
        self.segments = [
            Segment(self._text[start:end], any(_is_inside(mark, start, end) for mark in self._tree.marks))
            for start, end in self._spans
        ]

    @property
    def original(self) -> str:
        """What the file contains."""
        return "".join(part if isinstance(part, str) else part.original for part in raw_parts(self._items))

    def nested(self) -> Iterator[Part]:
        """The parts of fixed items, in order."""
        return (part for node in self._tree.nodes for part in node.parts)

    def write(self, translations: Sequence[TranslatedSegment], nested: Callable[[Sequence[Part]], str]) -> str:
        """What the file contains for the translation of each segment; `nested` writes the parts of fixed items."""
        if all(new.text == segment.text for new, segment in zip(translations, self.segments, strict=True)):
            return nested(list(raw_parts(self._items)))
        text = join_translations(self._text, self._spans, [each.text for each in translations])
        names = {node.name: node.mark.number for node in self._tree.nodes if node.name}
        found = find_names(text, names)
        kept, spans = {names[name] for name in found}, list(found.values())
        marks = {
            number: outside_names(mark, spans)
            for number, mark in self._place(text, translations).items()
            if number not in kept
        }
        return self._writing.finish(self._tree.write(text, marks, self._writing.encode, nested), self.original)

    def _place(self, text: str, translations: Sequence[TranslatedSegment]) -> dict[int, Mark]:
        """Where the marks are in the translation."""
        placed: dict[int, Mark] = {}
        for mark in self._regions(text, translations):
            known = placed.get(mark.number, mark)
            placed[mark.number] = mark._replace(start=min(known.start, mark.start), end=max(known.end, mark.end))
        return placed

    def _regions(self, text: str, translations: Sequence[TranslatedSegment]) -> Iterator[Mark]:
        """The marks in each sentence, and between sentences, where nothing changes."""
        open_marks = self._tree.marks
        source = target = 0
        for (start, end), translated in zip(self._spans, translations, strict=True):
            inside, open_marks = _clip(open_marks, source, start)
            yield from _moved(inside, target)
            target += start - source
            if not text.startswith(translated.text, target):
                target += 1  # a space that the source language does not need
            inside, open_marks = _clip(open_marks, start, end)
            yield from _moved(place_marks(inside, self._text[start:end], translated), target)
            source, target = end, target + len(translated.text)
        yield from _moved(_clip(open_marks, source, len(self._text))[0], target)


def _is_inside(mark: Mark, start: int, end: int) -> bool:
    """Whether a mark starts or ends inside of a sentence."""
    return start < mark.start < end or start < mark.end < end


def _clip(marks: Sequence[Mark], start: int, end: int) -> tuple[list[Mark], list[Mark]]:
    """The marks in a region, relative to its start; and the marks that do not end in it.

    A point at the end of the region is in it if its parent is.
    """
    inside: dict[int | None, Mark] = {}
    later = []
    for mark in marks:
        if mark.start < end or (mark.end == end and (mark.parent is None or mark.parent in inside)):
            inside[mark.number] = mark._replace(start=max(mark.start, start) - start, end=min(mark.end, end) - start)
        if mark.end > end or mark.number not in inside:
            later.append(mark)
    return list(inside.values()), later


def _moved(marks: Sequence[Mark], offset: int) -> Iterator[Mark]:
    for mark in marks:
        yield mark._replace(start=mark.start + offset, end=mark.end + offset)
