"""Language detection with character n-grams: profiles of languages, and a naive Bayes classifier over them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import regex

from dragoman.text.world_languages import MIN_WORDS, is_foreign

LONGEST = 4
PROFILE_SIZE = 6000  # n-grams of a profile
_BORDER = "_"  # before and after each word
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}'’]*")
_READ = 1000  # characters of a text; more do not change the answer
_DEPENDENCE = 4.0  # each letter is in four n-grams, which are not independent evidence
_CACHED_WORDS = 5_000  # with their evidence; words repeat, and most of the time goes into n-grams
_CACHED_LENGTH = 30  # letters; longer words are rare, or in scripts without spaces, where they do not repeat
_MIN_KNOWN = 0.48  # share of known n-grams of two letters and more; with fewer, a text is in no known language
_FAMILIAR = 0.9  # share of them in text like the training text; other languages that are similar have 0.75

Profile = Mapping[str, float]
"""Log-probabilities of the most frequent n-grams of a language."""


def words_of(text: str) -> Iterator[str]:
    """The words of a text in lower case."""
    return (match.group() for match in _WORD.finditer(text.lower()))


def count_words(texts: Iterable[str]) -> Counter[str]:
    """How often texts contain each word, in lower case."""
    return Counter(word for text in texts for word in words_of(text))


def count_ngrams(texts: Iterable[str], size: int = PROFILE_SIZE) -> dict[str, int]:
    """The most frequent n-grams of texts in one language with their counts, the most frequent first."""
    words = count_words(texts)
    counts: Counter[str] = Counter()
    for word, times in words.items():
        for gram in _ngrams_of_word(word):
            counts[gram] += times
    return dict(counts.most_common(size))


def write_profile(counts: Mapping[str, int]) -> str:
    """Counts of n-grams as one line of text."""
    return " ".join(f"{gram} {count}" for gram, count in counts.items())


def read_profile(line: str) -> dict[str, int]:
    """The counts that `write_profile` wrote.

    Raises:
        ValueError: It is damaged.
    """
    parts = line.split()
    counts = {gram: int(count) for gram, count in zip(parts[::2], parts[1::2], strict=True)}
    if min(counts.values(), default=1) < 1:
        raise ValueError("a count is below 1")
    return counts


class _Evidence(NamedTuple):
    """What a word says: for each language, the log-probability of its n-grams, and how many of them are known.

    Single letters do not count in `known`, nor in `ngrams`, the number of all n-grams.
    """

    scores: tuple[float, ...]
    known: tuple[int, ...]
    ngrams: int


class NgramClassifier:
    """Finds the language of a text among a few.

    Args:
        counts: The n-grams of each language with their counts.
    """

    def __init__(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        self._languages = list(counts)
        self._profiles: list[Profile] = [_log_probabilities(each) for each in counts.values()]
        self._floor = min((value for each in self._profiles for value in each.values()), default=0) - math.log(2)
        self._evidence_of = lru_cache(maxsize=_CACHED_WORDS)(self._weigh)

    def probabilities(self, text: str) -> dict[str, float]:
        """The probability of each language, the highest first; empty if the text is in none of them."""
        words = [
            self._evidence_of(word) if len(word) <= _CACHED_LENGTH else self._weigh(word)
            for word in words_of(text[:_READ])
        ]
        known = [sum(counts) for counts in zip(*(word.known for word in words), strict=True)]
        ngrams = sum(word.ngrams for word in words)
        if not words or max(known, default=0) < _MIN_KNOWN * ngrams:
            return {}
        scores = [math.fsum(values) for values in zip(*(word.scores for word in words), strict=True)]
        best = max(scores)
        likeliest = self._languages[scores.index(best)]
        is_familiar = len(words) < MIN_WORDS or max(known) >= _FAMILIAR * ngrams
        if not is_familiar and is_foreign(text[:_READ], likeliest, self._languages):
            return {}
        weights = {
            language: math.exp((score - best) / _DEPENDENCE)
            for language, score in zip(self._languages, scores, strict=True)
        }
        total = sum(weights.values())
        return {language: weight / total for language, weight in sorted(weights.items(), key=lambda one: -one[1])}

    def _weigh(self, word: str) -> _Evidence:
        grams = list(_ngrams_of_word(word))
        seen = [gram for gram in grams if any(gram in profile for profile in self._profiles)]
        longer = [gram for gram in grams if len(gram) > 1]
        return _Evidence(
            scores=tuple(math.fsum(profile.get(gram, self._floor) for gram in seen) for profile in self._profiles),
            known=tuple(sum(gram in profile for gram in longer) for profile in self._profiles),
            ngrams=len(longer),
        )


def _log_probabilities(counts: Mapping[str, int]) -> dict[str, float]:
    total = sum(counts.values())
    return {gram: math.log(count / total) for gram, count in counts.items() if count > 0}


def _ngrams_of_word(word: str) -> Iterator[str]:
    padded = f"{_BORDER}{word}{_BORDER}"
    for length in range(1, LONGEST + 1):
        for begin in range(len(padded) - length + 1):
            gram = padded[begin : begin + length]
            if gram != _BORDER:
                yield gram
