"""Minimum Bayes risk decoding: of several samples, the one most similar to all others (Eikema and Aziz 2020)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dragoman.settings import Decoding


def sampling_settings(settings: Decoding) -> Decoding:
    """The settings that draw the samples, if minimum Bayes risk is asked for; else the settings unchanged."""
    if not settings.mbr_samples:
        return settings
    return settings.model_copy(update={"sampling": True, "n_best": settings.mbr_samples})


def by_expected_chrf(texts: Sequence[str]) -> list[tuple[int, float]]:
    """Indices of the distinct texts with their mean chrF against all texts as references, best first.

    Samples represent the model's distribution, so that mean is the expected chrF (Eikema and Aziz 2020, eq. 3).

    Args:
        texts: Sampled translations of one sentence, repeated as often as each was drawn.
    """
    from sacrebleu.metrics.chrf import CHRF

    chrf, counts = CHRF(), Counter(texts)
    utilities = {
        text: sum(count * chrf.sentence_score(text, [other]).score for other, count in counts.items()) / len(texts)
        for text in counts
    }
    first = {text: index for index, text in reversed(list(enumerate(texts)))}
    return sorted(((first[text], utility) for text, utility in utilities.items()), key=lambda each: (-each[1], each[0]))
