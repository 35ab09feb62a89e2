"""Marks on a text, such as tags and styles, and their places in its translation."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragoman.documents.segment import TranslatedSegment
from dragoman.text.link import Link

_WORD = re.compile(r"\S+")


class Mark(NamedTuple):
    """A marked part of a text, from `start` up to but not including `end`; a point if they are equal.

    `number` identifies the mark. `parent` is the number of the mark that directly encloses this one.
    """

    start: int
    end: int
    number: int
    parent: int | None = None


class Edge(NamedTuple):
    """Where a mark opens or closes; a point opens and closes at once."""

    number: int
    opens: bool


class _Part(NamedTuple):
    """A part of a translation, and the parts of the source that it translates."""

    start: int
    end: int
    sources: list[tuple[int, int]]


def place_marks(marks: Sequence[Mark], source: str, translated: TranslatedSegment) -> list[Mark]:
    """The marks on the translation of a text, in the order in which they open; none is lost.

    A mark goes around the words that translate the words in it, and marks stay within their parents. Marks with the
    same parent do not overlap. A mark around a whole text stays around all of it, and points keep their order.

    Args:
        marks: The marks on the source, each after its parent.
        source: The source.
        translated: The translation; without links, places are estimated from the lengths.
    """
    children: dict[int | None, list[Mark]] = defaultdict(list)
    for mark in marks:
        children[mark.parent].append(mark)
    parts = _read_parts(source, translated.text, translated.links or _links_by_order(source, translated.text))
    start, end = len(source) - len(source.lstrip()), len(source.rstrip())
    waiting: list[tuple[Mark, Mark, int | None]] = [(Mark(start, end, -1), Mark(0, len(translated.text), -1), None)]
    placed: list[Mark] = []
    while waiting:
        before, after, number = waiting.pop()
        if number is not None:
            placed.append(after)
        inside = _place_siblings(children[number], before, after, parts, source)
        waiting += [(mark, place, mark.number) for mark, place in reversed(inside)]
    return placed


def interleave(text: str, marks: Sequence[Mark]) -> Iterator[str | Edge]:
    """The text with the edges of marks, which are in the order in which they open."""
    position, opened = 0, list[Mark]()
    for mark in [*marks, Mark(len(text), len(text), -1)]:
        while opened and opened[-1].number != mark.parent:
            closing = opened.pop()
            yield text[position : closing.end]
            yield Edge(closing.number, opens=False)
            position = closing.end
        yield text[position : mark.start]
        position = mark.start
        if mark.number >= 0:
            yield Edge(mark.number, opens=True)
            opened.append(mark)


def _read_parts(source: str, target: str, links: Sequence[Link]) -> list[_Part]:
    """The linked parts of a translation, in order; copied words are divided into characters."""
    sources: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for link in links:
        sources[link.target_start, link.target_end].append((link.source_start, link.source_end))
    parts = []
    for (start, end), linked in sorted(sources.items()):
        copied = next((first for first, last in linked if source[first:last] == target[start:end]), None)
        if copied is None:
            parts.append(_Part(start, end, linked))
        else:
            each = ((start + index, copied + index) for index in range(end - start))
            parts += [_Part(place, place + 1, [(first, first + 1)]) for place, first in each]
    return parts


def _links_by_order(source: str, target: str) -> list[Link]:
    """Links between words at the same place in both texts, relative to their lengths."""
    ours = [match.span() for match in _WORD.finditer(source)]
    theirs = [match.span() for match in _WORD.finditer(target)]
    if not ours:
        return []
    return [Link(*ours[index * len(ours) // len(theirs)], *span) for index, span in enumerate(theirs)]


def _place_siblings(
    siblings: Sequence[Mark], before: Mark, after: Mark, parts: Sequence[_Part], source: str
) -> list[tuple[Mark, Mark]]:
    """Marks of the source and their places in the translation, within the place `after` of their parent `before`."""
    inside = [part for part in parts if after.start <= part.start and part.end <= after.end]
    free = [True] * len(inside)
    placed: dict[int, Mark] = {}
    for mark in sorted(siblings, key=lambda each: each.start - each.end):
        if mark.start <= before.start and mark.end >= before.end and mark.start < mark.end and not placed:
            placed[mark.number] = mark._replace(start=after.start, end=after.end)
            free = [False] * len(inside)
        elif found := _find_place(mark, inside, free):
            first, last = found
            free[first : last + 1] = [False] * (last + 1 - first)
            placed[mark.number] = mark._replace(start=inside[first].start, end=inside[last].end)
    ranges, position = sorted(placed.values()), after.start
    for mark in siblings:
        if mark.number not in placed:
            position = max(position, _find_point(mark.start, before, after, inside, source))
            for each in ranges:
                position = each.end if each.start < position < each.end else position
            placed[mark.number] = mark._replace(start=position, end=position)
    order = {mark.number: index for index, mark in enumerate(siblings)}
    pairs = [(mark, placed[mark.number]) for mark in siblings]
    return sorted(pairs, key=lambda pair: (pair[1].start, pair[1].end, order[pair[0].number]))


def _find_place(mark: Mark, parts: Sequence[_Part], free: Sequence[bool]) -> tuple[int, int] | None:
    """The first and the last of the consecutive free parts that translate the marked text best; None if none does."""
    shares = [_share(mark, part) if free[index] else 0.0 for index, part in enumerate(parts)]
    best, best_gain, gain, first = None, 0.0, 0.0, 0
    for index, (part, share) in enumerate(zip(parts, shares, strict=True)):
        if gain <= 0 or not free[index]:
            gain, first = 0.0, index
        if free[index]:
            gain += (share - 0.5) * (part.end - part.start)
            if gain > best_gain:
                best, best_gain = (first, index), gain
    if best is None and max(shares, default=0.0) > 0:
        index = shares.index(max(shares))
        best = index, index
    return best


def _share(mark: Mark, part: _Part) -> float:
    """The share of the source of a part that is marked."""
    marked = sum(max(0, min(end, mark.end) - max(start, mark.start)) for start, end in part.sources)
    return marked / max(1, sum(end - start for start, end in part.sources))


def _find_point(point: int, before: Mark, after: Mark, parts: Sequence[_Part], source: str) -> int:
    """The place of a point: next to the translation of the word that it touches, or else before the next word."""
    if point <= before.start:
        return after.start
    if point >= before.end:
        return after.end
    if not source[point - 1].isspace() and source[point].isspace():
        last = max((end for part in parts for _, end in part.sources if end <= point), default=None)
        return max((part.end for part in parts for _, end in part.sources if end == last), default=after.start)
    first = min((start for part in parts for start, _ in part.sources if start >= point), default=None)
    return min((part.start for part in parts for start, _ in part.sources if start == first), default=after.end)
