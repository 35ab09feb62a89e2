"""A second language among the lines of one side of a corpus, such as Upper in Lower Sorbian.

Related languages share most letters and many words, and no list of languages has the small ones. Therefore the corpus
itself is divided into two clusters, each with its own frequencies of n-grams (as in `dragoman.languages.identify`), by
expectation maximization. The lines whose n-grams are the most unusual are the first guess at the second cluster. Lines
of another subject also form a cluster. But two languages differ in the words that are in nearly every line. Names are
left out, because those of places are often in the other language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from dragoman.doctor.data.foreign_language import without_names
from dragoman.doctor.data.length_model import Floats
from dragoman.doctor.data.line_statistics import Flags
from dragoman.languages.identify import ngrams_of_word, words_of

MAX_LINES = 8_000  # that are learned from, evenly spread
MIN_LINES = 500
MIN_WORDS = 5  # of the lines from which the clusters are learned
FIRST_SHARE = 0.03  # of the lines, which are the first guess
ITERATIONS = 12
DEPENDENCE = 7.0  # each letter is in four n-grams, and words of the same subject follow each other
SMOOTHING = 3.0  # occurrences of each n-gram that are added to each cluster, as frequent as on the whole side
MAX_WORD_EVIDENCE = 2.5  # nats of a word; a name must not decide
MAX_EVIDENCE = 15.0  # nats of a line
MIN_CLUSTER_EVIDENCE = 0.5  # nats of the lines that show which words are those of the second language
MIN_EVIDENCE = -0.5  # nats of a line in the second language; with 0.5, recall is 0.04 lower and precision the same

MIN_SHARE, MAX_SHARE = 0.003, 0.5  # of the lines in the second language
MIN_SECOND = 15  # lines in the second language
CERTAIN, CERTAIN_SHARE = 3.0, 0.75  # nats of lines that are clearly in one language, and their share of the second one
FREQUENT_WORDS = 25  # of each cluster that are compared
RARER = 8.0  # factor by which a word is rarer in the other language
MIN_COUNT = 4  # lines with such a word; words of few lines show a subject
UNSEEN = 0.25  # lines that are added to those of the other language; more would hide words if it has few lines
MIN_OWN_WORDS = 4  # of the frequent words of each cluster that are rarer in the other one
LONGER = 1.5  # factor by which these words may be longer than the frequent ones of the side; those of subjects are long
MIN_COVERED = 0.3  # of the lines of each cluster with one of these words


@dataclass
class SecondLanguage:
    """Two languages on one side.

    Attributes:
        own: Frequent words of the first language that are rare in the second.
        other: Frequent words of the second language that are rare in the first.
    """

    own: list[str]
    other: list[str]
    _log_ratios: dict[str, float]
    _prior: float
    _words: dict[str, float] = field(default_factory=dict)

    def flag(self, texts: Sequence[str]) -> Flags:
        """The texts in the second language."""
        return np.array([self._evidence(text) >= MIN_EVIDENCE for text in texts], np.bool_)

    def _evidence(self, text: str) -> float:
        total = self._prior
        for word in _words_without_names(text):
            if word not in self._words:
                grams = map(self._log_ratios.get, ngrams_of_word(word))
                evidence = sum(value for value in grams if value is not None) / DEPENDENCE
                self._words[word] = min(max(evidence, -MAX_WORD_EVIDENCE), MAX_WORD_EVIDENCE)
            total += self._words[word]
        return total


def find_second_language(texts: Sequence[str]) -> SecondLanguage | None:
    """The second language among texts, if there is one."""
    chosen = texts[:: -(-len(texts) // MAX_LINES) or 1]
    lines = [words for words in (list(_words_without_names(text)) for text in chosen) if len(words) >= MIN_WORDS]
    if len(lines) < MIN_LINES:
        return None
    clusters = _Clusters(lines)
    ratios, prior, evidence = clusters.divide()
    second = evidence >= MIN_CLUSTER_EVIDENCE
    count = int(second.sum())
    if count < max(MIN_SECOND, MIN_SHARE * len(lines)) or count > MAX_SHARE * len(lines):
        return None
    if (evidence >= CERTAIN).sum() < CERTAIN_SHARE * (evidence >= 0).sum():
        return None
    own, other = _exclusive_words(
        [line for line, is_second in zip(lines, second.tolist(), strict=True) if not is_second],
        [line for line, is_second in zip(lines, second.tolist(), strict=True) if is_second],
    )
    if own is None or other is None:
        return None
    return SecondLanguage(own, other, clusters.by_ngram(ratios), prior)


def _words_without_names(text: str) -> Iterator[str]:
    return words_of(without_names(text))


def _exclusive_words(first: list[list[str]], second: list[list[str]]) -> tuple[list[str] | None, list[str] | None]:
    """The frequent words of each language that are rare in the other; None if there are too few."""
    counts = [Counter(word for line in lines for word in set(line)) for lines in (first, second)]
    sizes = [len(first), len(second)]
    usual = [word for word, _ in (counts[0] + counts[1]).most_common(FREQUENT_WORDS)]
    found: list[list[str] | None] = []
    for own, lines in ((0, first), (1, second)):
        words = [
            word
            for word, count in counts[own].most_common(FREQUENT_WORDS)
            if count >= MIN_COUNT and count / sizes[own] >= RARER * (counts[1 - own][word] + UNSEEN) / sizes[1 - own]
        ]
        covered = sum(not set(words).isdisjoint(line) for line in lines) / len(lines)
        short = _mean_length(words, counts[own]) <= LONGER * _mean_length(usual, counts[0] + counts[1])
        found.append(words if len(words) >= MIN_OWN_WORDS and covered >= MIN_COVERED and short else None)
    return found[0], found[1]


def _mean_length(words: Sequence[str], counts: Counter[str]) -> float:
    """The mean number of characters of words, each of which counts as often as it occurs."""
    return sum(len(word) * counts[word] for word in words) / max(1, sum(counts[word] for word in words))


class _Clusters:
    """Lines as words, and words as n-grams."""

    def __init__(self, lines: Sequence[Sequence[str]]) -> None:
        words: dict[str, int] = {}
        self._words = np.array([words.setdefault(word, len(words)) for line in lines for word in line], np.int64)
        self._lines = np.repeat(np.arange(len(lines)), [len(line) for line in lines])
        self._size = len(lines)
        self._grams: dict[str, int] = {}
        grams = [[self._grams.setdefault(gram, len(self._grams)) for gram in ngrams_of_word(word)] for word in words]
        self._gram_words = np.repeat(np.arange(len(words)), [len(each) for each in grams])
        self._gram_ids = np.array([gram for each in grams for gram in each], np.int64)
        self._word_count = len(words)
        self._all = self._count(np.ones(self._size))

    def divide(self) -> tuple[Floats, float, Floats]:
        """Divide the lines in two.

        Returns:
            The evidence of each n-gram for the second cluster, that of the shares, and that of each line; nats.
        """
        unusual = np.log(self._all / self._all.sum())
        length = self._sum_by_line(np.bincount(self._gram_words, minlength=self._word_count).astype(np.float64))
        by_word = np.bincount(self._gram_words, unusual[self._gram_ids], self._word_count).astype(np.float64)
        mean = self._sum_by_line(by_word) / length
        weights: Floats = (mean <= np.quantile(mean, FIRST_SHARE)).astype(float)
        ratios, prior, evidence = unusual, 0.0, mean
        for _ in range(ITERATIONS):
            second = self._count(weights)
            rates = [  # of each n-gram, compared with that on the whole side
                np.log((np.maximum(counts, 0.0) + SMOOTHING) / (counts.sum() * self._all / self._all.sum() + SMOOTHING))
                for counts in (self._all - second, second)
            ]
            ratios = rates[1] - rates[0]
            share = min(max(float(weights.mean()), 1e-3), 0.5)
            prior = float(np.log(share / (1 - share)))
            by_word = np.bincount(self._gram_words, ratios[self._gram_ids], self._word_count) / DEPENDENCE
            evidence = prior + self._sum_by_line(np.clip(by_word, -MAX_WORD_EVIDENCE, MAX_WORD_EVIDENCE))
            weights = 1 / (1 + np.exp(-np.clip(evidence, -MAX_EVIDENCE, MAX_EVIDENCE)))
        return ratios, prior, evidence

    def by_ngram(self, values: Floats) -> dict[str, float]:
        """One value for each n-gram."""
        return dict(zip(self._grams, values.tolist(), strict=True))

    def _sum_by_line(self, by_word: Floats) -> Floats:
        total: Floats = np.bincount(self._lines, by_word[self._words], self._size).astype(np.float64)
        return total

    def _count(self, weights: Floats) -> Floats:
        """How often each n-gram occurs in lines with these weights."""
        by_word = np.bincount(self._words, weights[self._lines], self._word_count)
        counts: Floats = np.bincount(self._gram_ids, by_word[self._gram_words], len(self._grams)).astype(np.float64)
        return counts
