"""Comparison of two translators on the same sentence pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dragoman.engines.direction import describe_direction, same_languages
from dragoman.errors import UserError
from dragoman.evaluation.evaluate import Report, evaluate
from dragoman.evaluation.metrics import sentence_chrf
from dragoman.evaluation.significance import Significance, paired_tests
from dragoman.translator import Translator


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
