"""A dictionary of single words that is learned from sentence pairs.

The probability that two words translate each other comes from IBM model 1 (Brown et al. 1993), in both directions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from dragoman.corpus.pair import Pair
from dragoman.text.normalization import WITHOUT_SPACES

MAX_WORDS = 50
"""Pairs with more words on a side are ignored: they have many pairs of words, and say little about each."""

MAX_WORD_PAIRS = 8_000_000
"""Of longer texts, evenly spaced pairs are read."""

MIN_COUNT = 3
"""How often two words must occur in the same sentence pair."""

MIN_PROBABILITY = 0.4
"""How probable a translation must be in both directions."""

MAX_SECOND = 0.5
"""How probable another translation may be, as a share of the most probable one: "Ringträger" is "ring bearer"."""

MIN_LIFT = 20
"""How much more probable than by chance that other translation must be: "Hund" also makes "a" probable, by chance."""

ITERATIONS = 5  # of expectation maximization

_WORD = regex.compile(r"[\p{L}\p{M}]+(?:['’-][\p{L}\p{M}]+)*")
_LETTER_WITHOUT_SPACES = regex.compile(f"[{WITHOUT_SPACES}]")

Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]


def learn_dictionary(pairs: Iterable[Pair]) -> list[tuple[str, str]]:
    """Words and their translations: only those that are each other's most probable translation, without punctuation.

    A word is spelled as it is most often inside of sentences. There is no dictionary if one of the languages has no
    spaces between words.
    """
    kept = [
        (source, target)
        for pair in pairs
        if len(source := _WORD.findall(pair.source)) <= MAX_WORDS
        and len(target := _WORD.findall(pair.target)) <= MAX_WORDS
    ]
    if _has_no_spaces(source for source, _ in kept) or _has_no_spaces(target for _, target in kept):
        return []
    size = sum(len(source) * len(target) for source, target in kept)
    kept = kept[:: 1 + size // MAX_WORD_PAIRS]
    sides = _Side([source for source, _ in kept]), _Side([target for _, target in kept])
    spelled = ((sides[0].spelling.get(first), sides[1].spelling.get(second)) for first, second in _find_mutual(*sides))
    return sorted((first, second) for first, second in spelled if first and second)


class _Side:
    """The frequent words of one side as numbers.

    Attributes:
        ids: The words of all sentences, one sentence after another, (words,).
        counts: Words of each sentence, (sentences,).
        shares: How frequent each word is, as a share of all words, (numbers,).
        spelling: The most frequent spelling of each word that occurs inside of sentences.
    """

    def __init__(self, sentences: Sequence[Sequence[str]]) -> None:
        inside = Counter(word for words in sentences for word in words[1:])
        first = Counter(words[0] for words in sentences if words)
        totals: Counter[str] = Counter()
        for word, count in (inside + first).items():
            totals[word.lower()] += count
        numbers = {word: number for number, word in enumerate(sorted(totals)) if totals[word] >= MIN_COUNT}
        known = [[numbers[word.lower()] for word in words if word.lower() in numbers] for words in sentences]
        self.counts = np.array([len(words) for words in known], dtype=np.int64)
        self.ids = np.fromiter((number for words in known for number in words), np.int64, int(self.counts.sum()))
        self.shares = np.bincount(self.ids, minlength=len(totals)) / max(1, len(self.ids))
        self.spelling: dict[int, str] = {}
        for word, _ in sorted(inside.items(), key=lambda item: (item[1], item[0])):  # the most frequent one comes last
            if word.lower() in numbers:
                self.spelling[numbers[word.lower()]] = word


def _find_mutual(source: _Side, target: _Side) -> list[tuple[int, int]]:
    """The pairs of words that are each other's most probable translation, and are probable enough."""
    source_places, target_places = _word_pairs(source.counts, target.counts)
    all_keys = source.ids[source_places] * len(target.shares) + target.ids[target_places]
    keys, entries, together = np.unique(all_keys, return_inverse=True, return_counts=True)
    if not len(keys):
        return []
    words = keys // len(target.shares), keys % len(target.shares)
    forward = _translation_probabilities(words[0], entries, target_places, source, target)
    backward = _translation_probabilities(words[1], entries, source_places, target, source)
    probable = (np.minimum(forward, backward) >= MIN_PROBABILITY) & (together >= MIN_COUNT)
    clear = _is_clear(forward, words[0], target.shares[words[1]]) & _is_clear(
        backward, words[1], source.shares[words[0]]
    )
    return list(zip(words[0][probable & clear].tolist(), words[1][probable & clear].tolist(), strict=True))


def _translation_probabilities(
    given: Integers, entries: Integers, produced: Integers, source: _Side, target: _Side
) -> Floats:
    """How probable it is that one word produces the other, for each distinct pair of words, (entries,).

    Args:
        given: The word that produces the other, (entries,).
        entries: The distinct pair of each pair of words in the text, (word pairs,).
        produced: The place in the text of the word that is produced, (word pairs,).
        source: The side of the words that produce others.
        target: The side of the words that are produced.
    """
    occurrences = (source.shares * len(source.ids))[given]
    by_chance = target.shares[target.ids]  # by no source word
    counts: Floats = np.bincount(entries, minlength=len(given)).astype(np.float64)
    for _ in range(ITERATIONS):
        weights = (counts / occurrences)[entries]
        weights /= (by_chance + np.bincount(produced, weights, minlength=len(target.ids)))[produced]
        counts = np.bincount(entries, weights, minlength=len(given)).astype(np.float64)
    return counts / occurrences


def _word_pairs(source_counts: Integers, target_counts: Integers) -> tuple[Integers, Integers]:
    """Places of the source word and of the target word of all pairs of words in the same sentence pair."""
    targets = np.repeat(np.arange(int(target_counts.sum())), np.repeat(source_counts, target_counts))
    repeats = np.repeat(source_counts, target_counts)  # source words for each target word
    first_sources = np.repeat(np.cumsum(source_counts) - source_counts, target_counts)
    sources = np.arange(len(targets)) + np.repeat(first_sources - (np.cumsum(repeats) - repeats), repeats)
    return sources, targets


def _is_clear(probabilities: Floats, given: Integers, shares: Floats) -> NDArray[np.bool_]:
    """Whether each translation is the most probable one of its word, and no other one is likely.

    Args:
        probabilities: Of the translations, (entries,).
        given: The word that is translated, (entries,).
        shares: The share of the translation in the whole text, (entries,).
    """
    largest = np.zeros(int(given.max()) + 1)
    np.maximum.at(largest, given, probabilities)
    best = probabilities == largest[given]
    likely = best | ((probabilities > MAX_SECOND * largest[given]) & (probabilities > MIN_LIFT * shares))
    is_clear: NDArray[np.bool_] = best & (np.bincount(given, likely)[given] == 1)
    return is_clear


def _has_no_spaces(sentences: Iterable[Sequence[str]]) -> bool:
    """Whether most letters belong to scripts that put no spaces between words."""
    letters = without_spaces = 0
    for words in sentences:
        text = "".join(words)
        letters += len(text)
        without_spaces += len(_LETTER_WITHOUT_SPACES.findall(text))
    return 2 * without_spaces > letters
