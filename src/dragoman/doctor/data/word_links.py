"""Which words translate each other, learned from the corpus, and whether the words of a pair belong together.

Words that translate each other often enough are linked, see `dragoman.lexicon.word_probabilities`. How often a word has
a linked word on the other side is measured for pairs and for shuffled pairs. The ratio is the evidence that a pair is a
translation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.length_model import Floats
from dragoman.doctor.data.words import HASH_BITS, HASHES, Words
from dragoman.lexicon.word_probabilities import expected_counts, word_pair_places

MAX_WORD_PAIRS = 3_000_000  # word pairs of the sample from which links are learned
MAX_WORDS = 20  # of a text, the frequent ones excluded, that are looked at
FREQUENT_SHARE = 0.005  # of all words; more frequent words are ignored in texts that have too many words
FIRST_PART = 0.55  # of the words of a text; those after it show whether its translation was cut off
HELD_OUT = 3  # every third pair of the sample measures how reliable the links are
ITERATIONS = 4  # of expectation maximization
MIN_LINK_COUNT = 1.5  # expected number of times that two words translate each other
MIN_LINK_EVIDENCE = 6.0  # nats by which the link must explain the sample better than chance
MIN_LIFT = 2.0  # how much more likely a linked word makes the other
PRIOR_COUNT = 2.0  # weight of the average word when the reliability of a word's links is estimated
MAX_MATCH, MAX_MISS = 3.0, 2.5  # nats that one word may contribute
BLOCK_TEXTS = 2048  # pairs whose words are compared at a time
TABLE_BITS = 22

_FACTOR = np.uint64(0xD6E8FEB86659FD93)


@dataclass(frozen=True)
class _Reliability:
    """Evidence of each word of one side, if a linked word is on the other side and if none is; nats, (hashes,)."""

    match: NDArray[np.float32]
    miss: NDArray[np.float32]


class WordLinks:
    """Links between the words of the two languages.

    Attributes:
        usual: Median evidence of pairs, in nats. This and `advantage` are measured with pairs from which no links were
            learned.
        advantage: Mean evidence of pairs minus that of shuffled pairs, in nats, and its standard error.
    """

    def __init__(self, source: Words, target: Words, shift: int = 0) -> None:
        """Learn the links.

        Args:
            source: The words of a sample of the sources.
            target: Those of their targets.
            shift: How many lines below each source its translation is.
        """
        source, target = _limit_word_pairs(*_limit_words(*_pair(source, target, shift)))
        self._frequent = _find_frequent(source), _find_frequent(target)
        pairs = np.arange(len(source.bounds) - 1)
        learned, held_out = pairs[pairs % HELD_OUT > 0], pairs[pairs % HELD_OUT == 0]
        self._table = _learn_links(source.select(learned), target.select(learned))
        source, target = source.select(held_out), target.select(held_out)
        shuffled = target.select(np.roll(np.arange(len(held_out)), len(held_out) // 2))
        matches, chance = self._match(source, target), self._match(source, shuffled)
        self._source = _measure(source.hashes, matches[0], source.hashes, chance[0], self._table.source_words)
        self._target = _measure(target.hashes, matches[1], shuffled.hashes, chance[1], self._table.target_words)
        evidence = self._score(source, target, matches)[0]
        self.usual = float(np.median(evidence)) if len(evidence) else 0.0
        advantage = evidence - self._score(source, shuffled, chance)[0]
        deviation = float(advantage.std()) / max(1, len(advantage)) ** 0.5 if len(advantage) else 0.0
        self.advantage = (float(advantage.mean()) if len(advantage) else 0.0), deviation

    @property
    def linked(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which words of each side have links, by their hash, (hashes,)."""
        return self._table.source_words, self._table.target_words

    def evidence(self, source: Words, target: Words) -> Floats:
        """Evidence that pairs are translations, in nats: positive if they are, negative if not, (pairs,)."""
        evidence: Floats = self.evidence_of_parts(source, target)[0]
        return evidence

    def evidence_of_parts(self, source: Words, target: Words) -> Floats:
        """The evidence of pairs, and that of the last words of each source and of each target, (3, pairs)."""
        source, target = (
            _drop_frequent(words, frequent) for words, frequent in zip((source, target), self._frequent, strict=True)
        )
        scores = np.zeros((3, len(source.bounds) - 1))
        for first in range(0, scores.shape[1], BLOCK_TEXTS):
            block = np.arange(first, min(first + BLOCK_TEXTS, scores.shape[1]))
            block_source, block_target = source.select(block), target.select(block)
            scores[:, block] = self._score(block_source, block_target, self._match(block_source, block_target))
        return scores

    def _match(self, source: Words, target: Words) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which words of each side have a linked word, or the same word, on the other side."""
        source_indices, target_indices = word_pair_places(source.counts, target.counts)
        source_hashes, target_hashes = source.hashes[source_indices], target.hashes[target_indices]
        hits = (source_hashes == target_hashes) | self._table.contain(source_hashes, target_hashes)
        matches = np.zeros(len(source.hashes), np.bool_), np.zeros(len(target.hashes), np.bool_)
        matches[0][source_indices[hits]] = True
        matches[1][target_indices[hits]] = True
        return matches

    def _score(self, source: Words, target: Words, matches: tuple[NDArray[np.bool_], NDArray[np.bool_]]) -> Floats:
        sides = zip((source, target), matches, (self._source, self._target), strict=True)
        scores, tails = [], []
        for words, matched, reliability in sides:
            values = np.where(matched, reliability.match[words.hashes], reliability.miss[words.hashes]).astype(float)
            places = np.arange(len(words.hashes)) - np.repeat(words.bounds[:-1], words.counts)
            is_last = places >= FIRST_PART * np.repeat(words.counts, words.counts)
            scores.append(words.sum_by_text(values))
            tails.append(words.sum_by_text(np.where(is_last, values, 0.0)))
        # The two sides are about the same words, so that their evidence is averaged, not added.
        return np.array([0.5 * (scores[0] + scores[1]), *tails])


class _LinkTable:
    """A set of pairs of words in a hash table."""

    def __init__(self, keys: NDArray[np.uint64]) -> None:
        self._table = np.zeros(1 << TABLE_BITS, np.uint32)
        slots, tags = _slots_and_tags(keys)
        self._table[slots] = tags  # of two keys with the same slot, one is lost
        self.source_words = np.zeros(HASHES, np.bool_)
        self.target_words = np.zeros(HASHES, np.bool_)
        self.source_words[(keys >> np.uint64(HASH_BITS)).astype(np.int64)] = True
        self.target_words[(keys & np.uint64(HASHES - 1)).astype(np.int64)] = True

    def contain(self, source_hashes: NDArray[np.int64], target_hashes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether pairs of words are linked."""
        slots, tags = _slots_and_tags(_keys(source_hashes, target_hashes))
        linked: NDArray[np.bool_] = self._table[slots] == tags
        return linked


