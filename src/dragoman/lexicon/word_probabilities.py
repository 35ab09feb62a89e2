"""How probable it is that two words translate each other: IBM model 1 (Brown et al. 1993), in both directions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_WORDS = 50
"""Pairs with more words on a side are ignored: they have many pairs of words, and say little about each."""

MAX_WORD_PAIRS = 8_000_000
"""Of longer texts, evenly spaced pairs are read."""

ITERATIONS = 5  # of expectation maximization

Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
Words = Sequence[str]


class Side:
    """The frequent words of one side as numbers.

    Attributes:
        words: The word of each number.
        ids: The words of all sentences, one sentence after another, (words,).
        counts: Words of each sentence, (sentences,).
        shares: How frequent each word is, as a share of all words, (numbers,).
    """

    def __init__(self, sentences: Sequence[Words], min_count: int) -> None:
        totals = Counter(word for words in sentences for word in words)
        self.words = sorted(word for word, total in totals.items() if total >= min_count)
        numbers = {word: number for number, word in enumerate(self.words)}
        known = [[numbers[word] for word in words if word in numbers] for words in sentences]
        self.counts = np.array([len(words) for words in known], dtype=np.int64)
        self.ids = np.fromiter((number for words in known for number in words), np.int64, int(self.counts.sum()))
        self.shares = np.bincount(self.ids, minlength=len(self.words)) / max(1, len(self.ids))


@dataclass(frozen=True)
class WordPairs:
    """The pairs of words that occur together.

    Attributes:
        source: The number of the source word, (entries,).
        target: The number of the target word, (entries,).
        together: How often they occur in the same sentence pair, (entries,).
        forward: How probable it is that the source word produces the target word, (entries,).
        backward: How probable it is that the target word produces the source word, (entries,).
    """

    source: Integers
    target: Integers
    together: Integers
    forward: Floats
    backward: Floats


def select_sentences(sentences: Sequence[tuple[Words, Words]]) -> list[tuple[Words, Words]]:
    """Those from which probabilities are learned: not too long, and not too many."""
    kept = [(source, target) for source, target in sentences if max(len(source), len(target)) <= MAX_WORDS]
    size = sum(len(source) * len(target) for source, target in kept)
    return kept[:: max(1, math.ceil(size / MAX_WORD_PAIRS))]


def learn_word_pairs(source: Side, target: Side) -> WordPairs:
    """The probabilities of all pairs of words that occur together."""
    source_places, target_places = word_pair_places(source.counts, target.counts)
    all_keys = source.ids[source_places] * len(target.words) + target.ids[target_places]
    keys, entries, together = np.unique(all_keys, return_inverse=True, return_counts=True)
    size = max(1, len(target.words))
    words = keys // size, keys % size
    forward = _translation_probabilities(words[0], entries, target_places, source, target)
    backward = _translation_probabilities(words[1], entries, source_places, target, source)
    return WordPairs(words[0], words[1], together, forward, backward)


def _translation_probabilities(
    given: Integers, entries: Integers, produced: Integers, source: Side, target: Side
) -> Floats:
    occurrences = (source.shares * len(source.ids))[given]
    together = np.bincount(entries, minlength=len(given))
    by_chance = target.shares[target.ids]  # by no source word
    counts = expected_counts(
        entries, produced, together / occurrences, lambda counts: counts / occurrences, by_chance, ITERATIONS
    )
    return counts / occurrences


def expected_counts(
    entries: Integers,
    produced: Integers,
    probabilities: Floats,
    to_probabilities: Callable[[Floats], Floats],
    by_chance: Floats,
    iterations: int,
) -> Floats:
    """How often one word produces the other, for each distinct pair of words, (entries,), by expectation maximization.

    Args:
        entries: The distinct pair of each pair of words in the text, (word pairs,).
        produced: The place in the text of the word that is produced, (word pairs,).
        probabilities: How probable it is at first that one word produces the other, (entries,).
        to_probabilities: How probable it is, given how often it happens; both (entries,).
        by_chance: How probable the word of each place is if no word produces it, (places,).
        iterations: How often the counts are estimated.
    """
    counts = np.zeros(len(probabilities))
    for _ in range(iterations):
        weights = probabilities[entries]
        weights /= (by_chance + np.bincount(produced, weights, minlength=len(by_chance)))[produced]
        counts = np.bincount(entries, weights, minlength=len(probabilities)).astype(np.float64)
        probabilities = to_probabilities(counts)
    return counts


def word_pair_places(source_counts: Integers, target_counts: Integers) -> tuple[Integers, Integers]:
    """Places of the source word and of the target word of all pairs of words in the same sentence pair, (word pairs,).

    Args:
        source_counts: Words of each source, (sentences,).
        target_counts: Those of its target.
    """
    repeats = np.repeat(source_counts, target_counts)  # source words for each target word
    targets = np.repeat(np.arange(len(repeats)), repeats)
    first_sources = np.repeat(np.cumsum(source_counts) - source_counts, target_counts)
    sources = np.arange(len(targets)) + np.repeat(first_sources - (np.cumsum(repeats) - repeats), repeats)
    return sources, targets
