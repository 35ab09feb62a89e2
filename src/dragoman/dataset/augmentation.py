"""Training pairs that are changed in some epochs, as the settings of `training.augmentation` demand."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.dataset.batch import ChangedPairs
from dragoman.dataset.buckets import Indices
from dragoman.dataset.encode import PairEncoder
from dragoman.dataset.prepare import Dataset
from dragoman.dataset.token_store import IdStore
from dragoman.settings import Augmentation, Recipe
from dragoman.text.sentence_changes import SentenceChanges

Integers = NDArray[np.integer[Any]]
IdPair = tuple[Any, Any]
"""The ids of a source and of its target, in arrays or lists."""

KINDS = tuple(Augmentation.model_fields)
STREAM = 1  # distinguishes these random numbers from those of the order of an epoch
CHUNK = 100_000  # pairs whose lengths are planned at once


class PairAugmenter:
    """Changes pairs, each in at most one way, which depends only on the seed, the epoch and the index of the pair.

    Batches are planned before the text is changed, so the lengths of changed pairs are estimated. A pair that would
    become longer than planned, or than `data.max_tokens`, remains unchanged.

    Args:
        recipe: Shares, seed, languages and limits.
        data: The pairs, their tokenizers and the dictionary.
    """

    def __init__(self, recipe: Recipe, data: Dataset) -> None:
        self._pairs, self._seed, self._limit = data.train, recipe.training.seed, recipe.data.max_tokens
        self._source = SentenceChanges(data.source, recipe.data.source_language)
        self._target = SentenceChanges(data.target, recipe.data.target_language)
        words = PairEncoder(data.source, data.target, self._limit)
        self._words = words.encode([each for each, _ in data.dictionary], [each for _, each in data.dictionary])
        shares = recipe.training.augmentation.model_dump()
        shares["single_words"] *= len(self._words) > 0
        self._bounds = np.round(np.minimum(np.cumsum([0, *shares.values()]), 1) * 2**32).astype(np.int64)
        self._draws = lru_cache(maxsize=2)(self._draw)  # of this epoch, and of the next one
        self._lengths_of_tokens = {
            "upper_case": (self._source.upper_case_lengths(), self._target.upper_case_lengths()),
            "title_case": (self._source.title_case_lengths(), self._target.title_case_lengths()),
        }

    def lengths(self, epoch: int) -> tuple[Integers, Integers]:
        """The planned number of tokens of each source and of each target in an epoch, eos included, (pairs,) each."""
        draws = self._draws(epoch)
        lengths = self._pairs.source.lengths, self._pairs.target.lengths
        for number, kind in enumerate(KINDS):
            chosen = np.flatnonzero((draws >= self._bounds[number]) & (draws < self._bounds[number + 1]))
            for start in range(0, len(chosen), CHUNK):
                part = chosen[start : start + CHUNK]
                for side, planned in zip(lengths, self._planned_lengths(kind, part, draws[part]), strict=True):
                    side[part] = planned
        return lengths[0] + 1, lengths[1] + 1

    def change(self, indices: Indices, epoch: int) -> ChangedPairs:
        """The pairs with these indices as they are in an epoch, in this order."""
        pairs = [(self._pairs.source[index], self._pairs.target[index]) for index in indices]
        draws = self._draws(epoch)[indices]
        kinds = np.searchsorted(self._bounds[1:], draws, side="right")
        for number in np.unique(kinds[kinds < len(KINDS)]):
            places, kind = np.flatnonzero(kinds == number), KINDS[number]
            planned = self._planned_lengths(kind, indices[places], draws[places])
            for place, draw, *longest in zip(places, draws[places], *planned, strict=True):
                changed = self._changed(kind, pairs[place], draw, f"{self._seed} {epoch} {indices[place]}")
                if all(0 < len(side) <= limit for side, limit in zip(changed, longest, strict=True)):
                    pairs[place] = changed
        return ChangedPairs([source for source, _ in pairs], [target for _, target in pairs])

    def _changed(self, kind: str, pair: IdPair, draw: np.uint32, seed: str) -> IdPair:
        """A pair, changed in one way."""
        if kind == "single_words":
            (entry,) = self._entries(np.array([draw]))
            return self._words.source[entry], self._words.target[entry]
        if kind == "typos":
            return self._source.typos(pair[0], seed), pair[1]
        if kind == "no_end_punctuation":
            shorter = self._source.without_end(pair[0]), self._target.without_end(pair[1])
            unchanged = any(np.array_equal(one, other) for one, other in zip(shorter, pair, strict=True))
            return pair if unchanged else shorter
        change = SentenceChanges.upper_case if kind == "upper_case" else SentenceChanges.title_case
        return change(self._source, pair[0]), change(self._target, pair[1])

    def _draw(self, epoch: int) -> NDArray[np.uint32]:
        """A random number for each pair, (pairs,)."""
        generator = np.random.Generator(np.random.PCG64([self._seed, epoch, STREAM]))
        return generator.integers(2**32, size=len(self._pairs), dtype=np.uint32)

    def _planned_lengths(self, kind: str, indices: Indices, draws: Integers) -> list[Integers]:
        """The planned number of tokens of sources and targets that are changed in one way, (indices,) each."""
        if kind == "single_words":
            words = self._entries(draws)
            return [self._words.source.lengths[words], self._words.target.lengths[words]]
        sides = self._pairs.source, self._pairs.target
        if kind in self._lengths_of_tokens:
            tables = self._lengths_of_tokens[kind]
            lengths = [_sum_over_tokens(side, indices, table) for side, table in zip(sides, tables, strict=True)]
        else:
            lengths = [side.offsets[indices + 1] - side.offsets[indices] for side in sides]
        if kind == "typos":
            lengths[0] = lengths[0] + 2 + lengths[0] // 6
        return [np.minimum(each, self._limit) for each in lengths]

    def _entries(self, draws: Integers) -> Indices:
        """The entries of the dictionary that replace pairs: equal shares of the random numbers."""
        first, end = self._bounds[-2:]
        entries: Indices = (draws - first) * len(self._words) // (end - first)
        return entries


def _sum_over_tokens(sentences: IdStore, indices: Indices, values: Integers) -> Integers:
    """The sum of the values of the tokens of each of some sentences, (indices,)."""
    firsts, ends = sentences.offsets[indices], sentences.offsets[indices + 1]
    starts = np.cumsum(ends - firsts) - (ends - firsts)
    tokens = np.arange(int((ends - firsts).sum())) + np.repeat(firsts - starts, ends - firsts)
    sums: Integers = np.add.reduceat(values[sentences.ids[tokens]], starts) if len(indices) else starts
    return sums
