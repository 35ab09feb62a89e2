"""Minimum Bayes risk: of several translations, the one that is most like all the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def by_expected_chrf(texts: Sequence[str]) -> list[tuple[int, float]]:
    """Indices of the distinct texts with their mean chrF against all texts as references, best first.

    Samples of a model stand for what it believes, so that mean is the expected chrF (Eikema and Aziz 2020, eq. 3).

    Args:
        texts: Translations of one sentence, as often as each was drawn.
    """
    from sacrebleu.metrics.chrf import CHRF

    chrf, counts = CHRF(), Counter(texts)
    utilities = {
        text: sum(count * chrf.sentence_score(text, [other]).score for other, count in counts.items()) / len(texts)
        for text in counts
    }
    first = {text: index for index, text in reversed(list(enumerate(texts)))}
    return sorted(((first[text], utility) for text, utility in utilities.items()), key=lambda each: (-each[1], each[0]))
