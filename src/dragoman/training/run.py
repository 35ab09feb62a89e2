"""A whole run: from a recipe to a bundle with its scores and report."""

from __future__ import annotations

import os
import platform
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import torch

from dragoman.bundle import Bundle
from dragoman.corpus.find import Pair
from dragoman.dataset.pairs import read_pairs
from dragoman.dataset.prepare import Dataset, prepare
from dragoman.doctor.training_checks import check_start
from dragoman.errors import UserError
from dragoman.evaluation.error_analysis import break_down
from dragoman.evaluation.evaluate import evaluate
from dragoman.model.build import build_model
from dragoman.model.transformer import Transformer, parameter_counts
from dragoman.settings import Recipe, Training
from dragoman.system.device import compute_dtype, keep_memory
from dragoman.system.files import write_text
from dragoman.system.progress import ProgressLine, format_seconds
from dragoman.training.averaging import average_weights, keep_moving_average
from dragoman.training.batch_loss import BatchLoss
from dragoman.training.checkpoint import Progress, load_checkpoint, load_weights, newest_intact
from dragoman.training.curves import draw_curves
from dragoman.training.directory import check_place, saved_tokenizers, start_directory
from dragoman.training.distributed import ALONE, Ranks, join_ranks, spread
from dragoman.training.metrics import MetricsFile
from dragoman.training.report import current_lines, read_metrics, render_report
from dragoman.training.trainer import SAMPLES, Trainer
from dragoman.translator import Translator


def train(recipe: Recipe, output: Path, *, resume: bool = False, data_directory: Path | None = None) -> bool:
    """Train a translator in a run directory.

    Args:
        recipe: What to train.
        output: The run directory; it must be new or empty, or hold this run when resuming.
        resume: Go on from the newest checkpoint.
        data_directory: Mirror of the dataset catalog to read before downloading.

    Returns:
        Whether the run is finished: False if it was interrupted, with a checkpoint to resume from.

    Raises:
        UserError: The recipe, the data or the directory is at fault.
    """
    with join_ranks() as ranks, ProgressLine(recipe.name, quiet=not ranks.first) as line:
        return _train(recipe, output, resume, data_directory, ranks, line)


def _train(
    recipe: Recipe, output: Path, resume: bool, data_directory: Path | None, ranks: Ranks, line: ProgressLine
) -> bool:
    """A function of its own, so that nothing of it is left when the ranks part: see `join_ranks`."""
    _check_ranks(recipe.training, ranks)
    if not ranks.first:
        ranks.wait()  # until the first has learnt the tokenizers and saved them
    made = ranks.first and check_place(recipe, output, resume)
    if resume and (output / "bundle" / "bundle.json").exists():
        line.log(f"{output}: this run is finished; its bundle is {output / 'bundle'}")
        if ranks.first:
            ranks.wait()
        return True
    ranks.use_threads(recipe.training.threads)
    try:
        device = ranks.device(recipe.training.device)
        data = prepare(recipe, data_directory, saved_tokenizers(output), line.log, line.update)
        tests = _read_tests(recipe, data_directory) if ranks.first else {}
    except BaseException:
        if made:  # what is at fault can be mended, and the same command given again
            output.rmdir()
        raise
    keep_memory()
    if ranks.first:
        start_directory(recipe, output, data, resume)
        ranks.wait()
    torch.manual_seed(recipe.training.seed + ranks.rank)
    trainer = _build_trainer(recipe, output, data, device, line, ranks)
    with closing(trainer.metrics):
        if ranks == ALONE and not resume:
            _ask_the_doctor(trainer, data_directory)
        with _stop_on_signals(trainer):
            finished = trainer.train()
        if finished:
            model = trainer.deployable()
            if ranks.first:
                _finish(trainer, model, tests)
    if ranks.first:
        _write_report(trainer)
    if not finished:
        line.log(f"stopped after step {trainer.progress.step:,}; go on with --resume")
    return finished


def _ask_the_doctor(trainer: Trainer, data_directory: Path | None) -> None:
    """Warn of what is wrong before the first step; the random numbers of training stay as they are."""
    data = trainer.data
    vocabularies = data.source.vocabulary, data.target.vocabulary
    with torch.random.fork_rng(devices=[]):
        trainer.warn(check_start(trainer.recipe, data_directory, len(data.train), trainer.model, *vocabularies))


def _check_ranks(training: Training, ranks: Ranks) -> None:
    if training.length_groups % ranks.size:
        raise UserError(
            f"training.length_groups = {training.length_groups} must be a multiple of the {ranks.size} processes, "
            "which share the groups of a batch"
        )


def build_optimizer(model: Transformer, settings: Training) -> torch.optim.Optimizer:
    """Adam or AdamW over all parameters; weight decay is for matrices only."""
    matrices = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    others = [parameter for parameter in model.parameters() if parameter.dim() <= 1]
    kind = torch.optim.AdamW if settings.optimizer == "adamw" else torch.optim.Adam
    return kind(
        [{"params": matrices, "weight_decay": settings.weight_decay}, {"params": others, "weight_decay": 0.0}],
        lr=settings.learning_rate,
        betas=settings.betas,
        eps=settings.epsilon,
        fused=True,
    )


