"""Minimum Bayes risk decoding: of several samples, the one most similar to all others (Eikema and Aziz 2020)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dragoman.settings import Decoding


def sampling_settings(settings: Decoding) -> Decoding:
    """The settings that draw the samples if `mbr_samples` is set, otherwise the settings unchanged."""
    if not settings.mbr_samples:
        return settings
    return settings.model_copy(update={"sampling": True, "n_best": settings.mbr_samples})


def by_expected_chrf(texts: Sequence[str]) -> list[tuple[int, float]]:
    """Indices of the distinct texts with their mean chrF against all texts as references, best first.

    The mean over samples estimates the expected chrF under the model (Eikema and Aziz 2020, eq. 3).

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