def _learn_links(source: Words, target: Words) -> _LinkTable:
    """Learn which words are linked."""
    source, target = (
        words.filter(np.bincount(words.hashes, minlength=HASHES)[words.hashes] > 1) for words in (source, target)
    )
    source_indices, target_indices = word_pair_places(source.counts, target.counts)
    all_keys = _keys(source.hashes[source_indices], target.hashes[target_indices])
    keys, key_indices = np.unique(all_keys, return_inverse=True)
    source_words = (keys >> np.uint64(HASH_BITS)).astype(np.int64)

    def to_probabilities(counts: Floats) -> Floats:
        return counts / np.maximum(np.bincount(source_words, counts, minlength=HASHES)[source_words], 1e-9)

    # no word is produced by chance: the comparison with shuffled pairs finds those that are
    by_chance = np.zeros(len(target.hashes))
    counts = expected_counts(key_indices, target_indices, np.ones(len(keys)), to_probabilities, by_chance, ITERATIONS)
    target_counts = np.bincount(target.hashes, minlength=HASHES)[(keys & np.uint64(HASHES - 1)).astype(np.int64)]
    lift = to_probabilities(counts) * max(1, len(target.hashes)) / np.maximum(target_counts, 1)
    evidence = counts * np.log(np.maximum(lift, 1e-9))
    return _LinkTable(keys[(counts >= MIN_LINK_COUNT) & (lift >= MIN_LIFT) & (evidence >= MIN_LINK_EVIDENCE)])


