"""Language detection with character n-grams: profiles of languages, and a naive Bayes classifier over them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import regex

LONGEST = 4
PROFILE_SIZE = 6000  # n-grams of a profile
_BORDER = "_"  # before and after each word
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}'’]*")
_READ = 1000  # characters of a text; more do not change the answer
_DEPENDENCE = 4.0  # each letter is in four n-grams, which are not independent evidence
_MIN_KNOWN = 0.48  # share of known n-grams of two letters and more; with fewer, a text is in no known language

Profile = Mapping[str, float]
"""Log-probabilities of the most frequent n-grams of a language."""


def words_of(text: str) -> Iterator[str]:
    """The words of a text in lower case."""
    return (match.group() for match in _WORD.finditer(text.lower()))


def count_ngrams(texts: Iterable[str], size: int = PROFILE_SIZE) -> dict[str, int]:
    """The most frequent n-grams of texts in one language with their counts, the most frequent first."""
    words = Counter(word for text in texts for word in words_of(text))
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


class NgramClassifier:
    """Finds the language of a text among a few.

    Args:
        counts: The n-grams of each language with their counts.
    """

    def __init__(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        self._profiles: dict[str, Profile] = {language: _log_probabilities(each) for language, each in counts.items()}
        self._floor = min((value for each in self._profiles.values() for value in each.values()), default=0) - math.log(
            2
        )

    def probabilities(self, text: str) -> dict[str, float]:
        """The probability of each language, the highest first; empty if the text is in none of them."""
        grams = Counter(gram for word in words_of(text[:_READ]) for gram in _ngrams_of_word(word))
        known = {gram: times for gram, times in grams.items() if any(gram in one for one in self._profiles.values())}
        if not grams or self._is_foreign(grams):
            return {}
        scores = {
            language: sum(times * profile.get(gram, self._floor) for gram, times in known.items())
            for language, profile in self._profiles.items()
        }
        best = max(scores.values())
        weights = {language: math.exp((score - best) / _DEPENDENCE) for language, score in scores.items()}
        total = sum(weights.values())
        return {language: weight / total for language, weight in sorted(weights.items(), key=lambda one: -one[1])}

    def _is_foreign(self, grams: Counter[str]) -> bool:
        """Whether every profile lacks most n-grams; single letters do not count."""
        longer = {gram: times for gram, times in grams.items() if len(gram) > 1}
        known = (sum(times for gram, times in longer.items() if gram in profile) for profile in self._profiles.values())
        return max(known) < _MIN_KNOWN * sum(longer.values())


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
