"""The report of a run: facts, commands for its bundle, and one HTML page without network access or scripts."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomli_w
import torch

from dragoman.corpus.pair import Languages
from dragoman.dataset.token_store import PairStore
from dragoman.doctor.data.cleaned_text import CleanedText
from dragoman.errors import counted
from dragoman.model.transformer import parameter_counts
from dragoman.settings import Recipe
from dragoman.system.progress import format_seconds
from dragoman.system.templates import template_environment
from dragoman.system.version import __version__
from dragoman.text.multilingual import name_direction, target_to_choose
from dragoman.training.loop.trainer import Trainer
from dragoman.training.report.charts import draw_charts
from dragoman.training.report.lines import complete_lines
from dragoman.training.report.verdict import compared_texts, judge_run
from dragoman.training.run.log import Metrics, current_lines


def run_facts(
    trainer: Trainer, cleaned: CleanedText | None, stages: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Names and values.

    Args:
        trainer: The trainer after its last step.
        cleaned: The training text, if it was cleaned.
        stages: Facts about the stages before.
    """
    data, progress = trainer.data, trainer.state.progress
    in_directions = f" in {len(data.directions)} directions" if data.directions else ""
    by_size = sorted(parameter_counts(trainer.state.model).items(), key=lambda item: -item[1])
    return [
        *((f"Parameters, {part.replace('_', ' ')}", f"{number:,}") for part, number in by_size),
        ("Vocabulary", f"{len(data.source.vocabulary):,} source, {len(data.target.vocabulary):,} target"),
        (
            "Training pairs",
            f"{len(data.train):,}{in_directions} ({data.dropped:,} left out: too long, or text of validation pairs)",
        ),
        *([("Teacher", service)] if (service := trainer.recipe.distillation.translated_by) else []),
        *describe_tagged(data.train, data.source.vocabulary.bos),
        *([("Cleaning", str(cleaned))] if cleaned else []),
        *stages,
        *([("Initial weights", start_from)] if (start_from := trainer.settings.start_from) else []),
        (
            "Training",
            f"{counted(progress.step, 'step')} in {format_seconds(progress.seconds)}, with validation, without tests",
        ),
        ("End of training", trainer.budget.reason_to_end(progress)),
        ("Machine", f"{trainer.state.device}, {counted(torch.get_num_threads(), 'thread')}, {platform.machine()}"),
        ("Versions", f"dragoman {__version__}, Python {platform.python_version()}, torch {torch.__version__}"),
    ]


def describe_tagged(pairs: PairStore, mark: int) -> list[tuple[str, str]]:
    """How much of the training text is tagged, as machine translations are, and how to measure its effect."""
    starts = pairs.source.offsets[:-1][pairs.source.lengths > 0]
    tagged = np.zeros(len(pairs), np.bool_)
    tagged[pairs.source.lengths > 0] = pairs.source.ids[starts] == mark
    if not (count := int(tagged.sum())) or count == len(pairs):
        return []
    weights = np.ones(len(pairs)) if pairs.weights is None else pairs.weights
    share = float(weights[tagged].sum() / weights.sum())
    effect = "to measure its effect, train without it for the same time, and run dragoman compare"
    return [("Synthetic text", f"{counted(count, 'tagged pair')}, {share:.0%} of an epoch; {effect}")]


class Usage(NamedTuple):
    """A purpose, and the command or the Python code for it."""

    purpose: str
    code: str


def usages(run: Path, recipe: Recipe, texts: Sequence[str]) -> list[Usage]:
    """How to use the bundle of a finished run.

    Args:
        run: The run directory.
        recipe: Its recipe.
        texts: Texts in its source language, the shortest of which is the example.
    """
    path, text = shlex.quote(str(run)), min(filter(str.strip, texts), key=len, default="…")
    example = f"-- {shlex.quote(text)}" if text.startswith("-") else shlex.quote(text)
    source, target = recipe.data.languages
    option = argument = ""
    if chosen := target_to_choose(recipe.data.directions):
        option, argument = f"--target-language {chosen} ", f", target_language={chosen!r}"
    return [
        Usage("Translate a text", f"dragoman translate {path} {option}{example}"),
        Usage("Translate a file", f"dragoman translate {path} {option}--input input.{source} --output output.{target}"),
        Usage("Show how a text was translated", f"dragoman inspect {path} {option}--output inspect.html {example}"),
        Usage("Score it on your own text", f"dragoman evaluate {path} --source my.{source} --reference my.{target}"),
        Usage("Convert it for other programs", f"dragoman export {path} exported --to ctranslate2"),
        Usage(
            "Use it in Python",
            f"import dragoman\n\ntranslator = dragoman.load({str(run)!r}{argument})\nprint(translator({text!r}).text)",
        ),
    ]


VERSIONS = 8  # maximum number of translations shown for one sentence

NO_ERROR_ANALYSIS: dict[str, Any] = {"best": [], "worst": [], "by_length": [], "by_rarest_word": [], "attention": []}
"""Keys that are missing in the test lines of older runs."""


class TranslationHistory(NamedTuple):
    """The translations of one sentence at successive validations."""

    languages: Languages
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
    samples = [sample for line in [*tests, *([shown] if shown else [])] for sample in line["samples"]]
    first = name_direction(recipe.data.languages)
    texts = [sample["source"] for sample in samples if sample.get("direction", first) == first]
    environment = template_environment(Path(__file__).parent)
    environment.filters["duration"] = _format_duration
    environment.filters["languages"] = partial(_languages_of, recipe)
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
        histories=_histories(validations, recipe),
        unscored=_unscored(recipe, shown.get("directions", {}) if shown else {}),
        events=[line for line in metrics if line["kind"] == "event"],
    )


def _shown(validations: Metrics, recipe: Recipe) -> Metrics:
    """The validations without the teacher-forced BLEU that older runs stored without being asked to."""
    if recipe.training.teacher_forced_bleu:
        return validations
    return [{**line, "teacher_forced_bleu": None} for line in validations]


def _languages_of(recipe: Recipe, samples: Sequence[Mapping[str, str]]) -> Languages:
    """The languages of samples of the same direction."""
    name = samples[0].get("direction") if samples else None
    return next((each for each in recipe.data.directions if name_direction(each) == name), recipe.data.languages)


def _unscored(recipe: Recipe, scored: Collection[str]) -> dict[str, str]:
    """The directions without scores, and why they have none."""
    trained = list(recipe.data.directions)
    untrained = [each for each in permutations(recipe.data.all_languages, 2) if each not in trained] if trained else []
    reasons = {name_direction(each): "trained, without validation text" for each in trained}
    reasons |= {name_direction(each): "zero-shot: not trained" for each in untrained}
    return {name: reason for name, reason in reasons.items() if name not in scored}


def _histories(validations: Metrics, recipe: Recipe) -> list[TranslationHistory]:
    """For each sample with several translations, those at up to VERSIONS validations, including first and last."""
    histories: dict[tuple[Languages, str], TranslationHistory] = {}
    for index in np.linspace(0, len(validations) - 1, min(VERSIONS, len(validations))).astype(int):
        validation = validations[index]
        for sample in validation["samples"]:
            key = languages, source = _languages_of(recipe, [sample]), sample["source"]
            history = histories.setdefault(key, TranslationHistory(languages, source, sample["reference"], []))
            history.versions.append((validation["step"], sample["translation"]))
    return [history for history in histories.values() if len(history.versions) > 1]


def _format_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
