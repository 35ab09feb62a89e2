"""Which of a corpus' two languages a text is in, learned from the corpus itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from dragoman.doctor.data.line_statistics import Flags

MIN_COUNT = 5  # rarer words are no evidence
MAX_WORD_EVIDENCE = 3.0  # nats that one word may contribute
MIN_EVIDENCE = 4.0  # nats by which each side of a swapped pair must resemble the other side


class LanguageClassifier:
    """A naive Bayes classifier of the two languages by their words."""

    def __init__(self, source_words: Counter[str], target_words: Counter[str]) -> None:
        source_total, target_total = max(1, source_words.total()), max(1, target_words.total())
        self._log_ratios: dict[str, float] = {}
        for word in source_words | target_words:
            source_count, target_count = source_words[word], target_words[word]
            if source_count + target_count >= MIN_COUNT:
                ratio = (source_count + 0.5) / source_total * target_total / (target_count + 0.5)
                self._log_ratios[word] = max(-MAX_WORD_EVIDENCE, min(MAX_WORD_EVIDENCE, math.log(ratio)))

    def flag_swapped(self, sources: Sequence[str], targets: Sequence[str]) -> Flags:
        """Pairs whose source is in the target language and whose target is in the source language."""
        pairs = zip(sources, targets, strict=True)
        swapped = (self.score(source) < -MIN_EVIDENCE and self.score(target) > MIN_EVIDENCE for source, target in pairs)
        return np.fromiter(swapped, np.bool_, len(sources))

    def score(self, text: str) -> float:
        """Log-likelihood ratio in nats: positive for the source language, negative for the target language."""
        get = self._log_ratios.get
        return sum([get(word, 0.0) for word in text.lower().split()])
