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
        totals = max(1, int(source_counts.sum())), max(1, int(target_counts.sum()))
        ratio = np.log((source_counts + 0.5) / totals[0]) - np.log((target_counts + 0.5) / totals[1])
        known = source_counts + target_counts >= MIN_COUNT
        self._log_ratios = np.where(known, np.clip(ratio, -MAX_WORD_EVIDENCE, MAX_WORD_EVIDENCE), 0.0)

    def score(self, words: Words) -> Floats:
        """Log-likelihood ratios in nats: positive for the source language, negative for the target language."""
        return words.sum_by_text(self._log_ratios[words.hashes])
