"""Two translations of the same text compared: scores, significance tests, and the verdict in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from typing import Any, Literal

from dragoman.bundle import describe_direction, same_languages
from dragoman.errors import UserError, counted
from dragoman.evaluation.error_analysis import LENGTH_BOUNDS, group_name
from dragoman.evaluation.evaluate import Report, evaluate
from dragoman.evaluation.metrics import DECIMALS, USELESS, overall_score, sentence_chrf
from dragoman.translator import Translator

METHODS: dict[Literal["bs", "ar"], str] = {"bs": "paired bootstrap", "ar": "approximate randomization"}
"""sacreBLEU's keys of the tests, and their names."""


@dataclass(frozen=True)
class Significance:
    """The result of one test of the difference between two scores.

    `p_value` is the probability of a difference at least this large if the two translators were equally good.
    `signature` is that of sacreBLEU, with the number of samples or trials and their seed. The intervals are the 95 %
    confidence intervals of both scores, which only the bootstrap estimates.
    """

    metric: str
    method: str
    first: float
    second: float
    p_value: float
    signature: str
    first_interval: tuple[float, float] | None = None
    second_interval: tuple[float, float] | None = None


def paired_tests(first: Sequence[str], second: Sequence[str], references: Sequence[str]) -> list[Significance]:
    """Paired bootstrap (Koehn 2004) and approximate randomization (Riezler and Maxwell 2005) of BLEU and chrF.

    Args:
        first: Translations of one translator, the baseline of the tests.
        second: Translations of the other.
        references: The reference translation of each.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.significance import PairedTest

    results = []
    different = sum(one != other for one, other in zip(first, second, strict=True))
    systems: list[tuple[str, Sequence[str]]] = [("first", first), ("second", second)]
    for key, method in METHODS.items():
        metrics = {"BLEU": BLEU(references=[list(references)]), "chrF": CHRF(references=[list(references)])}
        signatures, scores = PairedTest(systems, metrics, references=None, test_type=key)()
        for metric, signature in signatures.items():
            results.append(_significance(metric, method, scores[metric], signature.format(), different))
    return results


def _significance(metric: str, method: str, results: Any, signature: str, different: int) -> Significance:
    """The result of a test from sacreBLEU's results for the two systems, of which some translations are different.

    sacreBLEU counts only differences larger than the observed one, so equal scores and the difference of one sentence
    would seem significant. Of all ways to exchange translations, one and its opposite reach the observed difference.
    That bounds the p-value of approximate randomization; the bootstrap gets the same bound, to be on the safe side.
    """
    first, second = (float(result.score) for result in results)
    least = 2.0 ** (1 - different)
    p_value = 1.0 if first == second else min(1.0, max(least, float(results[1].p_value)))
    return Significance(
        metric, method, round(first, DECIMALS), round(second, DECIMALS), p_value, signature, *map(_interval, results)
    )


def _interval(result: Any) -> tuple[float, float] | None:
    return None if result.ci is None else (float(result.mean - result.ci), float(result.mean + result.ci))


@dataclass(frozen=True)
class SentenceDifference:
    """A sentence pair that the two translators translate differently, with the chrF of both translations."""

    source: str
    reference: str
    first: str
    second: str
    first_chrf: float
    second_chrf: float


@dataclass(frozen=True)
class Comparison:
    """Scores of two translators, significance tests, and differences sorted by descending difference in chrF."""

    first: Report
    second: Report
    significance: list[Significance]
    differences: list[SentenceDifference]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, without the confidence intervals."""
        data = asdict(self)
        for test in data["significance"]:
            del test["first_interval"], test["second_interval"]
        return data


def compare_translators(
    first: Translator, second: Translator, sources: Sequence[str], references: Sequence[str]
) -> Comparison:
    """Compare two translators and test whether the difference is significant.

    Args:
        first: One translator, the baseline of the tests.
        second: The other.
        sources: Texts to translate.
        references: The reference translation of each.

    Raises:
        UserError: They translate from or into different languages.
    """
    recipes = first.bundle.recipe, second.bundle.recipe
    if not same_languages(*(recipe.data.languages for recipe in recipes)):
        one, other = (describe_direction(recipe.data.languages) for recipe in recipes)
        raise UserError(f"the first translates {one} and the second {other}, so they cannot be compared")
    first_report, first_translations = evaluate(first, sources, references)
    second_report, second_translations = evaluate(second, sources, references)
    differences = _differences(sources, references, first_translations, second_translations)
    significance = paired_tests(first_translations, second_translations, references) if differences else []
    return Comparison(first_report, second_report, significance, differences)


def _differences(
    sources: Sequence[str], references: Sequence[str], first: Sequence[str], second: Sequence[str]
) -> list[SentenceDifference]:
    scores = zip(sentence_chrf(first, references), sentence_chrf(second, references), strict=True)
    rows = zip(sources, references, first, second, scores, strict=True)
    differences = [
        SentenceDifference(source, reference, one, other, round(one_chrf, 2), round(other_chrf, 2))
        for source, reference, one, other, (one_chrf, other_chrf) in rows
        if one != other
    ]
    return sorted(differences, key=lambda difference: -abs(difference.second_chrf - difference.first_chrf))


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
