"""The verdict of a comparison follows from the tests, and says where the translators differ."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.evaluation.evaluate import Report
from dragoman.evaluation.significance import METHODS, Comparison, SentenceDifference, Significance, describe_comparison

REPORT = Report(100, 30.0, 50.0, "", "", 1.0, 1.5, 4.5, 0.1, 0.7, None, "greedy")


def difference(words: int, gain: float) -> SentenceDifference:
    """A source of some words, which B translates better than A by `gain`."""
    return SentenceDifference(" ".join("x" * words), "reference", "one", "two", 50.0, 50.0 + gain)


def significance_of(metric: str, gain: float, p_value: float) -> list[Significance]:
    return [Significance(metric, method, 30.0, 30.0 + gain, p_value, "") for method in METHODS.values()]


def describe(bleu: tuple[float, float], chrf: tuple[float, float], gains: dict[int, float] | None = None) -> list[str]:
    """The verdict for gains and p-values of BLEU and chrF, and for gains by number of source words."""
    differences = [difference(words, gain) for words, gain in (gains or {4: 1.0}).items() for _ in range(20)]
    return describe_comparison(
        Comparison(REPORT, REPORT, significance_of("BLEU", *bleu) + significance_of("chrF2", *chrf), differences)
    )


@pytest.mark.parametrize(
    ("bleu", "chrf", "expected"),
    [
        ((2.5, 0.001), (1.5, 0.002), "B is significantly better:"),
        ((-2.5, 0.001), (-1.5, 0.002), "A is significantly better:"),
        ((0.2, 0.4), (1.5, 0.002), "B is significantly better by chrF2:"),
        ((0.2, 0.4), (-0.1, 0.3), "There is no significant difference between A and B:"),
        ((2.5, 0.001), (-1.5, 0.002), "A and B are each significantly better by one metric:"),
    ],
)
def test_the_verdict_follows_from_the_tests(
    bleu: tuple[float, float], chrf: tuple[float, float], expected: str
) -> None:
    verdict, bleu_tests, chrf_tests, *_ = describe(bleu, chrf)
    assert verdict.startswith(expected)
    assert f"BLEU {bleu[0]:+.2f} and chrF2 {chrf[0]:+.2f}" in verdict
    for shown, (_, p_value) in ((bleu_tests, bleu), (chrf_tests, chrf)):
        assert ("not significant" in shown) == (p_value > 0.05)
        assert shown.count(f"p = {p_value:.4f}") == len(METHODS)
        assert all(method in shown for method in METHODS.values())


def test_one_test_above_the_threshold_is_enough_for_no_significance() -> None:
    significance = significance_of("BLEU", 1.0, 0.01)
    significance[1] = replace(significance[1], p_value=0.2)
    assert describe_comparison(Comparison(REPORT, REPORT, significance, [difference(3, 1.0)]))[0].startswith(
        "There is no sign"
    )


def test_equal_translations_are_equally_good() -> None:
    (only,) = describe_comparison(Comparison(REPORT, REPORT, [], []))
    assert only.startswith("A and B are equally good")


def test_the_length_group_with_the_largest_difference_is_named() -> None:
    *_, counts, where = describe((2.5, 0.001), (1.5, 0.002), {4: 0.5, 18: -1.0, 40: 6.0})
    assert "A is better for 20 of them and B for 40" in counts
    assert "sources of 31 to 50 words: B is better there by 6.0 chrF on average (20 sentences)" in where


def test_different_lengths_of_translations_are_named() -> None:
    comparison = Comparison(
        REPORT, replace(REPORT, length_ratio=0.8), significance_of("BLEU", -3.0, 0.01), [difference(3, 1)]
    )
    assert "The translations of B are shorter: 0.80 times" in describe_comparison(comparison)[-1]


def test_two_useless_translators_are_called_so() -> None:
    useless, tests = replace(REPORT, bleu=0.2, chrf=9.0), significance_of("BLEU", 0.1, 0.01)
    pair = [difference(3, 1.0)]
    assert any("Neither" in text for text in describe_comparison(Comparison(useless, useless, tests, pair)))
    assert not any("Neither" in text for text in describe_comparison(Comparison(useless, REPORT, tests, pair)))
