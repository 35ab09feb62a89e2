"""Training pairs that are similar to others, and sources with the translations of similar ones."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.lexicon.match_context import MatchContext
from dragoman.lexicon.match_index import MatchIndex
from dragoman.system.progress import Meter, Update
from dragoman.text.id_store import IdPairs, IdStore
from dragoman.text.tokenizer import Tokenizer

SEARCHED = 1_000_000
"""The most pairs that are searched. If there are more, evenly spaced ones are searched."""

WITH_MATCH = 200_000
"""The most pairs that get a match. If there are more, evenly spaced ones do: enough to learn how to use a match."""

COPIES = 50
"""The most pairs of one group that can be a match; the sources of a group differ only in masked spans."""


def find_matches(pairs: IdPairs, tokenizer: Tokenizer, update: Update) -> NDArray[np.int64]:
    """The index of the most similar other pair for each pair, -1 where there is none, (pairs,).

    Pairs with the same source do not count: a translation memory returns their translation without a model. Nor do
    pairs with the same target, or with another translation of the source, from which the model would only learn to
    copy: synthetic pairs often have one. Sources that differ only in masked spans, such as numbers, are similar, and
    the mark of tagged pairs does not count.
    """
    context, count = MatchContext(tokenizer), len(pairs)
    sources = _UnmarkedSources(pairs, tokenizer.vocabulary.bos)
    searched = _spaced(count, SEARCHED)
    groups = _Groups(searched)
    index = MatchIndex(IdStore.of(groups.add(context.number_spans(sources[each].tolist()) for each in searched)))
    translations = {_checksum(sources[each], pairs.target[each]) for each in searched}
    matches = np.full(count, -1, np.int64)
    asked = _spaced(count, WITH_MATCH)
    for place in Meter(update, "searching for similar pairs", len(asked)).track(asked.tolist()):
        others = _OtherPairs(sources, pairs.target, groups, translations, place)
        found = index.find(context.number_spans(sources[place].tolist()), others.excludes)
        if found is not None and (match := others.first(found.index)) is not None:
            matches[place] = match
    return matches


class _UnmarkedSources:
    """The sources of pairs by index, without the mark of tagged pairs."""

    def __init__(self, pairs: IdPairs, mark: int) -> None:
        self._sources, self._mark = pairs.source, mark

    def __getitem__(self, index: int) -> NDArray[Any]:
        source = self._sources[index]
        return source[1:] if len(source) and source[0] == self._mark else source


class _Groups:
    """Pairs by their sources, which differ only in masked spans within a group.

    Args:
        searched: The pairs, by their index.
    """

    def __init__(self, searched: NDArray[np.int64]) -> None:
        self._searched, self._group_of = searched, np.empty(len(searched), np.int64)

    def add(self, sources: Iterable[list[int]]) -> Iterator[list[int]]:
        """Add the sources of the pairs, in order; yields that of each group."""
        numbers: dict[int, int] = {}  # by hash
        for place, source in enumerate(sources):
            number = len(numbers)
            self._group_of[place] = numbers.setdefault(hash(tuple(source)), number)
            if len(numbers) > number:
                yield source
        self._order = np.argsort(self._group_of, kind="stable")
        self._starts = np.searchsorted(self._group_of[self._order], np.arange(len(numbers) + 1))

    def pairs(self, group: int) -> list[int]:
        """The first `COPIES` pairs of a group."""
        start, end = self._starts[group : group + 2]
        found: list[int] = self._searched[self._order[start : min(end, start + COPIES)]].tolist()
        return found


@dataclass(frozen=True)
class _OtherPairs:
    """The pairs that may be the match of the pair at a place.

    Two pairs are none if they share a side, or if the source of one has the target of the other in a third pair: data
    diversification makes two such pairs of each pair, one with another source, and one with another target.
    """

    sources: _UnmarkedSources
    targets: IdStore
    groups: _Groups
    translations: Container[int]
    place: int

    def excludes(self, group: int) -> bool:
        """Whether no pair of a group may be the match."""
        return self.first(group) is None

    def first(self, group: int) -> int | None:
        """The first pair of a group that may be the match."""
        return next(filter(self._may_match, self.groups.pairs(group)), None)

    def _may_match(self, other: int) -> bool:
        if any(np.array_equal(side[other], side[self.place]) for side in (self.sources, self.targets)):
            return False
        crossed = (self.place, other), (other, self.place)
        return not any(_checksum(self.sources[one], self.targets[two]) in self.translations for one, two in crossed)


def _checksum(source: NDArray[Any], target: NDArray[Any]) -> int:
    """A number for the source of one pair with the target of another."""
    return hash((source.tobytes(), target.tobytes()))


def _spaced(count: int, most: int) -> NDArray[np.int64]:
    """At most `most` of the indices below `count`, evenly spaced."""
    return np.linspace(0, count - 1, min(count, most)).astype(np.int64)


class FuzzyMatches:
    """The sources of training pairs with their matches.

    Args:
        pairs: The pairs.
        matches: What `find_matches` found.
        source: The tokenizer of the sources.
        limit: Maximum number of tokens of a source; a match that makes it longer is left out.

    Attributes:
        lengths: The maximum number of tokens of each source with its match, (pairs,).
    """

    def __init__(self, pairs: IdPairs, matches: NDArray[np.int64], source: Tokenizer, limit: int) -> None:
        self._pairs, self._matches, self._context = pairs, matches, MatchContext(source)
        alone = pairs.source.lengths
        with_match = alone + 1 + pairs.target.lengths[matches]
        self._fits = (matches >= 0) & (with_match <= limit)
        self.lengths: NDArray[np.int32] = np.where(self._fits, with_match, alone)

    def source(self, index: int) -> Any:
        """The ids of a source, with its match if it fits."""
        source = self._pairs.source[index]
        if not self._fits[index]:
            return source
        match = int(self._matches[index])
        pair = self._pairs.source[match].tolist(), self._pairs.target[match].tolist()
        return [*source.tolist(), *self._context.context(source.tolist(), pair)]
