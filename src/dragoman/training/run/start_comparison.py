"""Scores before and after a training that starts from a bundle, on the new text and on the text of the bundle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle
from dragoman.corpus.pair import Pair
from dragoman.corpus.references import distinct_names
from dragoman.dataset.pairs import read_pairs
from dragoman.engines import EngineRequest
from dragoman.errors import UserError, counted
from dragoman.evaluation.evaluate import evaluate
from dragoman.settings import Recipe
from dragoman.system.progress import Log
from dragoman.training.loop.trainer import Trainer
from dragoman.translator import Translator

VALIDATION = "validation"

COMPARISON_SHARE = 0.3
"""The share of the time left for each of two translations of the texts, by the bundle and by the new translator."""


@dataclass(frozen=True)
class StartScores:
    """What is needed to score the bundle that a training started from.

    Attributes:
        bundle: The bundle.
        old_text: The test corpora of its recipe, or else its validation corpora, by name.
    """

    bundle: Bundle
    old_text: dict[str, list[Pair]]


def read_old_text(bundle: Bundle, recipe: Recipe, data_directory: Path | None, log: Log) -> StartScores:
    """Read the test corpora of a bundle's recipe, or else its validation corpora, as far as they can be read.

    Args:
        bundle: The bundle that a training starts from.
        recipe: The recipe of the training, whose own test corpora are left out.
        data_directory: Mirror of the dataset catalog.
        log: Receives a message if nothing can be read.
    """
    data, texts, problems = bundle.recipe.data, dict[str, list[Pair]](), list[str]()
    tests, references = distinct_names(recipe.data.test), data.test or data.validation
    for name, reference in zip(distinct_names(references), references, strict=True):
        try:
            if name not in tests and (pairs := read_pairs([reference], data, data_directory)):
                texts[name] = pairs
        except UserError as error:
            problems.append(str(error))
    if problems or not (data.test or data.validation):
        reason = "; ".join(problems) or f"{bundle.origin} names neither test nor validation text"
        what = "not all old text is scored" if texts else "old text is not scored"
        log(f"{what}: {reason}; name it in data.test to see how much is forgotten")
    return StartScores(bundle, texts)


def compare_with_start(
    trainer: Trainer,
    translator: Translator,
    tests: Mapping[str, list[Pair]],
    scores: Mapping[str, dict[str, Any]],
    start: StartScores,
    fit: Callable[[list[Pair], Translator, float], list[Pair]],
) -> None:
    """Score the bundle that a training started from and the new translator, and log both.

    Args:
        trainer: The trainer after its last step.
        translator: The new translator.
        tests: The pairs of the test corpora that are scored, by name.
        scores: The scores of the new translator on them.
        start: The bundle and its text.
        fit: The pairs that can be translated in a share of the time that is left.
    """
    device = trainer.state.device
    decoding = translator.decoding  # the same search for both
    before = Translator.open(EngineRequest(start.bundle, decoding, device, compute_type="float32"))
    validation = trainer.data.validation[: trainer.settings.validation_sentences]
    worse, others = [], {VALIDATION: validation, **start.old_text}
    for number, (name, pairs) in enumerate({**tests, **others}.items()):
        trainer.log.line.update(1.0, f"comparing the scores of {name} …")
        if name in others:
            pairs = fit(pairs, before, COMPARISON_SHARE / (len(tests) + len(others) - number))
        old, search = _scores(before, pairs)
        new = {key: scores[name][key] for key in old} if name in tests else _scores(translator, pairs)[0]
        values = {"name": name, "old_text": name in start.old_text, "before": old, "after": new}
        trainer.log.metrics.write("comparison", trainer.position | values)
        trainer.log.message(
            f"{name}{', old text' * (name in start.old_text)}: BLEU {old['bleu']:.2f} → {new['bleu']:.2f}, chrF "
            f"{old['chrf']:.2f} → {new['chrf']:.2f} ({counted(len(pairs), 'sentence')}, {search}, before and after "
            "training)"
        )
        if name not in start.old_text and new["bleu"] < old["bleu"] and new["chrf"] < old["chrf"]:
            worse.append(name)
    if worse:
        message = (
            f"warning: on {' and '.join(worse)}, {trainer.settings.start_from} is better than the new translator; use "
            "it, or train on more text of this kind"
        )
        trainer.log.message(message)
        trainer.log.event(trainer.position, message)


def _scores(translator: Translator, pairs: list[Pair]) -> tuple[dict[str, Any], str]:
    """Scores, and how the translations were searched."""
    report, _ = evaluate(translator, [pair.source for pair in pairs], [pair.target for pair in pairs])
    return {"sentences": report.sentences, "bleu": report.bleu, "chrf": report.chrf}, report.decoding
