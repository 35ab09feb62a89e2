"""Pairs that are nearly those of a validation or test corpus: one side is equal, or one word was changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.chunked_reader import ChunkedReader
from dragoman.doctor.data.line_statistics import Flags
from dragoman.doctor.data.words import Words, find_words

MIN_EQUAL_WORDS = 4  # of a side that is equal to one of a held-out pair; shorter sentences may be equal by chance
MIN_SIMILAR_WORDS = 8  # of a side with one changed word …
MIN_BOTH_WORDS = 4  # … if only one side is similar, and if both are
MAX_WORDS = 250

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class HeldOutSentences:
    """Hashes of the sentences of validation and test corpora, and of these with one word left open, of each side."""

    equal: tuple[NDArray[np.uint64], NDArray[np.uint64]]
    similar: tuple[NDArray[np.uint64], NDArray[np.uint64]]

    @classmethod
    def read(cls, readers: Sequence[ChunkedReader]) -> HeldOutSentences:
        """Those of corpora."""
        nothing = np.zeros(0, np.uint64)
        equal, similar = ([nothing], [nothing]), ([nothing], [nothing])
        for reader in readers:
            for chunk in reader.chunks():
                for side, texts in enumerate((chunk.sources, chunk.targets)):
                    words = find_words(texts)
                    whole, open_words = _hash_sentences(words)
                    equal[side].append(whole[words.counts > 0])
                    similar[side].append(open_words)
        sides = [[np.unique(np.concatenate(hashes)) for hashes in each] for each in (equal, similar)]
        return cls((sides[0][0], sides[0][1]), (sides[1][0], sides[1][1]))

    def __bool__(self) -> bool:
        return bool(len(self.equal[0]))

    def flag(self, source: Words, target: Words) -> Flags:
        """The pairs that are nearly one of these corpora, given their words."""
        found = np.zeros(len(source.counts), np.bool_)
        both = np.ones(len(source.counts), np.bool_)
        for side, words in enumerate((source, target)):
            whole, open_words = _hash_sentences(words)
            equal = np.isin(whole, self.equal[side]) & (words.counts > 0)
            hits = np.isin(open_words, self.similar[side])
            similar = np.bincount(words.text_indices, hits, len(whole)) > 0
            found |= equal & (words.counts >= MIN_EQUAL_WORDS)
            found |= similar & (words.counts >= MIN_SIMILAR_WORDS) & (words.counts <= MAX_WORDS)
            both &= equal | (similar & (words.counts >= MIN_BOTH_WORDS))
        return found | both


def _hash_sentences(words: Words) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """A hash of each text, and one for each word that leaves this word open."""
    size = len(words.counts)
    places = np.arange(len(words.hashes)) - np.repeat(words.bounds[:-1], words.counts)
    terms = _mix(_mix(words.hashes.astype(np.uint64) + np.uint64(1)) + places.astype(np.uint64))
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)))
    whole = sums[words.bounds[1:]] - sums[words.bounds[:-1]] + _mix(words.counts.astype(np.uint64))
    assert len(whole) == size
    open_words = np.repeat(whole, words.counts) - terms + _mix(places.astype(np.uint64) + np.uint64(1 << 32))
    return whole, open_words


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = values * _FACTOR
    mixed = (mixed ^ (mixed >> np.uint64(31))) * _FACTOR
    return mixed ^ (mixed >> np.uint64(29))