def _build_trainer(
    recipe: Recipe, run: Path, data: Dataset, device: torch.device, line: ProgressLine, ranks: Ranks
) -> Trainer:
    sizes = len(data.source.vocabulary), len(data.target.vocabulary)
    model = build_model(recipe.model, *sizes, data.source.vocabulary.pad, recipe.training.seed).to(device)
    loss = BatchLoss(model, recipe.training, data.target.vocabulary.pad)
    spread_loss = spread(loss, (*model.encoder, *model.decoder), ranks, shard=recipe.training.shard)
    optimizer = build_optimizer(model, recipe.training)
    newest = ranks.tell(newest_intact(run, recipe.training.average, line.log) if ranks.first else None)
    step = None if newest is None else int(newest)
    average = keep_moving_average(model, recipe.training.ema_decay)
    progress = Progress() if step is None else load_checkpoint(run, step, model, optimizer, average, ranks.rank)
    metrics = MetricsFile(run / "metrics.jsonl" if ranks.first else Path(os.devnull), progress.step)
    trainer = Trainer(recipe, run, data, model, spread_loss, optimizer, progress, metrics, line, average, ranks)
    precision = str(compute_dtype(recipe.training.precision, device)).removeprefix("torch.")
    line.log(
        f"{parameter_counts(model)['total']:,} parameters; {len(data.train):,} pairs in "
        f"{trainer.batches.groups_per_epoch:,} groups of like length; {precision} on {device}"
        f"{f', {ranks.size} processes' if ranks.size > 1 else ''}"
    )
    if step is not None:
        line.log(f"going on from step {progress.step:,}")
        metrics.write("event", **trainer.position(), message="resumed")
    return trainer


@contextmanager
def _stop_on_signals(trainer: Trainer) -> Iterator[None]:
    """Ctrl-C and SIGTERM stop after the current step, with a checkpoint; a second one stops at once."""

    def stop(number: int, frame: object) -> None:
        if trainer.stop:
            raise KeyboardInterrupt
        trainer.stop = True
        trainer.line.log("stopping after this step and saving a checkpoint; once more to stop at once")

    previous = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _read_tests(recipe: Recipe, data_directory: Path | None) -> dict[str, list[Pair]]:
    """The test corpora by name, read before training so that a fault in them costs no hours."""
    tests = {}
    for reference in recipe.data.test:
        name = reference if isinstance(reference, str) else reference.source
        tests[name] = read_pairs([reference], recipe.data, data_directory)
        if not tests[name]:
            raise UserError(f"data.test: {name} has no pair with text on both sides")
    return tests


def _finish(trainer: Trainer, model: Transformer, tests: dict[str, list[Pair]]) -> None:
    """Choose the weights, score them on the test corpora, and save the bundle."""
    recipe, progress, line = trainer.recipe, trainer.progress, trainer.line
    chosen = progress.averaged(recipe.training.average) if recipe.training.average > 1 else [progress.best_step]
    load_weights(model, average_weights(trainer.run, chosen))
    line.log(f"weights of step{'s' if len(chosen) > 1 else ''} {', '.join(f'{step:,}' for step in chosen)}")
    scores: dict[str, Any] = {}
    bundle = Bundle(recipe, model.eval(), trainer.data.source, trainer.data.target, scores)
    translator = Translator(bundle, device=str(trainer.device))
    for name, pairs in tests.items():
        line.update(1.0, f"scoring {name} …")
        sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
        report, translations = evaluate(translator, sources, references)
        scores[name] = report.to_dict()
        samples = [
            {"source": source, "reference": wanted, "translation": translation}
            for source, wanted, translation in zip(sources, references, translations[:SAMPLES], strict=False)
        ]
        more = break_down(translator, trainer.data.train.source, sources, references, translations)
        trainer.metrics.write("test", **trainer.position(), name=name, **report.to_dict(), samples=samples, **more)
        line.log(
            f"{name}: BLEU {report.bleu:.2f}, chrF {report.chrf:.2f}, perplexity {report.perplexity:.2f} "
            f"({report.sentences:,} sentences, {report.decoding})"
        )
    bundle.save(trainer.run / "bundle")
    line.update(1.0, f"done after {progress.step:,} steps in {format_seconds(progress.seconds)}")
    line.log(f"bundle: {trainer.run / 'bundle'}")


def _write_report(trainer: Trainer) -> None:
    data, progress = trainer.data, trainer.progress
    facts = [
        *((f"Parameters, {part.replace('_', ' ')}", f"{n:,}") for part, n in parameter_counts(trainer.model).items()),
        ("Vocabulary", f"{len(data.source.vocabulary):,} source, {len(data.target.vocabulary):,} target"),
        ("Training pairs", f"{len(data.train):,} ({data.dropped:,} left out by the filters)"),
        ("Training", f"{progress.step:,} steps in {format_seconds(progress.seconds)}, validation included"),
        ("Machine", f"{trainer.device}, {torch.get_num_threads()} threads, {platform.machine()}"),
        ("Versions", f"Python {platform.python_version()}, torch {torch.__version__}"),
    ]
    metrics = read_metrics(trainer.run / "metrics.jsonl")
    write_text(trainer.run / "report.html", render_report(trainer.recipe, facts, metrics))
    train, validations = (current_lines(metrics, kind) for kind in ("train", "validation"))
    draw_curves(trainer.recipe.name, train, validations, trainer.run / "curves.svg")
    trainer.line.log(f"report: {trainer.run / 'report.html'}")