def _measure(
    hashes: NDArray[np.int64],
    matched: NDArray[np.bool_],
    shuffled_hashes: NDArray[np.int64],
    shuffled_matched: NDArray[np.bool_],
    linked: NDArray[np.bool_],
) -> _Reliability:
    """The reliability of the words of one side, given which of them match in pairs and in shuffled pairs."""
    words = np.union1d(hashes, shuffled_hashes)  # only these differ, and they are few of all possible words
    rates = []
    for found, matches in ((hashes, matched), (shuffled_hashes, shuffled_matched)):
        mean = matches[linked[found]].mean() if linked[found].any() else 0.5
        places, size = np.searchsorted(words, found), len(words) + 1  # the last is that of all other words
        count = np.bincount(places, minlength=size)
        rate = (np.bincount(places, matches, minlength=size) + PRIOR_COUNT * mean) / (count + PRIOR_COUNT)
        rates.append(np.clip(rate, 0.005, 0.98))
    rate, chance = rates
    measured = (
        np.clip(np.log(rate / chance), 0.0, MAX_MATCH),
        np.clip(np.log((1 - rate) / (1 - chance)), -MAX_MISS, 0.0),
    )
    match, miss = (np.full(HASHES, values[-1], np.float32) for values in measured)
    match[words], miss[words] = (values[:-1] for values in measured)
    miss[~linked] = 0.0  # a word without links says nothing if it is not on the other side
    return _Reliability(match, miss)


def _keys(source_hashes: NDArray[np.int64], target_hashes: NDArray[np.int64]) -> NDArray[np.uint64]:
    return (source_hashes.astype(np.uint64) << np.uint64(HASH_BITS)) | target_hashes.astype(np.uint64)


def _slots_and_tags(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    mixed = keys * _FACTOR
    mixed = (mixed ^ (mixed >> np.uint64(31))) * _FACTOR
    slots = (mixed >> np.uint64(64 - TABLE_BITS)).astype(np.int64)
    return slots, (mixed.astype(np.uint32) | np.uint32(1))


def _find_frequent(words: Words) -> NDArray[np.bool_]:
    frequent: NDArray[np.bool_] = np.bincount(words.hashes, minlength=HASHES) > FREQUENT_SHARE * len(words.hashes)
    return frequent


def _drop_frequent(words: Words, frequent: NDArray[np.bool_]) -> Words:
    """At most `MAX_WORDS` words of each text; of longer texts, the frequent words are dropped first."""
    too_long = np.repeat(words.counts > MAX_WORDS, words.counts)
    if not too_long.any():
        return words
    words = words.filter(~(too_long & frequent[words.hashes]))
    return words.filter(np.arange(len(words.hashes)) - np.repeat(words.bounds[:-1], words.counts) < MAX_WORDS)


def _limit_words(source: Words, target: Words) -> tuple[Words, Words]:
    return _drop_frequent(source, _find_frequent(source)), _drop_frequent(target, _find_frequent(target))


def _pair(source: Words, target: Words, shift: int) -> tuple[Words, Words]:
    """Each text with the one `shift` lines below it; texts without one are left out."""
    size = len(source.bounds) - 1
    indices = np.arange(max(0, -shift), size - max(0, shift))
    return source.select(indices), target.select(indices + shift)


def _limit_word_pairs(source: Words, target: Words) -> tuple[Words, Words]:
    """Evenly spaced pairs of texts that have at most `MAX_WORD_PAIRS` pairs of words."""
    word_pairs = int((source.counts * target.counts).sum())
    count = len(source.bounds) - 1
    kept = (
        np.unique(
            np.linspace(0, count - 1, max(1, min(count, count * MAX_WORD_PAIRS // max(1, word_pairs)))).astype(np.int64)
        )
        if count
        else np.zeros(0, np.int64)
    )
    return source.select(kept), target.select(kept)
