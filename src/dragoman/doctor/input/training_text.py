"""A few numbers about the training text of a translator, which its bundle stores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property

import numpy as np
from pydantic import BaseModel, ConfigDict, FiniteFloat

from dragoman.corpus.pair import Languages
from dragoman.doctor.data.length_model import robust_fit
from dragoman.doctor.input.text_forms import has_several_sentences, is_in_capitals, is_single_word
from dragoman.languages.identify import count_ngrams, count_words, read_ngrams, words_of, write_ngrams
from dragoman.languages.scripts import script_shares

FREQUENT_WORDS = 100  # of each language
MIN_WORD_COUNT = 5  # rarer words are no evidence of a language
MAX_WORDS = 20_000  # of the targets that are stored
MAX_EVIDENCE = 3.0  # nats that one word contributes
ADDED_LENGTH = 10  # characters
NEARLY_ALL = 0.999  # of the lines


class TrainingText(BaseModel):
    """What the training text looks like. Shares are between 0 and 1, and describe the sources."""

    model_config = ConfigDict(frozen=True)

    lines: int
    """Number of pairs that were counted."""
    longest: int
    """Number of characters that `NEARLY_ALL` lines do not exceed."""
    scripts: dict[str, FiniteFloat]
    """The share of each script in all letters."""
    capitals: FiniteFloat
    """The share of lines in capital letters."""
    single_words: FiniteFloat
    """The share of lines with one word."""
    several_sentences: FiniteFloat
    """The share of lines with several sentences."""
    terms: FiniteFloat = 0.0
    """The share of lines that say how terms are translated; if there are any, the translator follows glossaries."""
    evidence: dict[str, FiniteFloat]
    """Of frequent words: log-probability in the sources minus log-probability in the targets, in nats."""
    profiles: dict[str, str] = {}
    """Of each language: its frequent n-grams, see `dragoman.languages.identify`; older bundles have none."""
    target_words: str = ""
    """The words of the targets in lower case, the most frequent first; bundles of older versions lack them."""
    length_ratio: FiniteFloat | None = None
    """The usual `log_length_ratio` of a pair; bundles of older versions lack it."""
    length_deviation: FiniteFloat | None = None
    """Standard deviation of `log_length_ratio`."""

    def knows(self, text: str) -> bool:
        """Whether all words of a text, of which there must be some, occur in the targets."""
        return (words := set(words_of(text))) <= self._known and bool(words)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.target_words.split())

    def ngrams(self) -> dict[str, dict[str, int]]:
        """The counts of the n-grams of each language, without those that are empty or damaged."""
        found = {}
        for language, line in self.profiles.items():
            with suppress(ValueError):
                found[language] = read_ngrams(line)
        return {language: counts for language, counts in found.items() if counts}


def describe_text(sources: Sequence[str], targets: Sequence[str], languages: Languages) -> TrainingText:
    """Describe sources and their translations in two languages; there must be at least one."""
    lengths = sorted(map(len, sources))
    ratio, deviation = robust_fit(np.array(list(map(log_length_ratio, sources, targets))))

    def share(form: Callable[[str], bool]) -> float:
        return round(sum(map(form, sources)) / len(sources), 6)

    return TrainingText(
        lines=len(sources),
        longest=lengths[math.ceil(NEARLY_ALL * len(lengths)) - 1],
        scripts=script_shares(sources),
        capitals=share(is_in_capitals),
        single_words=share(is_single_word),
        several_sentences=share(has_several_sentences),
        evidence=_word_evidence(sources, targets),
        profiles={
            language: write_ngrams(count_ngrams(texts))
            for language, texts in zip(languages, (sources, targets), strict=True)
        },
        target_words=" ".join(word for word, _ in count_words(targets).most_common(MAX_WORDS)),
        length_ratio=round(ratio, 6),
        length_deviation=round(deviation, 6),
    )


def log_length_ratio(source: str, target: str) -> float:
    """The logarithm of the ratio of lengths in characters, which are increased so that short texts vary less."""
    return math.log((len(target) + ADDED_LENGTH) / (len(source) + ADDED_LENGTH))


def _word_evidence(sources: Sequence[str], targets: Sequence[str]) -> dict[str, float]:
    counts = list(map(count_words, (sources, targets)))
    totals = [count.total() for count in counts]
    frequent = {
        word for count in counts for word, times in count.most_common(FREQUENT_WORDS) if times >= MIN_WORD_COUNT
    }

    def log_probability(side: int, word: str) -> float:
        return math.log((counts[side][word] + 0.5) / (totals[side] + 1))

    evidence = {word: log_probability(0, word) - log_probability(1, word) for word in sorted(frequent)}
    return {word: round(min(max(value, -MAX_EVIDENCE), MAX_EVIDENCE), 2) for word, value in evidence.items()}
