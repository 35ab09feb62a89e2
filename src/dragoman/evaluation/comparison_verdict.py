"""The result of a comparison in words: which translator is better, by how much, how surely, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean

from dragoman.errors import counted
from dragoman.evaluation.comparison import Comparison, SentenceDifference
from dragoman.evaluation.error_analysis import LENGTH_BOUNDS, group_name
from dragoman.evaluation.metrics import USELESS, overall_score
from dragoman.evaluation.significance import Significance

ALPHA = 0.05  # p-values below it are significant
MIN_GROUP = 10  # sentences; smaller groups are left out
MIN_LENGTH_DIFFERENCE = 0.03  # of the length ratios


def describe_comparison(comparison: Comparison) -> list[str]:
    """The verdict, and sentences about where the translators A and B differ.

    Args:
        comparison: Of A, the first, and B, the second translator.
    """
    differences, pairs = comparison.differences, comparison.first.sentences
    if not differences:
        return [f"A and B are equally good. Translated differently: 0 of {counted(pairs, 'sentence')}."]
    better = sum(each.second_chrf > each.first_chrf for each in differences)
    worse = sum(each.second_chrf < each.first_chrf for each in differences)
    return [
        *describe_significance(comparison.significance),
        *_usability(comparison),
        f"Translated differently: {len(differences):,} of {counted(pairs, 'sentence')}. By sentence-level chrF, A is "
        f"better for {worse:,} of them and B for {better:,}.",
        *_by_length(differences),
        *_lengths(comparison),
    ]


def describe_significance(tests: Sequence[Significance], first: str = "A", second: str = "B") -> Iterator[str]:
    """Sentences that state which translator is better and by how much, and the test results of each metric.

    Args:
        tests: The tests of the differences between the two translators.
        first: What the first translator is called.
        second: What the second one is called.
    """
    by_metric: dict[str, list[Significance]] = {}
    for test in tests:
        by_metric.setdefault(test.metric, []).append(test)
    gains = {metric: each[0].second - each[0].first for metric, each in by_metric.items()}
    significant = [metric for metric, each in by_metric.items() if all(test.p_value < ALPHA for test in each)]
    winners = {second if gains[metric] > 0 else first for metric in significant}
    if not winners:
        decision = f"there is no significant difference between {first} and {second}"
    elif len(winners) > 1:
        decision = f"{first} and {second} are each significantly better by one metric"
    else:
        by = "" if len(significant) == len(by_metric) else f" by {' and '.join(significant)}"
        decision = f"{winners.pop()} is significantly better{by}"
    difference = " and ".join(f"{metric} {gain:+.2f}" for metric, gain in gains.items())
    yield f"{decision[0].upper()}{decision[1:]}: from {first} to {second}, {difference}."
    for metric, each in by_metric.items():
        values = " and ".join(f"p = {test.p_value:.4f} by {test.method}" for test in each)
        negation = "" if metric in significant else "not "
        scores = f"{each[0].first:.2f} for {first} and {each[0].second:.2f} for {second}"
        yield f"{metric} is {scores}: {negation}significant, {values}."


def _usability(comparison: Comparison) -> Iterator[str]:
    if all(overall_score(each.bleu, each.chrf) < USELESS for each in (comparison.first, comparison.second)):
        yield "Neither translator is usable: their translations have little in common with the references."


def _by_length(differences: Sequence[SentenceDifference]) -> Iterator[str]:
    """The group of source lengths with the largest mean difference, if there are several groups."""
    groups = {}
    for low, high in zip(LENGTH_BOUNDS, [*LENGTH_BOUNDS[1:], None], strict=True):
        members = [each for each in differences if low <= len(each.source.split()) and _is_below(each, high)]
        if len(members) >= MIN_GROUP:
            groups[group_name(low, high)] = mean(each.second_chrf - each.first_chrf for each in members), len(members)
    if len(groups) > 1:
        name, (gain, count) = max(groups.items(), key=lambda item: abs(item[1][0]))
        yield (
            f"They differ most for sources of {name} words: {'B' if gain > 0 else 'A'} is better there by "
            f"{abs(gain):.1f} chrF on average ({count:,} sentences)."
        )


def _is_below(difference: SentenceDifference, high: int | None) -> bool:
    return high is None or len(difference.source.split()) < high


def _lengths(comparison: Comparison) -> Iterator[str]:
    first, second = comparison.first.length_ratio, comparison.second.length_ratio
    if abs(second - first) >= MIN_LENGTH_DIFFERENCE:
        yield (
            f"The translations of B are {'longer' if second > first else 'shorter'}: {second:.2f} times as long as the "
            f"references, those of A {first:.2f} times."
        )
