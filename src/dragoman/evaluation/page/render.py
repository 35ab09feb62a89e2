"""Rendering of the page: a single file that needs neither network access nor scripts."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from dragoman.evaluation.significance import ALPHA, Comparison, Significance, describe_comparison
from dragoman.settings import Recipe
from dragoman.system.templates import template_environment

SENTENCES = 100  # sentences that differ most; more make the page slow


class ComparedTranslator(NamedTuple):
    """A translator of the comparison: where it is, and its recipe."""

    path: Path
    recipe: Recipe


class MetricRow(NamedTuple):
    """The tests of one metric, and the range of scores that its drawing covers."""

    tests: list[Significance]
    low: float
    high: float


def render_comparison(comparison: Comparison, first: ComparedTranslator, second: ComparedTranslator) -> str:
    """The page as HTML.

    Args:
        comparison: The scores and translations of both.
        first: The translator A.
        second: The translator B.
    """
    environment = template_environment(Path(__file__).parent)
    verdict, *details = describe_comparison(comparison)
    return environment.get_template("page.html.j2").render(
        comparison=comparison,
        translators=(first, second),
        data=first.recipe.data,
        verdict=verdict,
        details=details,
        metrics=_metric_rows(comparison.significance),
        alpha=ALPHA,
        differences=comparison.differences[:SENTENCES],
        mark_changes=mark_changes,
    )


def _metric_rows(tests: Sequence[Significance]) -> list[MetricRow]:
    rows = []
    for metric in dict.fromkeys(test.metric for test in tests):
        chosen = [test for test in tests if test.metric == metric]
        ends = [end for test in chosen for each in (test.first_interval, test.second_interval) for end in each or ()]
        ends += [chosen[0].first, chosen[0].second]
        margin = max(0.5, 0.15 * (max(ends) - min(ends)))
        rows.append(MetricRow(chosen, min(ends) - margin, max(ends) + margin))
    return rows


def mark_changes(text: str, other: str) -> list[tuple[str, bool]]:
    """A text in pieces, each with whether its words are missing in the other text at this place."""
    words, others = text.split(), other.split()
    matcher = SequenceMatcher(a=words, b=others, autojunk=False)
    return [
        (" ".join(words[start:end]), kind != "equal") for kind, start, end, _, _ in matcher.get_opcodes() if start < end
    ]
