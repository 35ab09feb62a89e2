"""A training run: from a recipe to a bundle with its scores and a report."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Literal

import torch

from dragoman.bundle import Bundle
from dragoman.corpus.pair import Pair
from dragoman.dataset.prepare import Dataset, prepare
from dragoman.dataset.tokenizer_training import Tokenizers
from dragoman.doctor.data.cleaned_text import CleanedText, clean_data
from dragoman.doctor.training_checks import check_start
from dragoman.engines.direction import same_languages
from dragoman.errors import UserError, counted
from dragoman.model.transformer import parameter_counts
from dragoman.recipe import save_recipe
from dragoman.settings import Recipe
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.system.device import compute_dtype
from dragoman.system.files import restore_replaced, write_text
from dragoman.system.progress import ProgressLine
from dragoman.training.checkpoint import checkpoint_steps, load_checkpoint, newest_intact, refuse_other_versions
from dragoman.training.directory import (
    LEFT_OUT_FILE,
    PAIRS_FILE,
    check_place,
    lock_directory,
    removed_after_error,
    resume_command,
    saved_tokenizers,
    start_directory,
)
from dragoman.training.distributed import SINGLE_PROCESS, Ranks, join_ranks
from dragoman.training.finish import finish, read_tests
from dragoman.training.log import RunLog
from dragoman.training.metrics_file import MetricsFile, read_metrics
from dragoman.training.report.lines import complete_lines
from dragoman.training.report.report import render_report
from dragoman.training.report.run_facts import run_facts
from dragoman.training.report.verdict import judge_run, judge_text
from dragoman.training.stage_recipes import has_stages
from dragoman.training.stage_text import StageText
from dragoman.training.stages import Stages
from dragoman.training.start import open_start, record_start
from dragoman.training.start_comparison import StartScores, read_old_text
from dragoman.training.state import build_state, unsharded_model
from dragoman.training.stop import StopRequested, stop_on_signals
from dragoman.training.student_card import write_student_card
from dragoman.training.trainer import Trainer

REPORT_FILE = "report.html"

Resume = bool | Literal["auto"]
"""Whether to continue a run: yes, no, or if the run directory contains one."""


def train(recipe: Recipe, output: Path, *, resume: Resume = False, data_directory: Path | None = None) -> bool:
    """Train a translator in a run directory.

    Args:
        recipe: What to train.
        output: The run directory; it must be new or empty, or contain this run when resuming.
        resume: Continue from the newest checkpoint; 'auto' continues if there is a run, and starts one otherwise.
        data_directory: Mirror of the dataset catalog to read before downloading.

    Returns:
        Whether the run is finished: False if it was interrupted, with a checkpoint to resume from.

    Raises:
        UserError: The recipe, the data or the directory cannot be used.
    """
    with join_ranks() as ranks, ProgressLine(recipe.name, quiet=not ranks.first) as line:
        return _Run(recipe, output, data_directory, ranks, line).train(resume)


class _Run:
    """One process of a run. It must be freed before the context of `join_ranks` ends."""

    def __init__(
        self,
        recipe: Recipe,
        output: Path,
        data_directory: Path | None,
        ranks: Ranks,
        line: ProgressLine,
        main_run: Path | None = None,  # that this run is a stage of
    ) -> None:
        self.recipe, self.output, self.data_directory = recipe, output, data_directory
        self.ranks, self.line = ranks, line
        self.main_run = main_run or output
        self.written = recipe  # with its stages; `recipe` becomes that of the last one
        self.facts: list[tuple[str, str]] = []  # about the stages before
        self.text: StageText | None = None  # that they read
        self.cleaned: CleanedText | None = None
        self.start: Bundle | None = None
        self.start_scores: StartScores | None = None

    def train(self, resume: Resume) -> bool:
        """Prepare the data, train, and finish; see `train`."""
        if isinstance(resume, str):
            resume = bool(self.ranks.broadcast((self.output / "recipe.toml").exists()))
        self.ranks.use_threads(self.recipe.training.threads)
        device = self.ranks.device(self.recipe.training.device)
        with ExitStack() as locks:
            with self.ranks.first_before_others():
                made = self.ranks.first and check_place(self.written, self.output, resume)
                if resume and self._is_finished():
                    return True
                if self.ranks.first:
                    locks.enter_context(lock_directory(self.output))
                    refuse_other_versions(self.output)
            if has_stages(self.written):
                if not self._finish_stages(bool(resume), bool(made)):
                    return False
                made, resume = False, True
            started = (self.output / PAIRS_FILE).is_file()
            with self.ranks.first_before_others():
                data, tests = self._prepare(bool(resume), bool(made))
            return self._train(data, tests, device, started)

    def _prepare(self, resume: bool, made: bool) -> tuple[Dataset, dict[str, list[Pair]]]:
        """The training data and the test text; the first process writes the files that a run starts with."""
        with removed_after_error(self.output if made else None):
            self.start = open_start(self.recipe, self.output, self.line.log)
            tokenizers = saved_tokenizers(self.output) or self._start_tokenizers()
            cleaned = self._clean()
            data = prepare(cleaned, self.data_directory, tokenizers, self.line.log, self.line.update)
            tests = read_tests(self.recipe, self.data_directory) if self.ranks.first else {}
            if (
                self.start
                and self.ranks.first
                and same_languages(self.recipe.data.languages, self.start.recipe.data.languages)
            ):
                self.start_scores = read_old_text(self.start, self.recipe, self.data_directory, self.line.log)
        if self.ranks.first:
            start_directory(self.written, self.output, data)
            record_start(self.recipe, self.output)
            if self.cleaned:
                shutil.copyfile(self.cleaned.listing, self.output / LEFT_OUT_FILE)
        return data, tests

    def _finish_stages(self, resume: bool, made: bool) -> bool:
        """Finish all stages before the last one, which this run is then about; returns False if it must stop."""
        if self.ranks.first:
            save_recipe(self.written, self.output / "recipe.toml")

        def train_teacher(recipe: Recipe, directory: Path) -> bool:
            return _Run(recipe, directory, self.data_directory, self.ranks, self.line, self.output).train("auto")

        with removed_after_error(self.output if made else None):
            last = Stages(self.written, self.output, self.data_directory, self.ranks, self.line, train_teacher).finish()
        if last is None:
            return False
        self.recipe, self.text, self.facts = last.recipe, last.text, last.facts
        return True

    def _start_tokenizers(self) -> Tokenizers | None:
        """Those of the bundle that the run starts from or learns from, unless the recipe wants another vocabulary."""
        if teachers := self.written.distillation.teachers:
            return BundleEnsemble.load(teachers, self.recipe.data.languages).tokenizers_for(self.recipe.text)
        if self.start is None or self.recipe.training.new_vocabulary:
            return None
        return self.start.source, self.start.target

    def _clean(self) -> Recipe:
        """The recipe with cleaned training text, if it asks for that."""
        data, self.cleaned = clean_data(self.recipe.data, self.data_directory, self.line.log)
        for text in (str(self.cleaned), *self.cleaned.warnings) if self.cleaned else ():
            self.line.log(text)
        return self.recipe.model_copy(update={"data": data})

    def _is_finished(self) -> bool:
        """Whether nothing is left to do: a run stopped between its bundle and its report finishes once more."""
        bundle = self.output / "bundle"
        restore_replaced(bundle)
        has_report = (self.output / REPORT_FILE).exists() or not checkpoint_steps(self.output)
        if finished := has_report and self._has_bundle:
            self.line.log(f"{self.output}: this run is finished; its bundle is {bundle}")
        return finished

    @property
    def _has_bundle(self) -> bool:
        return (self.output / "bundle" / "bundle.json").exists()

    def _train(self, data: Dataset, tests: dict[str, list[Pair]], device: torch.device, started: bool) -> bool:
        torch.manual_seed(self.recipe.training.seed + self.ranks.rank)
        trainer = self._build_trainer(data, device)
        if started and not trainer.state.progress.step:
            self.line.log(f"{self.output}: no intact checkpoint; starting again from step 0")
        with closing(trainer.log.metrics), closing(trainer.batches):
            if self.ranks == SINGLE_PROCESS and not started:
                self._check_start(trainer)
            with stop_on_signals(trainer.stop, trainer.log.message):
                finished = trainer.train() and self._finish(trainer, tests)
                if self.ranks.first and (finished or not self._has_bundle):
                    self._write_report(trainer)
        if not finished:
            step = trainer.state.progress.step
            self.line.log(
                f"stopped after step {step:,}; continue with: {resume_command(self.main_run, self.data_directory)}"
            )
        return finished

    def _finish(self, trainer: Trainer, tests: dict[str, list[Pair]]) -> bool:
        """Score and save the model, which the first process does; returns False if a stop was requested meanwhile."""
        finished = True
        model = unsharded_model(trainer.state, self.recipe, trainer.data, self.ranks)
        try:
            with trainer.stop.interruptible():
                if model:
                    (self.output / REPORT_FILE).unlink(missing_ok=True)  # of an earlier stop; see `_is_finished`
                    student = bool(self.written.distillation.teachers)
                    finish(trainer, model, tests, self.start, self.start_scores, student)
                    if student:
                        validation = trainer.data.validation
                        self.facts += write_student_card(self.written, self.output, tests, validation, self.line)
        except StopRequested:
            finished = False
        (stopped,) = self.ranks.largest((not finished,))  # the others would go on to the next stage
        return not stopped

    def _build_trainer(self, data: Dataset, device: torch.device) -> Trainer:
        """The trainer, at the newest intact checkpoint if there is one."""
        recipe, ranks, run = self.recipe, self.ranks, self.output
        newest = newest_intact(run, recipe.training.average, self.line.log) if ranks.first else None
        step = ranks.broadcast(newest)
        if recipe.model.embedding_init == "cooccurrence" and step is None and self.start is None:
            self.line.log("counting which tokens occur together, for the initial embeddings")
        state = build_state(recipe, data, device, ranks, self.start, resumed=step is not None)
        if step is not None:
            load_checkpoint(run, int(step), state, ranks.rank)
        elif recipe.training.start_from is not None and self.start is None:
            raise UserError(
                f"{run}: no intact checkpoint, and {recipe.training.start_from}, which it started from, is gone"
            )
        metrics = MetricsFile(run / "metrics.jsonl" if ranks.first else Path(os.devnull), state.progress.step)
        trainer = Trainer(recipe, run, data, state, RunLog(self.line, metrics), ranks)
        precision = str(compute_dtype(recipe.training.precision, device)).removeprefix("torch.")
        self.line.log(
            f"{parameter_counts(state.model)['total']:,} parameters; {counted(len(data.train), 'pair')} in "
            f"{counted(trainer.batches.groups_per_epoch, 'group')} of similar length; {precision} on {device}"
            f"{f', {ranks.size} processes' if ranks.size > 1 else ''}"
        )
        if recipe.training.optimizer == "adam" and recipe.training.weight_decay:
            self.line.log(
                "training.weight_decay is L2 regularization with optimizer = 'adam'; use 'adamw' to decouple it"
            )
        if step is not None:
            self.line.log(f"continuing from step {state.progress.step:,}")
            trainer.log.event(trainer.position, "resumed")
        return trainer

    def _check_start(self, trainer: Trainer) -> None:
        """Warn about problems before the first step, without changing the random numbers of training."""
        data = trainer.data
        vocabularies = data.source.vocabulary, data.target.vocabulary
        with torch.random.fork_rng(devices=[]):
            findings = check_start(
                self.recipe, self.data_directory, len(data.train), trainer.state.model, *vocabularies
            )
        trainer.log.warn(trainer.position, findings)

    def _write_report(self, trainer: Trainer) -> None:
        facts = run_facts(trainer, self.cleaned, self.facts)
        finished_run = trainer.run if self._has_bundle else None
        path, metrics = trainer.run / REPORT_FILE, read_metrics(trainer.run / "metrics.jsonl")
        by_teachers, text = bool(self.written.distillation.teachers), self.text or self.cleaned
        pairs = sum(self.text.pairs) if self.text and not by_teachers else len(trainer.data.train)
        about_text = judge_text(pairs, text.left_out_share if text else 0.0, by_teachers)
        write_text(path, render_report(self.written, facts, metrics, finished_run, about_text))
        if finished_run:
            for verdict in judge_run(complete_lines(metrics), self.written.training, about_text).lines():
                self.line.log(verdict)
        self.line.log(f"report: {path}")
