"""Rendering of the report as one HTML page without network access or scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomli_w

from dragoman.settings import Recipe
from dragoman.system.templates import template_environment
from dragoman.training.report.charts import draw_charts
from dragoman.training.report.lines import complete_lines
from dragoman.training.report.usage import usages
from dragoman.training.report.verdict import compared_texts, judge_run
from dragoman.training.run.metrics_file import Metrics, current_lines

VERSIONS = 8  # maximum number of translations shown for one sentence

NO_ERROR_ANALYSIS: dict[str, Any] = {"best": [], "worst": [], "by_length": [], "by_rarest_word": [], "attention": []}
"""Keys that are missing in the test lines of older runs."""


class TranslationHistory(NamedTuple):
    """The translations of one sentence at successive validations."""

    source: str
    reference: str
    versions: list[tuple[int, str]]  # (step, translation)


def render_report(
    recipe: Recipe,
    facts: Sequence[tuple[str, str]],
    metrics: Metrics,
    finished_run: Path | None = None,
    about_text: Sequence[str] = (),
) -> str:
    """The report as HTML.

    Args:
        recipe: The recipe of the run.
        facts: Labels and values, such as ("Parameters", "7,612,416"), in the order in which they are shown.
        metrics: The lines of metrics.jsonl so far; any kind of line may be missing, and incomplete lines are not shown.
        finished_run: The run directory, if it contains a bundle.
        about_text: The result of `judge_text`.
    """
    metrics = complete_lines(metrics)
    train, validations = current_lines(metrics, "train"), current_lines(metrics, "validation")
    tests = list({line["name"]: NO_ERROR_ANALYSIS | line for line in metrics if line["kind"] == "test"}.values())
    best = next((line for line in reversed(validations) if line["best"]), None)
    shown = best or (validations[-1] if validations else None)  # whose weights are in the bundle
    texts = [sample["source"] for line in [*tests, *([shown] if shown else [])] for sample in line["samples"]]
    environment = template_environment(Path(__file__).parent)
    environment.filters["duration"] = _format_duration
    return environment.get_template("page.html.j2").render(
        recipe=recipe,
        recipe_text=tomli_w.dumps(recipe.to_dict()),
        facts=facts,
        latest=max([*train, *validations], key=lambda line: (line["step"], line["seconds"]), default=None),
        tests=tests,
        comparisons=compared_texts(metrics),
        validations=validations,
        best=best,
        shown=shown,
        verdict=judge_run(metrics, recipe, about_text),
        usages=usages(finished_run, recipe, texts) if finished_run else [],
        charts=draw_charts(train, _shown(validations, recipe)),
        histories=_histories(validations),
        events=[line for line in metrics if line["kind"] == "event"],
    )


def _shown(validations: Metrics, recipe: Recipe) -> Metrics:
    """The validations without the teacher-forced BLEU that older runs stored without being asked to."""
    if recipe.training.teacher_forced_bleu:
        return validations
    return [{**line, "teacher_forced_bleu": None} for line in validations]


def _histories(validations: Metrics) -> list[TranslationHistory]:
    """For each sample with several translations, those at up to VERSIONS validations, including first and last."""
    histories: dict[str, TranslationHistory] = {}
    for index in np.linspace(0, len(validations) - 1, min(VERSIONS, len(validations))).astype(int):
        validation = validations[index]
        for sample in validation["samples"]:
            source = sample["source"]
            history = histories.setdefault(source, TranslationHistory(source, sample["reference"], []))
            history.versions.append((validation["step"], sample["translation"]))
    return [history for history in histories.values() if len(history.versions) > 1]


def _format_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
