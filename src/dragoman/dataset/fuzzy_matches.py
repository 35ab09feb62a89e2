"""Training pairs that are similar to others, and sources with the translations of similar ones."""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.dataset.match_context import MatchContext
from dragoman.dataset.match_index import MatchIndex
from dragoman.dataset.token_store import IdStore, PairStore
from dragoman.system.progress import Meter, Update
from dragoman.text.tokenizer import Tokenizer

SEARCHED = 1_000_000
"""Of more pairs, so many are searched, evenly spaced."""

WITH_MATCH = 200_000
"""Of more pairs, so many get a match, evenly spaced: enough to learn how to use one."""


def find_matches(pairs: PairStore, tokenizer: Tokenizer, update: Update) -> NDArray[np.int64]:
    """The index of the most similar other pair for each pair, -1 where there is none, (pairs,).

    Pairs with the same source do not count: a translation memory returns their translation without a model. Nor do
    pairs with the same target, or with another translation of the source, from which the model would only learn to
    copy: synthetic pairs often have one. Sources that differ only in masked spans, such as numbers, are similar.
    """
    context, count = MatchContext(tokenizer), len(pairs)
    searched = _spaced(count, SEARCHED)
    index = MatchIndex(IdStore.of(context.number_spans(pairs.source[each].tolist()) for each in searched))
    translations = {_checksum(pairs, each, each) for each in searched}
    matches = np.full(count, -1, np.int64)
    asked = _spaced(count, WITH_MATCH)
    for place in Meter(update, "searching for similar pairs", len(asked)).track(asked.tolist()):
        source = pairs.source[place].tolist()
        excluded = partial(_is_translated, pairs, searched, translations, place)
        found = index.find(context.number_spans(source), excluded)
        if found is not None:
            matches[place] = searched[found.index]
    return matches


def _is_translated(
    pairs: PairStore, searched: NDArray[np.int64], translations: Container[int], place: int, index: int
) -> bool:
    """Whether two pairs share a side, or the source of one has the target of the other in a third pair.

    Data diversification makes two such pairs of each pair: one with another source, and one with another target.
    """
    other = int(searched[index])
    if any(np.array_equal(side[other], side[place]) for side in (pairs.source, pairs.target)):
        return True
    return any(_checksum(pairs, *crossed) in translations for crossed in ((place, other), (other, place)))


def _checksum(pairs: PairStore, source: int, target: int) -> int:
    """A number for the source of one pair with the target of another."""
    return hash((pairs.source[source].tobytes(), pairs.target[target].tobytes()))


def _spaced(count: int, most: int) -> NDArray[np.int64]:
    """At most so many of a number of indices, evenly spaced."""
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

    def __init__(self, pairs: PairStore, matches: NDArray[np.int64], source: Tokenizer, limit: int) -> None:
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
