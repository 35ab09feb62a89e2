"""Significance tests: a clear difference is significant, a small one is not."""

from __future__ import annotations

from itertools import product

import pytest

from dragoman.evaluation.metrics import corpus_scores
from dragoman.evaluation.significance import METHODS, paired_tests

REFERENCES = [
    f"The {size} dog number {number} runs across the green field." for number in range(20) for size in ("big", "old")
]


def with_errors(*indices: int) -> list[str]:
    """The references with an error in the sentences at these indices."""
    return [
        text.replace("green field", "street here") if index in indices else text
        for index, text in enumerate(REFERENCES)
    ]


def test_a_clear_difference_is_significant() -> None:
    worse, better = with_errors(*range(0, 40, 2)), with_errors(1, 21)
    results = paired_tests(worse, better, REFERENCES)
    assert {(each.metric, each.method) for each in results} == set(product(("BLEU", "chrF2"), METHODS.values()))
    for each in results:
        assert each.p_value < 0.01
        key = "bleu" if each.metric == "BLEU" else "chrf"
        assert each.first == pytest.approx(dict(corpus_scores(worse, REFERENCES))[key], abs=1e-3)
        assert each.second == pytest.approx(dict(corpus_scores(better, REFERENCES))[key], abs=1e-3)


def test_a_small_difference_is_not_significant() -> None:
    first, second = with_errors(*range(0, 40, 4)), with_errors(*range(2, 40, 4), 1)
    for each in paired_tests(first, second, REFERENCES):
        assert each.first > each.second
        assert each.p_value > 0.2


def test_equal_scores_have_a_p_value_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.evaluation.significance.METHODS", {"bs": "paired bootstrap"})
    assert all(each.p_value == 1.0 for each in paired_tests(with_errors(0), with_errors(0), REFERENCES))


@pytest.mark.parametrize("sentences", [1, 3, 6])
def test_a_few_sentences_are_never_significant_by_chance(sentences: int) -> None:
    """Of all ways to exchange the translations, at least two reach the difference between all good and all bad ones."""
    references = [f"This is sentence number {number} of the text." for number in range(sentences)]
    for test in paired_tests(references, ["Something else entirely."] * sentences, references):
        assert test.p_value >= 2 / 2**sentences
