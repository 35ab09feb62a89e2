"""The language of a text among those that are served."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from dragoman.doctor.input import TrainingText
from dragoman.languages.identify import (
    CLEAR,
    FEW_WORDS,
    LanguageProfile,
    identify,
    identify_each,
    load_identifier,
    read_profiles,
)
from dragoman.serving.models import ModelTable

UNKNOWN = "unknown"
_LEAST = 0.1  # confidence of a language of a text of few words that is not the most probable one


class LanguageDetector:
    """Detects the languages of a profile."""

    def __init__(self, profile: LanguageProfile) -> None:
        self._profile = profile

    @classmethod
    def of(cls, models: ModelTable) -> LanguageDetector:
        """The detector of all languages of some models, by what their bundles store about their training text."""
        words = []
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for model in models.models:
            stored = model.bundle.table("training_text", TrainingText) if model.bundle else None
            if stored is not None:
                words.append((model.source, model.target, stored.evidence))
                for language, ngrams in read_profiles(stored.profiles).items():
                    counts[language].update(ngrams)
        load_identifier()  # now, not while a client waits
        ranked = {language: dict(ngrams.most_common()) for language, ngrams in counts.items()}
        return cls(LanguageProfile(ranked, [each for each in words if not counts.keys() >= set(each[:2])]))

    def detect(self, text: str) -> list[tuple[str, float]]:
        """Languages with confidences from 0 to 1, the best first; never empty, as it may be `UNKNOWN`."""
        return _rounded(identify(text, self._profile))

    def detect_each(
        self, texts: Sequence[str], possible: Collection[str] = (), target: str | None = None
    ) -> list[tuple[str, float]]:
        """The language and the confidence of each of some texts that belong together.

        Args:
            texts: The texts.
            possible: The languages that can be translated. A text of few words is in one of them if it may be.
            target: Otherwise, it is in this one, if it may be.
        """
        found = []
        for text, ranked in zip(texts, map(_rounded, identify_each(texts, self._profile)), strict=True):
            best = ranked[0]
            if len(text.split()) < FEW_WORDS and best[0] not in possible and best[1] < CLEAR:
                likely = [each for each in ranked if each[1] >= _LEAST]
                ours = [each for each in likely if each[0] in possible] or [
                    each for each in likely if each[0] == target
                ]
                best = (ours or [best])[0]
            found.append(best)
        return found


def _rounded(found: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    return [(language, round(confidence, 4)) for language, confidence in found] or [(UNKNOWN, 0.0)]
