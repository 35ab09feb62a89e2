"""Which of a corpus' two languages a text is in, learned from the corpus itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.length_model import Floats
from dragoman.doctor.data.words import Words

MIN_COUNT = 5  # rarer words are no evidence
MAX_WORD_EVIDENCE = 3.0  # nats that one word may contribute


class LanguageClassifier:
    """A naive Bayes classifier of the two languages by their words."""

    def __init__(self, source_counts: NDArray[np.int64], target_counts: NDArray[np.int64]) -> None:
        """Learn the languages.

        Args:
            source_counts: How often each word occurs in the sources, by its hash, (hashes,).
            target_counts: The same of the targets.
        """
        known = (source_counts + target_counts >= MIN_COUNT).nonzero()[0]
        logs = [np.log((counts[known] + 0.5) / max(1, int(counts.sum()))) for counts in (source_counts, target_counts)]
        self._log_ratios = np.zeros(len(source_counts))
        self._log_ratios[known] = np.clip(logs[0] - logs[1], -MAX_WORD_EVIDENCE, MAX_WORD_EVIDENCE)

    def score(self, words: Words) -> Floats:
        """Log-likelihood ratios in nats: positive for the source language, negative for the target language."""
        return words.sum_by_text(self._log_ratios[words.hashes])
