"""A training run: from a recipe to a bundle with its scores and a report."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch

from dragoman.doctor.training_checks import check_start
from dragoman.errors import UserError
from dragoman.recipe import load_recipe
from dragoman.settings import Recipe
from dragoman.system.files import restore_replaced, write_text
from dragoman.system.progress import ProgressLine, format_seconds, no_log
from dragoman.system.run_paths import has_bundle, resume_command
from dragoman.system.time_limit import LEAST_TRAINING, TimeLimit
from dragoman.training.compare import (
    COMPARISON,
    NOT_COMPARED,
    NOT_FINISHED,
    compare_student,
    compared_sentences,
    keep_uncompared,
)
from dragoman.training.loop.distributed import SINGLE_PROCESS, Ranks, join_ranks
from dragoman.training.loop.progress import Progress
from dragoman.training.loop.state import build_state, unsharded_model
from dragoman.training.loop.stop import StopRequested, stop_on_signals
from dragoman.training.loop.trainer import Trainer
from dragoman.training.report.lines import complete_lines
from dragoman.training.report.report import render_report, run_facts
from dragoman.training.report.verdict import judge_run, judge_text
from dragoman.training.run.checkpoint import find_intact, load_checkpoint, read_copy, refuse_other_versions
from dragoman.training.run.directory import (
    LEFT_OUT_FILE,
    PAIRS_FILE,
    RECIPE_FILE,
    REPORT_FILE,
    RunResults,
    check_place,
    lock_directory,
    read_files_to_copy,
    read_minutes,
    record_minutes,
    removed_after_error,
    restore_files,
    restore_metrics,
    start_directory,
    update_text_paths,
)
from dragoman.training.run.finish import score_and_save
from dragoman.training.run.log import METRICS_FILE, MetricsFile, RunLog, read_metrics
from dragoman.training.run.run_data import RunData, read_run_data, record_start
from dragoman.training.run.tensorboard import DIRECTORY as TENSORBOARD
from dragoman.training.run.tensorboard import TensorBoardCopy
from dragoman.training.stages.recipes import has_stages
from dragoman.training.stages.stages import LastStage, Stages

SETUP = 0.15
"""How long the initial weights take, which may depend on which words occur together, relative to the time before."""

Resume = bool | Literal["auto"]
"""Whether to continue a run: yes, no, or if the run directory contains one."""


def train(
    recipe: Recipe,
    output: Path,
    *,
    resume: Resume = False,
    data_directory: Path | None = None,
    planned_speed: float | None = None,
    limit: TimeLimit | None = None,
    tensorboard: bool = False,
) -> bool:
    """Train a translator in a run directory.

    Args:
        recipe: What to train.
        output: The run directory; it must be new or empty, or contain this run when resuming.
        resume: Continue from the newest checkpoint; 'auto' continues if there is a run, and starts one otherwise.
        data_directory: Mirror of the dataset catalog to read before downloading.
        planned_speed: Target tokens per second that the plan of the recipe assumed; a run that is much slower says so.
        limit: When everything should be finished: training gets the rest of the time.
        tensorboard: Also write the metrics for TensorBoard; a run that has them continues them.

    Returns:
        Whether the run is finished: False if it was interrupted and can be resumed.

    Raises:
        UserError: The recipe, the data or the directory cannot be used.
    """
    with join_ranks() as ranks, ProgressLine(recipe.name, quiet=not ranks.first) as line:
        finished_before = RunResults(output).are_complete
        try:
            run = _Run(recipe, output, data_directory, ranks, line, output, planned_speed, limit, tensorboard)
            return run.train(resume)
        except (KeyboardInterrupt, SystemExit):  # a second signal, or one between stages or before the first step
            if not finished_before and RunResults(output).are_complete:
                return True  # too late to stop anything
            if (output / RECIPE_FILE).is_file():
                line.log(f"stopped; continue with: {resume_command(output, data_directory)}")
            raise


@dataclass(frozen=True)
class _Run:
    """One process of a run.

    Attributes:
        written: The recipe of the run, with its stages.
        output: The run directory.
        data_directory: Mirror of the dataset catalog.
        ranks: The processes of the run.
        line: Shows progress.
        main_run: The run that this one is a stage of; otherwise this one.
        planned_speed: See `train`; it applies to the last stage.
        limit: See `train`.
        tensorboard: See `train`.
        last: The last stage, once the others are finished.
    """

    written: Recipe
    output: Path
    data_directory: Path | None
    ranks: Ranks
    line: ProgressLine
    main_run: Path
    planned_speed: float | None = None
    limit: TimeLimit | None = None
    tensorboard: bool = False
    last: LastStage | None = None

    @property
    def recipe(self) -> Recipe:
        """What is trained."""
        return self.last.recipe if self.last else self.written

    def train(self, resume: Resume) -> bool:
        """Train in all stages, see `train`."""
        if resume:
            with self.ranks.first_before_others():
                if self.ranks.first:
                    self._restore_files()
        if isinstance(resume, str):
            resume = bool(self.ranks.broadcast((self.output / RECIPE_FILE).exists()))
        self.ranks.use_threads(self.recipe.training.threads)
        self.ranks.device(self.recipe.training.device)  # refused before the directory is made
        with ExitStack() as locks:
            with self.ranks.first_before_others():
                made = self.ranks.first and check_place(self.written, self.output, resume)
                restore_replaced(self.output / "bundle")
                if resume and not (results := RunResults(self.output)).need_training:
                    return not self.ranks.first or self._end_again(results)
                if self.ranks.first:
                    locks.enter_context(lock_directory(self.output))
                    refuse_other_versions(self.output)
                    if self.limit and not resume:  # not before the lock: another process may be training here
                        record_minutes(self.output, self.limit.minutes)
            if not has_stages(self.written):
                return self._train(bool(made))
            last = self._finish_stages(bool(made))
            return last is not None and replace(self, last=last)._train(made=False)

    def _restore_files(self) -> None:
        """Restore damaged files. The text of a teacher is that of its run, which may have been moved."""
        moved = None if self.output == self.main_run else self.written.data
        restore_files(self.output, self.line.log, moved)
        if moved:
            update_text_paths(self.output, moved)

    def _finish_stages(self, made: bool) -> LastStage | None:
        """Finish all stages before the last one; returns None if the run must stop."""

        def train_teacher(recipe: Recipe, directory: Path) -> bool:
            minutes = recipe.training.minutes
            limit = TimeLimit(minutes, time.monotonic()) if self.limit and minutes else None  # with its own end
            if (started := directory / RECIPE_FILE).is_file():
                # its training has fewer minutes, because of its end; those of earlier versions have a whole schedule
                kept = load_recipe(started).training.model_dump(include={"minutes", "schedule_part"})
                recipe = recipe.model_copy(update={"training": recipe.training.model_copy(update=kept)})
            return replace(self, written=recipe, output=directory, planned_speed=None, limit=limit).train("auto")

        with removed_after_error(self.output if made else None):
            return Stages(self.written, self.output, self.data_directory, self.ranks, self.line, train_teacher).finish()

    def _with_time_left(self, limit: TimeLimit, data: RunData) -> _Run:
        """This run with a training that leaves time for its end."""
        compared = compared_sentences(self.written) if self.written.distillation.teachers else 0
        sentences = len(data.dataset.validation) + sum(map(len, data.tests.values())) + compared
        if data.start_scores:  # validation and old text twice, and the tests once more
            old = sum(map(len, data.start_scores.old_text.values()))
            sentences += 2 * (self.recipe.training.validation_sentences + old) + sum(map(len, data.tests.values()))
        planned = self.recipe.training.minutes if self.last else None
        minutes, end = limit.training_minutes(sentences, SETUP * limit.spent, planned), limit.end_seconds(sentences)
        total = limit.spent + 60 * minutes + end
        late = (
            ""
            if total <= 60 * limit.minutes + 1
            else f"; {format_seconds(total)} in all: training gets {LEAST_TRAINING:.0%}"
        )
        self.line.log(
            f"time: {format_seconds(limit.spent)} so far, {format_seconds(60 * minutes)} for training with validation, "
            f"about {format_seconds(end)} for final scores and the report{late}"
        )
        changed = round(minutes, 4) - (self.recipe.training.minutes or 0.0)  # that of all stages changes as much

        def with_time(recipe: Recipe) -> Recipe:
            training = recipe.training.model_copy(update={"minutes": (recipe.training.minutes or 0.0) + changed})
            return recipe.model_copy(update={"training": training})

        last = replace(self.last, recipe=with_time(self.last.recipe)) if self.last else None
        return replace(self, written=with_time(self.written), last=last)

    def _end_again(self, results: RunResults) -> bool:
        """Tell that the run is finished, and compare a student if that is left to do; returns False if interrupted."""
        results.require_bundle()
        restore_metrics(self.output, self.line.log)
        self.line.log(f"{self.output}: this run is finished; its bundle is {self.output / 'bundle'}")
        if results.lack_comparison:
            for place in (self.output, self.output / "bundle"):
                if not os.access(place, os.W_OK):
                    self.line.log(f"{NOT_COMPARED}: {place} is not writable")
                    return True
            with lock_directory(self.output):
                return self._compare()
        if not results.have_report:
            self.line.log("its report is missing, and cannot be written without an intact checkpoint of the last step")
        return True

    def _compare(self, stopped: bool = False) -> bool:
        """Compare a finished student with its teachers; returns False if a stop was requested before or meanwhile."""
        finished = not stopped and compare_student(
            self.written, self.output, self.data_directory, self.line, self._limit_of_end()
        )
        if not finished:
            command = resume_command(self.output, self.data_directory)
            self.line.log(f"to compare the student with its teacher later, run: {command}")
        return finished

    def _train(self, made: bool) -> bool:
        """Train in the last stage, or the only one; `made` says whether the directory is new."""
        started = (self.output / PAIRS_FILE).is_file()
        with self.ranks.first_before_others(), removed_after_error(self.output if made else None):
            teachers = self.written.distillation.teachers
            data = read_run_data(self.recipe, self.output, self.data_directory, self.ranks, self.line, teachers)
            run = self._with_time_left(self.limit, data) if self.limit and not started else self
            if self.ranks.first:  # the files that a run starts with
                start_directory(run.written, self.output, data.dataset)
                record_start(self.output, data.start)
                if data.cleaned:
                    data.cleaned.write_listing(self.output / LEFT_OUT_FILE)
        return run._train_on(data, started)

    def _train_on(self, data: RunData, started: bool) -> bool:
        """Train on prepared text; `started` says whether there may be checkpoints."""
        torch.manual_seed(self.recipe.training.seed + self.ranks.rank)
        trainer = self._build_trainer(data, started)
        with closing(trainer.log.metrics), closing(trainer.batches):
            if self.ranks == SINGLE_PROCESS and not started:
                self._check_start(trainer)
            with stop_on_signals(trainer.stop, trainer.log.message):
                finished = trainer.train() and self._finish(trainer, data)
                if self.ranks.first and (finished or not has_bundle(self.output)):
                    self._write_report(trainer, data, finished)
            (stopped,) = self.ranks.largest((trainer.stop.requested,))  # after it can still be set
        return self._end(trainer, finished, bool(stopped))

    def _end(self, trainer: Trainer, finished: bool, stopped: bool) -> bool:
        """Compare a student, or say how to continue; returns whether the run is finished, and no stop was requested."""
        command = resume_command(self.main_run, self.data_directory)
        if not finished:
            self.line.log(f"stopped after step {trainer.state.progress.step:,}; continue with: {command}")
        elif stopped and self.output != self.main_run:
            self.line.log(f"stopped between two stages; continue with: {command}")
            return False
        elif self.written.distillation.teachers and self.ranks.first:
            return self._compare(stopped)
        return finished

    def _finish(self, trainer: Trainer, data: RunData) -> bool:
        """Score and save the model, which the first process does; returns False if a stop was requested before."""
        saved, model = True, unsharded_model(trainer.state, self.recipe, data.dataset, self.ranks)
        try:
            with trainer.stop.interruptible():
                if model:
                    (self.output / REPORT_FILE).unlink(missing_ok=True)  # of an earlier stop, see `need_training`
                    score_and_save(trainer, model, data, self.written, self._limit_of_end())
        except StopRequested:
            saved = False
        (stopped,) = self.ranks.largest((not saved,))  # the others would go on to the next stage
        return not stopped

    def _limit_of_end(self) -> TimeLimit | None:
        """The limit of the command; of a run that was resumed, the time that it reserved for its end."""
        minutes = read_minutes(self.output) if self.limit is None else None
        return self.limit if minutes is None else TimeLimit.for_end(minutes)

    def _build_trainer(self, data: RunData, started: bool) -> Trainer:
        """The trainer, at the newest intact checkpoint if there is one; `started` says whether there may be one."""
        recipe, ranks, run, start = self.recipe, self.ranks, self.output, data.start
        device = ranks.device(recipe.training.device)
        intact = find_intact(run, self.line.log if ranks.first else no_log)
        step = ranks.broadcast(intact.newest)
        if recipe.model.embedding_init == "cooccurrence" and step is None and start is None:
            self.line.log("counting which tokens occur together, for the initial embeddings")
        state = build_state(recipe, data.dataset, device, ranks, start, resumed=step is not None)
        if step is not None:
            load_checkpoint(run, int(step), state, ranks.rank)
            self._forget_lost(state.progress, intact.usable)
            state.progress.repeat_lost_validation()
        elif recipe.training.start_from is not None and start is None:
            raise UserError(f"{run}: no intact checkpoint, and {recipe.training.start_from} cannot be used (see above)")
        elif started:
            self.line.log(f"{run}: no intact checkpoint; starting again from step 0")
        copied = read_copy(run, METRICS_FILE, state.progress.step) if ranks.first else None
        path = run / METRICS_FILE if ranks.first else Path(os.devnull)
        metrics = MetricsFile(path, state.progress.step, copied[1] if copied else b"")
        if ranks.first and (self.tensorboard or (run / TENSORBOARD).exists()):
            metrics.copy_to(TensorBoardCopy(run, state.progress.seconds))
        log, copies = RunLog(self.line, metrics), read_files_to_copy(run)
        trainer = Trainer(
            recipe, run, data.dataset, state, log, ranks, self.planned_speed, copies, resumed=step is not None
        )
        trainer.log_model()
        if step is not None:
            self.line.log(f"continuing from step {state.progress.step:,}")
            trainer.log.event(trainer.position, "resumed")
        return trainer

    def _forget_lost(self, progress: Progress, usable: set[int]) -> None:
        """Choose the best validation among those whose checkpoints can be used."""
        best = progress.best_step
        progress.keep_only(usable)
        if progress.best_step != best:
            instead = f"now the best is at step {progress.best_step:,}" if progress.best_step else "no other is left"
            self.line.log(f"the weights of the best validation, at step {best:,}, are lost; {instead}")

    def _check_start(self, trainer: Trainer) -> None:
        """Warn about problems before the first step, without changing the random numbers of training."""
        data = trainer.data
        vocabularies = data.source.vocabulary, data.target.vocabulary
        with torch.random.fork_rng(devices=[]):
            findings = check_start(
                self.recipe, self.data_directory, len(data.train), trainer.state.model, *vocabularies
            )
        if self.written.distillation.teachers:  # translations of teachers often repeat, and users cannot edit them
            findings = [each for each in findings if each.code != "duplicates"]
        trainer.log.warn(trainer.position, findings)

    def _write_report(self, trainer: Trainer, data: RunData, finished: bool) -> None:
        """Write the report of a finished or a stopped run; it says that a student is not compared yet."""
        uncompared = finished and self.written.distillation.teachers
        stages = self.last.facts if self.last else []
        facts = run_facts(trainer, data.cleaned, [*stages, *([(COMPARISON, f"{NOT_FINISHED}.")] if uncompared else [])])
        finished_run = trainer.run if has_bundle(self.output) else None
        path, metrics = trainer.run / REPORT_FILE, read_metrics(trainer.run / METRICS_FILE)
        about_text = self._judge_text(data, trainer.position["epoch"])
        if uncompared:
            keep_uncompared(trainer.run, facts, about_text)
        write_text(path, render_report(self.written, facts, metrics, finished_run, about_text))
        if finished_run:
            for verdict in judge_run(complete_lines(metrics), self.written, about_text).lines():
                self.line.log(verdict)
        self.line.log(f"report: {path}")

    def _judge_text(self, data: RunData, epochs: float) -> list[str]:
        """Problems of the training text: that of people, or translations of teachers if there is no other."""
        text = self.last.text if self.last else None
        is_translated = self.last.is_translated if self.last and self.written.distillation.teachers else None
        if is_translated is not None:
            pairs = len(data.dataset.train)  # teachers translate other text in each direction
        else:
            pairs = sum(text.pairs) if text else data.dataset.distinct_pairs
        cleaning = text or data.cleaned
        return judge_text(pairs, cleaning.left_out_share if cleaning else 0.0, epochs, is_translated)
