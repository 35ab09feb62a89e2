"""The end of a run: choose the weights, score them on the test corpora, save the bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle
from dragoman.corpus.pair import Pair
from dragoman.corpus.references import file_name
from dragoman.dataset.pairs import read_pairs
from dragoman.doctor.output.check import check_translations
from dragoman.engines.choose import open_engine
from dragoman.engines.protocol import EngineRequest
from dragoman.errors import UserError
from dragoman.evaluation.error_analysis import analyze_errors
from dragoman.evaluation.evaluate import evaluate
from dragoman.evaluation.nearest_match import nearest_match_baseline
from dragoman.model.transformer import Transformer
from dragoman.settings import Recipe
from dragoman.system.progress import format_seconds
from dragoman.training.averaging import average_weights
from dragoman.training.state import load_weights
from dragoman.training.trainer import SAMPLES, Trainer
from dragoman.translator import Translator


def read_tests(recipe: Recipe, data_directory: Path | None) -> dict[str, list[Pair]]:
    """The test corpora by name, read before training so that errors in them are found early.

    Raises:
        UserError: A corpus is missing, damaged or empty.
    """
    tests = {}
    for reference in recipe.data.test:
        name = file_name(reference)
        tests[name] = read_pairs([reference], recipe.data, data_directory)
        if not tests[name]:
            raise UserError(f"data.test: {name} has no pair with text on both sides")
    return tests


def finish(trainer: Trainer, model: Transformer, tests: Mapping[str, list[Pair]]) -> None:
    """Load the best weights into a model, score it, and save the bundle.

    Args:
        trainer: The trainer after its last step.
        model: A model with the settings of the run; its weights are replaced.
        tests: The test corpora by name.
    """
    recipe, progress, log = trainer.recipe, trainer.state.progress, trainer.log
    steps = progress.averaged(recipe.training.average) if recipe.training.average > 1 else [progress.best_step]
    load_weights(model, average_weights(trainer.run, steps))
    log.message(f"end of training: {trainer.budget.reason_to_end(progress)}")
    log.message(f"weights of step{'s' if len(steps) > 1 else ''} {', '.join(f'{step:,}' for step in steps)}")
    bundle = Bundle(recipe, model.eval(), trainer.data.source, trainer.data.target)
    scores: dict[str, Any] = {}
    device = trainer.state.device
    engine = open_engine(EngineRequest(bundle, recipe.decoding, device, compute_type="float32"))
    translator = Translator(bundle, device=str(device), engine=engine)
    for name, pairs in tests.items():
        log.line.update(1.0, f"scoring {name} …")
        scores[name] = _score_test(trainer, translator, name, pairs)
    replace(bundle, scores=scores).save(trainer.run / "bundle")
    log.line.update(1.0, f"done after {progress.step:,} steps in {format_seconds(progress.seconds)}")
    log.message(f"bundle: {trainer.run / 'bundle'}")


def _score_test(trainer: Trainer, translator: Translator, name: str, pairs: list[Pair]) -> dict[str, Any]:
    """Score a test corpus, and log scores, samples and the error analysis."""
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    report, translations = evaluate(translator, sources, references)
    samples = [
        {"source": source, "reference": reference, "translation": translation}
        for source, reference, translation in zip(sources, references, translations[:SAMPLES], strict=False)
    ]
    analysis = analyze_errors(translator, trainer.data.train.source, sources, references, translations)
    problems = [finding.message for finding in check_translations(sources, references, translations, report)]
    nearest = asdict(nearest_match_baseline(trainer.data, sources, references))
    values = {
        "name": name,
        **report.to_dict(),
        "samples": samples,
        "problems": problems,
        "nearest": nearest,
        **analysis,
    }
    trainer.log.metrics.write("test", trainer.position | values)
    trainer.log.message(
        f"{name}: BLEU {report.bleu:.2f}, chrF {report.chrf:.2f}, perplexity {report.perplexity:.2f} "
        f"({report.sentences:,} sentences, {report.decoding})"
    )
    return report.to_dict()
