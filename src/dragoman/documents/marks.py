"""Marks on a text, such as tags and styles, and their places in its translation."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from dragoman.text.link import Link
from dragoman.text.translation import Translation

MAX_DEPTH = 50
"""Marks inside of more than so many others are placed like points."""

COST = 0.3
"""What a character that translates no marked text costs if it is between those that do, which gain 1 - COST each.

It is below 0.5, so that a group of words stays together around a word from elsewhere.
"""

_WORD = re.compile(r"\S+")


class Mark(NamedTuple):
    """A marked part of a text, from `start` up to but not including `end`; a point if they are equal.

    `number` identifies the mark. `parent` is the number of the mark that directly encloses this one. A point that
    `clings` stays at the word before it.
    """

    start: int
    end: int
    number: int
    parent: int | None = None
    clings: bool = False


class _Part(NamedTuple):
    """A part of a translation, and the parts of the source that it translates."""

    start: int
    end: int
    sources: list[tuple[int, int]]

    @property
    def length(self) -> int:
        return self.end - self.start


def place_marks(marks: Sequence[Mark], source: str, translated: Translation) -> list[Mark]:
    """The marks on the translation of a text, in the order in which they open; none is lost.

    A mark goes around the words that translate the words in it, and marks stay within their parents. Marks with the
    same parent do not overlap. A mark around a whole text stays around all of it, and points keep their order. Marks
    inside of `MAX_DEPTH` others become points.

    Args:
        marks: The marks on the source, each after its parent.
        source: The source.
        translated: The translation; without links, places are estimated from the lengths.
    """
    if not marks:
        return []
    children: dict[int | None, list[Mark]] = defaultdict(list)
    for mark in marks:
        children[mark.parent].append(mark)
    placement = _Placement(source, translated)
    start, end = len(source) - len(source.lstrip()), len(source.rstrip())
    waiting = placement.place_siblings(children[None], Mark(start, end, -1), Mark(0, len(translated.text), -1))[::-1]
    placed: list[Mark] = []
    depths: dict[int | None, int] = {None: 0}
    while waiting:
        before, after = waiting.pop()
        placed.append(after)
        depths[after.number] = depth = depths[after.parent] + 1
        if after.number in children:
            siblings = children[after.number]
            if depth >= MAX_DEPTH:
                siblings = [mark._replace(end=mark.start) for mark in siblings]
            waiting += placement.place_siblings(siblings, before, after)[::-1]
    return placed


class _Placement:
    """Places marks one after another, each on parts of the translation that no mark with the same parent has.

    Args:
        source: The source.
        translated: The translation.
    """

    def __init__(self, source: str, translated: Translation) -> None:
        self._source = source
        links = translated.links or _links_by_order(source, translated.text)
        self._parts = _read_parts(source, translated.text, links)
        self._starts = [part.start for part in self._parts]
        self._source_lengths = [sum(end - start for start, end in part.sources) for part in self._parts]
        self._owners: list[int | None] = [None] * len(self._parts)
        """The innermost mark around each part, by its number."""
        self._translating: dict[int, list[int]] = defaultdict(list)
        """The parts that translate each character of the source."""
        for index, part in enumerate(self._parts):
            for start, end in part.sources:
                for character in range(start, end):
                    self._translating[character].append(index)

    def place_siblings(self, siblings: Sequence[Mark], before: Mark, after: Mark) -> list[tuple[Mark, Mark]]:
        """Marks of the source with their places, within the place `after` of their parent `before`, in order."""
        placed: dict[int, Mark] = {}
        for mark in sorted(siblings, key=lambda each: each.start - each.end):
            if mark.start <= before.start and mark.end >= before.end and mark.start < mark.end and not placed:
                placed[mark.number] = self._claim(mark, after.start, after.end)
            elif found := self._find_place(mark):
                placed[mark.number] = self._claim(mark, *found)
        ranges, position = sorted(placed.values()), after.start
        ends = [each.end for each in ranges]
        points = [mark for mark in siblings if mark.number not in placed]
        for mark, place in zip(points, self._find_points(points, before, after), strict=True):
            position = max(position, place)
            index = bisect_right(ends, position)
            if index < len(ranges) and ranges[index].start < position:
                position = ends[index]
            placed[mark.number] = mark._replace(start=position, end=position)
        order = {mark.number: index for index, mark in enumerate(siblings)}
        pairs = [(mark, placed[mark.number]) for mark in siblings]
        return sorted(pairs, key=lambda pair: (pair[1].start, pair[1].end, order[pair[0].number]))

    def _claim(self, mark: Mark, start: int, end: int) -> Mark:
        for index in range(bisect_left(self._starts, start), bisect_left(self._starts, end)):
            self._owners[index] = mark.number
        return mark._replace(start=start, end=end)

    def _find_place(self, mark: Mark) -> tuple[int, int] | None:
        """The free characters that translate the marked text best; None if none does.

        Of all sequences of free parts, it is the one with the most characters that translate marked text, after those
        that do not are subtracted. If none has more of the former, it is the part with the largest share of them.
        """
        characters = range(mark.start, mark.end)
        marked = Counter(index for character in characters for index in self._translating.get(character, ()))
        free = [index for index in marked if self._owners[index] == mark.parent]
        if not free:
            return None
        shares = {index: marked[index] / self._source_lengths[index] for index in free}
        gains = {index: (shares[index] - COST) * self._parts[index].length for index in free}
        best = max(free, key=lambda index: (shares[index], -index))
        first, last = find_best_run(gains, lambda index: self._loss(index, mark.parent)) or (best, best)
        return self._parts[first].start, self._parts[last].end

    def _loss(self, index: int, parent: int | None) -> float:
        """What a part costs that translates no marked text."""
        is_free = index < len(self._parts) and self._owners[index] == parent
        return COST * self._parts[index].length if is_free else math.inf

    def _find_points(self, points: Sequence[Mark], before: Mark, after: Mark) -> Iterator[int]:
        """The places of points: next to the translations of the words that they touch, or else before the next word."""
        ends: dict[int, int] = {before.start: after.start}
        starts: dict[int, int] = {before.end: after.end}
        inside = slice(bisect_left(self._starts, after.start), bisect_left(self._starts, after.end))
        for part in self._parts[inside] if points else ():
            for start, end in part.sources:
                ends[end] = max(ends.get(end, 0), part.end)
                starts[start] = min(starts.get(start, after.end), part.start)
        all_ends, all_starts = sorted(ends), sorted(starts)
        for mark in points:
            point = min(max(mark.start, before.start), before.end)
            touches_last = before.start < point < before.end and (
                not self._source[point - 1].isspace() and self._source[point].isspace()
            )
            if touches_last or mark.clings or point == before.start:
                yield ends[all_ends[bisect_right(all_ends, point) - 1]]
            else:
                yield starts[all_starts[bisect_left(all_starts, point)]]


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
    count = max(len(ours), len(theirs)) if ours and theirs else 0
    places = ((index * len(ours) // count, index * len(theirs) // count) for index in range(count))
    return [Link(*ours[our_place], *theirs[their_place]) for our_place, their_place in places]


def find_best_run(gains: Mapping[int, float], loss: Callable[[int], float]) -> tuple[int, int] | None:
    """The first and the last number of the run with the largest sum, of which the first one is found.

    The time depends on the gains only: a run ends as soon as it loses what it gained.

    Args:
        gains: What some numbers gain; this may be negative.
        loss: What any other number loses; infinity if it must not be in a run.

    Returns:
        None if no run gains anything.
    """
    best, best_gain = None, 0.0
    after_last_run = -1
    for start in sorted(gains):
        if start < after_last_run:
            continue
        index, gain = start, gains[start]
        while gain > 0:
            if gain > best_gain:
                best, best_gain = (start, index), gain
            index += 1
            gain += gains[index] if index in gains else -loss(index)
        after_last_run = index + 1
    return best
