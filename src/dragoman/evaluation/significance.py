"""Significance of the difference between two sets of translations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dragoman.evaluation.metrics import DECIMALS

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
