"""The training loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from dragoman.dataset.batch import Batch
from dragoman.dataset.prepare import Dataset
from dragoman.errors import UserError
from dragoman.settings import Recipe
from dragoman.training.batches import BatchStream
from dragoman.training.budget import Budget, Stopwatch
from dragoman.training.checkpoint import WEIGHTS, prune, save_checkpoint, snapshot
from dragoman.training.distributed import SINGLE_PROCESS, Ranks, full_tensor
from dragoman.training.gradients import GradientComputer
from dragoman.training.log import LogPosition, RunLog
from dragoman.training.scheduled_sampling import draw_teacher_forcing
from dragoman.training.schedules import learning_rate
from dragoman.training.state import TrainingState, unsharded_model, update_moving_average
from dragoman.training.step_statistics import StepStatistics
from dragoman.training.validator import Validator

SAMPLES = 10
"""Translations that are logged with each validation."""


class Trainer:
    """Trains a model; only `state` and the random generators change from step to step.

    Args:
        recipe: The settings.
        run: The run's directory.
        data: Ids to train on, texts to validate on.
        state: Model, optimizer and progress, changed in place.
        log: Logs metrics and messages.
        ranks: The processes that share the work; all of them have the same weights.
    """

    def __init__(
        self, recipe: Recipe, run: Path, data: Dataset, state: TrainingState, log: RunLog, ranks: Ranks = SINGLE_PROCESS
    ) -> None:
        self.recipe, self.settings, self.run, self.data = recipe, recipe.training, run, data
        self.state, self.log, self.ranks = state, log, ranks
        self.batches = BatchStream(recipe, data, state.progress, ranks, state.device)
        self.budget = Budget(self.settings, self.batches.groups_per_epoch, self.batches.groups_per_step)
        self.gradients = GradientComputer(state, self.settings.length_groups, ranks, log.message)
        self.validator = Validator(recipe, data, state.device)
        self.stop = False  # set to stop after the current step, with a checkpoint
        self._statistics = StepStatistics()

    def train(self) -> bool:
        """Train until the budget is spent or `stop` is set; returns whether training is finished."""
        progress, stopwatch = self.state.progress, Stopwatch(self.state.progress.seconds)
        saved = progress.seconds
        while not self.budget.is_finished(progress):
            self.take_step(self.batches.next_step())
            progress.seconds, stop = self.ranks.largest((stopwatch.seconds, self.stop))
            if progress.step % self.settings.log_every == 0:
                self._log_steps()
            if validate := self.budget.validations_due(progress) > progress.validations:
                self.validate()
                (progress.seconds,) = self.ranks.largest((stopwatch.seconds,))
            if validate or stop or progress.seconds - saved > 60 * self.settings.checkpoint_minutes:
                self.save()
                saved = progress.seconds
            if stop:
                break
        return self.budget.is_finished(progress)

    def take_step(self, batches: Sequence[list[Batch]]) -> None:
        """One optimizer step down the gradient of the mean loss over all target tokens of the batches."""
        state, progress = self.state, self.state.progress
        rate = learning_rate(self.settings, self.recipe.model.d_model, progress.step + 1, self.budget.spent(progress))
        for parameters in state.optimizer.param_groups:
            parameters["lr"] = rate
        state.model.train()
        teacher_forcing = draw_teacher_forcing(self.settings, progress, len(batches))
        losses = self.gradients.compute(batches, teacher_forcing)
        state.scaler.unscale_(state.optimizer)
        norm = full_tensor(nn.utils.clip_grad_norm_(state.model.parameters(), self.settings.clip_norm or math.inf))
        if state.device.type == "cpu":  # on a GPU, this would wait for the step; `save` and `validate` check there
            overflow = state.scaler.is_enabled()  # of float16, in which case the scaler skips the step
            self._require_finite(*(sums for _, sums in losses), *([] if overflow else [norm]))
        state.scaler.step(state.optimizer)
        state.scaler.update()
        if state.moving_average is not None and self.settings.ema_decay is not None:
            update_moving_average(state.moving_average, state.model, self.settings.ema_decay, self.batches.step)
        self.data.train.release_pages()
        self._statistics.add(losses, norm, rate)
        progress.step, progress.epoch, progress.group = self.batches.step, self.batches.epoch, self.batches.group
        progress.batches += len(teacher_forcing)
        progress.forced += teacher_forcing.count(1.0)

    def validate(self) -> None:
        """Score the model, log the scores, and record whether it is the best so far and whether to stop early."""
        progress, spent = self.state.progress, self.budget.spent(self.state.progress)
        model = unsharded_model(self.state, self.recipe, self.data, self.ranks)
        self.log.validating(self.position, spent)
        self._require_finite(*model.parameters())
        report, translations = self.validator.evaluate(model) if self.ranks.first else (None, [])
        score = self.ranks.broadcast(self.validator.score(report) if report else None)
        loss = self.ranks.broadcast(report.loss if report else None)
        assert score is not None
        assert loss is not None
        progress.validations = self.budget.validations_due(progress)
        best = progress.record_validation(score, loss, self.settings.early_stopping)
        if report:
            forced = {"teacher_forced": round(progress.forced / max(1, progress.batches), 4)}
            more: dict[str, Any] = {} if self.settings.scheduled_sampling == "none" else dict(forced)
            samples = self.validator.samples(translations)[:SAMPLES]
            findings = self.validator.check(report, translations, spent)
            more |= {"baseline": asdict(self.validator.baseline), "problems": [each.message for each in findings]}
            self.log.validation(self.position, report, best, **more, samples=samples)
            self.log.warn(self.position, findings)
        progress.batches = progress.forced = 0
        self._statistics = StepStatistics()

    def save(self) -> None:
        """Save a checkpoint, and delete those that are no longer needed; every process must call this."""
        progress = self.state.progress
        progress.scaler = self.state.scaler.state_dict()
        files = snapshot(self.state, self.ranks)
        self._require_finite(*files[WEIGHTS].values())
        with self.ranks.first_before_others():
            if self.ranks.first:
                save_checkpoint(self.run, progress, files)
                prune(self.run, progress.needed(self.settings.average) | {progress.step})

    def _require_finite(self, *values: Tensor) -> None:
        """Stop if training has diverged, before a checkpoint is saved."""
        if not all(bool(value.isfinite().all()) for value in values):
            raise UserError(
                f"training diverged after step {self.state.progress.step:,}: the loss or the weights are NaN or "
                "infinite; earlier checkpoints are kept; train again with a lower training.learning_rate or clip_norm"
            )

    @property
    def position(self) -> LogPosition:
        """Step, epoch (with a fraction) and seconds."""
        progress = self.state.progress
        epoch = progress.epoch + progress.group / self.batches.groups_per_epoch
        return {"step": progress.step, "epoch": round(epoch, 4), "seconds": round(progress.seconds, 2)}

    def _log_steps(self) -> None:
        values = self._statistics.summary(self.ranks)
        self.log.step(self.position, values, self.budget.spent(self.state.progress))
        self._statistics = StepStatistics()
