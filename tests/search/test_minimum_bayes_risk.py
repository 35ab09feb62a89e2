"""The consensus of several translations."""

from __future__ import annotations

import pytest
from sacrebleu.metrics.chrf import CHRF

from dragoman.search.decode import by_expected_chrf

TEXTS = ["a small dog runs", "a little dog runs", "a small dog runs", "a small dog is running", "two cats", ""]


def test_utilities_are_mean_chrf_over_all_texts() -> None:
    chrf = CHRF()
    for index, utility in by_expected_chrf(TEXTS):
        scores = [chrf.sentence_score(TEXTS[index], [other]).score for other in TEXTS]
        assert utility == pytest.approx(sum(scores) / len(scores))


def test_each_distinct_text_comes_once_best_first() -> None:
    ranked = by_expected_chrf(TEXTS)
    assert sorted(index for index, _ in ranked) == [0, 1, 3, 4, 5]
    assert [utility for _, utility in ranked] == sorted((utility for _, utility in ranked), reverse=True)
    assert ranked[0][0] == 0, "the one drawn twice that others are like"


def test_a_text_alone_is_the_best() -> None:
    ((index, utility),) = by_expected_chrf(["a dog"])
    assert index == 0
    assert utility == pytest.approx(100.0)
