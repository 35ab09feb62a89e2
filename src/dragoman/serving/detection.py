"""The language of a text among those that are served."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from dragoman.doctor.input.training_text import TrainingText
from dragoman.serving.models import ModelTable
from dragoman.text.language_profile import NgramClassifier, words_of
from dragoman.text.world_languages import load_identifier

UNKNOWN = "unknown"


class LanguageDetector:
    """Detects languages by the n-grams that bundles store. Languages without them are detected by frequent words.

    Args:
        classifier: Knows n-grams of languages; None if no bundle stores any.
        evidence: Source language, target language, and the evidence of frequent words for the former.
    """

    def __init__(
        self, classifier: NgramClassifier | None, evidence: Sequence[tuple[str, str, Mapping[str, float]]] = ()
    ) -> None:
        self._classifier, self._evidence = classifier, evidence

    @classmethod
    def of(cls, models: ModelTable) -> LanguageDetector:
        """The detector of all languages of some models."""
        words = []
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for model in models.models:
            stored = model.bundle.table("training_text", TrainingText) if model.bundle else None
            if stored is not None:
                words.append((model.source, model.target, stored.evidence))
                for language, profile in stored.ngrams().items():
                    counts[language].update(profile)
        load_identifier()  # now, not while a client waits
        evidence = [each for each in words if not counts.keys() >= set(each[:2])]
        return cls(NgramClassifier(counts) if counts else None, evidence)

    def detect(self, text: str) -> list[tuple[str, float]]:
        """Languages with confidences from 0 to 1, the best first; never empty, as it may be `UNKNOWN`."""
        found = (self._classifier.probabilities(text) if self._classifier else {}) or self._by_words(text)
        return [(language, round(confidence, 4)) for language, confidence in found.items()] or [(UNKNOWN, 0.0)]

    def _by_words(self, text: str) -> dict[str, float]:
        """Confidences by frequent words, each of which counts once."""
        words = set(words_of(text))
        scores: dict[str, float] = defaultdict(float)
        seen = False
        for source, target, evidence in self._evidence:
            nats = sum(evidence.get(word, 0.0) for word in words)
            seen = seen or any(word in evidence for word in words)
            scores[source] += nats / 2
            scores[target] -= nats / 2
        if not seen:
            return {}
        best = max(scores.values())
        weights = {language: math.exp(score - best) for language, score in scores.items()}
        total = sum(weights.values())
        return {language: weight / total for language, weight in sorted(weights.items(), key=lambda one: -one[1])}
