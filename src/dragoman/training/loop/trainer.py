"""The training loop: steps with their gradients, validations, and checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dragoman.bundle import Bundle, choose_direction
from dragoman.corpus.pair import Languages, Pair
from dragoman.dataset.batch import Batch
from dragoman.dataset.prepare import Dataset, sample_languages
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.training_checks import check_validation
from dragoman.engines import EngineRequest
from dragoman.errors import UserError, counted
from dragoman.evaluation.baseline import Baseline, trivial_baseline
from dragoman.evaluation.evaluate import Report, evaluate, mean_report
from dragoman.evaluation.metrics import perplexity
from dragoman.languages.identify import learn_profiles
from dragoman.model.transformer import Transformer, parameter_counts
from dragoman.settings import Recipe
from dragoman.settings.decoding import PLAIN_SEARCH
from dragoman.system.device import compute_dtype
from dragoman.text.multilingual import name_direction
from dragoman.training.loop.batch_loss import draw_teacher_forcing
from dragoman.training.loop.batches import BatchStream
from dragoman.training.loop.distributed import SINGLE_PROCESS, Ranks, full_tensor, gradient_exchange, local_tensor
from dragoman.training.loop.optimizers import learning_rate
from dragoman.training.loop.progress import Budget
from dragoman.training.loop.speed_watch import SpeedWatch
from dragoman.training.loop.state import (
    TrainingState,
    load_weights,
    random_state,
    set_random_state,
    unsharded_model,
    update_moving_average,
)
from dragoman.training.loop.stop import StopFlag, StopRequested
from dragoman.training.run.checkpoint import (
    AVERAGE,
    average_weights,
    checkpoint_steps,
    prune,
    save_checkpoint,
    snapshot,
)
from dragoman.training.run.log import METRICS_FILE, LogPosition, RunLog
from dragoman.translator import Translator

Losses = list[tuple[list[Batch], Tensor]]
"""Each microbatch, and its loss with and without label smoothing, summed over its target tokens, (2,)."""


class GradientComputer:
    """Computes gradients; a process that runs out of memory uses smaller microbatches from then on.

    Args:
        state: The model, its loss and its loss scaling.
        groups: Groups of similar length that this process computes at once.
        ranks: The processes that share each batch.
        log: Called with a message when memory runs out.
        stop: Checked between microbatches.
    """

    def __init__(
        self, state: TrainingState, groups: int, ranks: Ranks, log: Callable[[str], None], stop: StopFlag
    ) -> None:
        self.state, self.groups, self.ranks, self.log, self.stop = state, groups, ranks, log, stop
        self.groups_at_once = groups

    def compute(self, batches: Sequence[list[Batch]], teacher_forcing: Sequence[float]) -> Losses:
        """Set the gradients to those of the mean loss over all target tokens of all batches and processes.

        If memory runs out, nothing is skipped: the step starts again with smaller microbatches and the same random
        numbers.

        Args:
            batches: This process's share of each batch of the step.
            teacher_forcing: For each batch, the probability that an input of the decoder is taken from the reference.

        Raises:
            UserError: Not even a single group fits into memory.
            StopRequested: A process must stop; the random generators are as before the step.
        """
        generators = random_state(self.state.device)
        try:
            while (losses := self._attempt(batches, teacher_forcing)) is None:
                torch.cuda.empty_cache()
                set_random_state(generators, self.state.device)
        except StopRequested:
            set_random_state(generators, self.state.device)
            raise
        return losses

    def _attempt(self, batches: Sequence[list[Batch]], teacher_forcing: Sequence[float]) -> Losses | None:
        """The losses, or None if memory ran out."""
        (tokens,) = self.ranks.sum((sum(group.target_tokens for batch in batches for group in batch),))
        microbatches = [
            (part, probability)
            for batch, probability in zip(batches, teacher_forcing, strict=True)
            for part in self._split(batch)
        ]
        losses: Losses = []
        self.state.optimizer.zero_grad()
        try:
            for number, (part, probability) in enumerate(microbatches, start=1):
                if number > 1:
                    self._check_stop()
                with gradient_exchange(self.state.loss, number == len(microbatches)):
                    loss, nll = self.state.loss(part, probability)
                    mean = loss / tokens * self.ranks.size  # the gradients of the processes are averaged
                    self.state.scaler.scale(mean).backward()
                losses.append((part, torch.stack((loss.detach(), nll))))
        except torch.OutOfMemoryError as error:
            self._shrink(error)
            return None
        return losses

    def _check_stop(self) -> None:
        """A step of many microbatches may take longer than a scheduler waits before it kills the processes."""
        (requested,) = self.ranks.largest((self.stop.requested,))
        if requested:
            raise StopRequested

    def _split(self, batch: list[Batch]) -> list[list[Batch]]:
        size = self.groups_at_once
        return [batch[start : start + size] for start in range(0, len(batch), size)]

    def _shrink(self, error: torch.OutOfMemoryError) -> None:
        """Take half as many groups at once."""
        step = self.state.progress.step + 1
        if self.groups_at_once == 1 or self.ranks.size > 1:
            raise UserError(
                f"out of memory in step {step:,}: {str(error).splitlines()[0]}; lower training.batch_tokens, and raise "
                "training.accumulation by the same factor to get the same gradients"
            ) from error
        self.groups_at_once = (self.groups_at_once + 1) // 2
        self.log(
            f"out of memory in step {step:,}: from now on {self.groups_at_once} of {self.groups} groups at once, which "
            "is slower, and uses other dropout masks"
        )


MIN_BLEU = 1.0
"""Lower values of BLEU count as zero: they are noise, by which weights of the first steps can win."""


LOSS_PAIRS = 3000
"""Validation pairs of all directions together whose loss is computed, in a model with several directions."""

LEAST_TRANSLATED = 20
"""Validation pairs of a direction that are translated at least, if it has so many."""


@dataclass(frozen=True)
class DirectionReport:
    """The validation of a direction.

    Attributes:
        languages: Source and target; None in a model with one direction.
        report: The scores.
        pairs: The validation pairs.
        translations: The translations of the first of them.
    """

    languages: Languages | None
    report: Report
    pairs: Sequence[Pair]
    translations: Sequence[str]

    def to_dict(self) -> dict[str, Any]:
        """What metrics.jsonl has of a direction."""
        report = self.report
        names = ("sentences", "bleu", "chrf", "loss", "length_ratio", "wrong_language")
        return {name: getattr(report, name) for name in names}


class Validator:
    """Scores models on the validation pairs of each direction.

    Args:
        recipe: Decoding settings, and the score that decides which checkpoint is best.
        data: The validation pairs and the tokenizers.
        device: Where to compute.
    """

    def __init__(self, recipe: Recipe, data: Dataset, device: torch.device) -> None:
        self.recipe, self.data, self.device = recipe, data, device

    def evaluate(self, model: Transformer) -> list[DirectionReport]:
        """Scores on the validation pairs, of which the first `validation_sentences` are translated."""
        bundle = Bundle(self.recipe, model.eval(), self.data.source, self.data.target, profiles=self._profiles)
        quick = {**PLAIN_SEARCH, "beam_size": 1, "n_best": 1}
        decoding = self.recipe.decoding.model_copy(update=quick)
        reports = []
        for languages, pairs in self._pairs.items():
            view = bundle if languages is None else choose_direction(bundle, *languages)
            # In float32 on every device, so that scores and the best checkpoint do not depend on it.
            translator = Translator.open(EngineRequest(view, decoding, self.device, compute_type="float32"))
            report, translations = evaluate(
                translator,
                [pair.source for pair in pairs],
                [pair.target for pair in pairs],
                translate_at_most=self._translated,
            )
            reports.append(DirectionReport(languages, report, pairs, translations))
        return reports

    @cached_property
    def _pairs(self) -> dict[Languages | None, list[Pair]]:
        """The validation pairs of each direction; of several directions, a random sample, always the same."""
        if not (directions := self.data.directions):
            return {None: self.data.validation}
        most, sample = max(self._translated, LOSS_PAIRS // len(directions)), dict[Languages | None, list[Pair]]()
        for direction in directions:
            pairs = [pair for pair in self.data.validation if pair.direction == direction]
            order = np.random.default_rng(0).permutation(len(pairs))[:most]
            if len(pairs):
                sample[direction] = [pairs[index] for index in order]
        return sample

    @property
    def _translated(self) -> int:
        sentences, directions = self.recipe.training.validation_sentences, len(self.data.directions)
        return max(LEAST_TRANSLATED, sentences // directions) if directions else sentences

    @cached_property
    def _profiles(self) -> dict[str, str]:
        return learn_profiles(sample_languages(self.data))

    def score(self, report: Report) -> float:
        """The score that decides which checkpoint is best; higher is better."""
        best_by = self.recipe.training.best_by
        if best_by == "bleu":
            return report.bleu if report.bleu >= MIN_BLEU else 0.0
        return -report.loss if best_by == "loss" else report.chrf

    @cached_property
    def baselines(self) -> dict[Languages | None, Baseline]:
        """For each direction, the score of a trivial translator on the validation pairs that are translated."""
        most = self._translated
        return {
            languages: trivial_baseline([pair.source for pair in pairs[:most]], [pair.target for pair in pairs[:most]])
            for languages, pairs in self._pairs.items()
        }


LOWEST_PEAK, HIGHEST_PEAK = 1e-5, 1e-1
"""Usual learning rates after the warm-up."""

SAMPLES = 10


def describe_sample(pair: Pair, translation: str) -> dict[str, str]:
    """What metrics.jsonl has of a translated pair."""
    direction = {"direction": name_direction(pair.direction)} if pair.direction else {}
    return {"source": pair.source, "reference": pair.target, "translation": translation, **direction}


"""Translations that are logged with each validation."""


class Trainer:
    """Trains a model. What a checkpoint must contain is in `state` and the random generators.

    Args:
        recipe: The settings.
        run: The run's directory.
        data: Ids to train on, texts to validate on.
        state: Model, optimizer and progress, changed in place.
        log: Logs metrics and messages.
        ranks: The processes that share the work; all of them have the same weights.
        planned_speed: Target tokens per second that a plan assumed.
        copies: Files of the run by name, of which each checkpoint gets a copy.
        resumed: Whether the state is that of a checkpoint.
    """

    def __init__(
        self,
        recipe: Recipe,
        run: Path,
        data: Dataset,
        state: TrainingState,
        log: RunLog,
        ranks: Ranks = SINGLE_PROCESS,
        planned_speed: float | None = None,
        copies: Mapping[str, bytes] | None = None,
        *,
        resumed: bool = False,
    ) -> None:
        self.recipe, self.settings, self.run, self.data = recipe, recipe.training, run, data
        self.state, self.log, self.ranks = state, log, ranks
        self.batches = BatchStream(recipe, data, state.progress, ranks, state.device)
        self.budget = Budget(self.settings, self.batches.groups_per_epoch, self.batches.groups_per_step)
        self.stop = StopFlag()
        self.gradients = GradientComputer(state, self.batches.groups_at_once, ranks, log.message, self.stop)
        self.validator = Validator(recipe, data, state.device)
        self._statistics, self._speed = StepStatistics(), SpeedWatch(planned_speed)
        self._step_tokens = 0  # target tokens of the latest step, in this process
        self._copies = dict(copies or {})
        self._average: Transformer | None = None
        self._saved = state.progress.step if resumed else None  # the step of the newest checkpoint

    def log_model(self) -> None:
        """Log what is trained, and settings that have another effect than they seem to have."""
        model, settings = self.recipe.model, self.settings
        precision = str(compute_dtype(settings.precision, self.state.device)).removeprefix("torch.")
        self.log.message(
            f"{parameter_counts(self.state.model)['total']:,} parameters; {counted(len(self.data.train), 'pair')} in "
            f"{counted(self.batches.groups_per_epoch, 'group')} of sentences of similar length; {precision} on "
            f"{self.state.device}{f', {self.ranks.size} processes' if self.ranks.size > 1 else ''}"
        )
        if settings.optimizer == "adam" and settings.weight_decay:
            self.log.message(
                "training.weight_decay is L2 regularization with optimizer = 'adam'; use 'adamw' to decouple it"
            )
        peak = learning_rate(settings, model.d_model, max(settings.warmup_steps, 1), 0.0)
        if not LOWEST_PEAK <= peak <= HIGHEST_PEAK:
            what = "a factor of the formula, usually 1 or 2" if settings.schedule == "noam" else "the learning rate"
            unusual = "low" if peak < LOWEST_PEAK else "high"
            self.log.message(
                f"warning: the learning rate rises to {peak:.1g}, which is unusually {unusual}; training.learning_rate "
                f"is {what}"
            )
        if settings.r_drop and not (model.dropout or model.attention_dropout or model.activation_dropout):
            self.log.message("training.r_drop has no effect without dropout, and makes each step slower")

    def train(self) -> bool:
        """Train until the budget is spent or a stop is requested; returns whether training is finished."""
        progress, started, before_start = self.state.progress, time.monotonic(), self.state.progress.seconds
        saved, stop = progress.seconds, 0.0
        while not stop and not self.budget.is_finished(progress):
            step, before, validating = progress.step, progress.seconds, self._validation_is_due
            if validating:
                self.save()  # a validation can fail
            validated = len(progress.validated)
            try:
                self.validate() if validating else self.take_step(self.batches.next_step())
            except StopRequested:
                self.stop.requested = True  # in all processes
            seconds = before_start + time.monotonic() - started
            progress.seconds, stop = self.ranks.largest((seconds, self.stop.requested))
            if len(progress.validated) > validated:  # not interrupted
                progress.validation_seconds += progress.seconds - before
            if progress.step > step:
                self._log_step(progress.seconds - before)
            elapsed = progress.seconds - saved > 60 * self.settings.checkpoint_minutes
            if stop or validating or (elapsed and not self._validation_is_due):
                self.save()
                saved = progress.seconds
        is_finished = self.budget.is_finished(progress)
        if is_finished and (slow := self._speed.end()):
            self.log.speed(self.position, slow)
        return is_finished

    def take_step(self, batches: Sequence[list[Batch]]) -> None:
        """One optimizer step down the gradient of the mean loss over all target tokens of the batches."""
        state, progress = self.state, self.state.progress
        rate = learning_rate(self.settings, self.recipe.model.d_model, progress.step + 1, self.budget.spent(progress))
        for parameters in state.optimizer.param_groups:
            parameters["lr"] = rate
        state.model.train()
        teacher_forcing = draw_teacher_forcing(self.settings, progress.step, self.batches.epoch, len(batches))
        losses = self.gradients.compute(batches, teacher_forcing)
        state.scaler.unscale_(state.optimizer)
        norm = full_tensor(nn.utils.clip_grad_norm_(state.model.parameters(), self.settings.clip_norm or math.inf))
        if state.device.type == "cpu":  # on a GPU, this would wait for the step; `save` and `validate` check there
            overflow = state.scaler.is_enabled()  # of float16, in which case the scaler skips the step
            if not all_finite(*(sums for _, sums in losses), *([] if overflow else [norm])):
                raise self._diverged()
        state.scaler.step(state.optimizer)
        state.scaler.update()
        if state.moving_average is not None and self.settings.ema_decay is not None:
            update_moving_average(state.moving_average, state.model, self.settings.ema_decay, self.batches.step)
        self.data.train.release_pages()
        self._statistics.add(losses, norm, rate)
        self._step_tokens = sum(group.target_tokens for batch, _ in losses for group in batch)
        progress.step, progress.epoch, progress.group = self.batches.step, self.batches.epoch, self.batches.group
        progress.batches += len(teacher_forcing)
        progress.forced += teacher_forcing.count(1.0)

    @property
    def _validation_is_due(self) -> bool:
        """Whether to validate before the next step. The weights of a step are validated once."""
        progress = self.state.progress
        done = progress.step in progress.validated[-1:]
        return not done and self.budget.validation_is_due(progress)

    def validate(self) -> None:
        """Score the model, log the scores, and record whether it is the best so far and whether to stop early.

        Raises:
            StopRequested: The run must stop; nothing has changed.
        """
        progress, spent = self.state.progress, self.budget.spent(self.state.progress)
        self.log.validating(self.position, spent)
        self._require_finite_weights(self.state.deployed)
        model = unsharded_model(self.state, self.recipe, self.data, self.ranks)
        if model and self.settings.average > 1:
            model = self._average_with(model)
        reports = self._evaluate(model) if model else None
        report = mean_report([each.report for each in reports]) if reports else None
        score = self.ranks.broadcast(self.validator.score(report) if report else None)
        loss = self.ranks.broadcast(report.loss if report else None)
        if score is None or loss is None:
            raise StopRequested
        progress.validations = self.budget.validations_due(progress)
        best = progress.record_validation(score, loss, self.settings)
        if report and reports:
            forced = {"teacher_forced": round(progress.forced / max(1, progress.batches), 4)}
            more: dict[str, Any] = {} if self.settings.scheduled_sampling == "none" else dict(forced)
            samples, findings, directions = list[dict[str, str]](), dict[str, list[Finding]](), dict[str, Any]()
            for each in reports:
                samples += map(describe_sample, each.pairs[:SAMPLES], each.translations)
                name = name_direction(each.languages) if each.languages else ""
                findings[name] = list(
                    check_validation(each.pairs, each.translations, each.report, spent, self.recipe.decoding)
                )
                about = {
                    "baseline": asdict(self.validator.baselines[each.languages]),
                    "problems": [one.message for one in findings[name]],
                }
                if each.languages:
                    directions[name] = each.to_dict() | about
                else:
                    more |= about
            if directions:
                problems = [f"{name}: {one}" for name, about in directions.items() for one in about["problems"]]
                more |= {"directions": directions, "problems": problems}
            self.log.validation(self.position, report, best, self.settings.best_by, **more, samples=samples)
            for name, found in findings.items():
                self.log.warn(self.position, found, name)
        progress.batches = progress.forced = 0
        self._statistics = StepStatistics()

    def _evaluate(self, model: Transformer) -> list[DirectionReport] | None:
        """The scores of the model, or None if a stop is requested meanwhile."""
        generators = random_state(self.state.device)
        try:
            with self.stop.interruptible():
                return self.validator.evaluate(model)
        except StopRequested:
            return None
        finally:  # the checkpoint has the generators as they were before
            set_random_state(generators, self.state.device)

    def _average_with(self, model: Transformer) -> Transformer:
        """The model that is deployed if this is the last validation: with the mean of the weights of the last ones."""
        progress = self.state.progress
        steps = [*progress.averaged(self.settings.average - 1), progress.step]
        self._average = self._average or deepcopy(model)
        load_weights(self._average, average_weights(self.run, steps, self.log.message))
        return self._average

    def save(self) -> None:
        """Save a checkpoint, and delete those that are no longer needed; every process must call this.

        If there is one of this step, only what a validation changes is written.
        """
        progress = self.state.progress
        progress.scaler = self.state.scaler.state_dict()
        again = self._saved == progress.step
        self._require_finite_weights(self.state.model)
        files = {} if again else snapshot(self.state, self.ranks)
        with self.ranks.first_before_others():
            if self.ranks.first:
                if self._average and progress.step in progress.validated[-1:]:
                    files[AVERAGE] = dict(self._average.named_parameters())
                copies = self._copies | {METRICS_FILE: bytes(self.log.metrics.content)}
                self.log.metrics.require_directory()
                save_checkpoint(self.run, progress, files, copies, keep_tensors=again)
                prune(self.run, progress.needed(self.settings.average) | {progress.step})
        self._saved = progress.step

    def _require_finite_weights(self, model: Transformer) -> None:
        """Stop all processes if the weights of one have diverged, before they are used or saved."""
        finite = all_finite(*map(local_tensor, model.parameters()))
        (diverged,) = self.ranks.largest((not finite,))
        if diverged:
            raise self._diverged()

    def _diverged(self) -> UserError:
        """The error, which is also logged as an event."""
        step = f"{self.state.progress.step:,}"
        message = f"training diverged after step {step}: the loss or the weights are NaN or infinite"
        self.log.event(self.position, message)
        kept = "earlier checkpoints are kept; " if checkpoint_steps(self.run) else ""
        return UserError(
            f"{message}; {kept}start a new run in another --output, with a lower training.learning_rate, clip_norm or "
            "weight_decay, which cannot change when a run is resumed"
        )

    @property
    def position(self) -> LogPosition:
        """Step, epoch (with a fraction) and seconds."""
        progress = self.state.progress
        epoch = progress.epoch + min(1.0, progress.group / self.batches.groups_per_epoch)
        return {"step": progress.step, "epoch": round(epoch, 4), "seconds": round(progress.seconds, 2)}

    def _log_step(self, seconds: float) -> None:
        position, spent = self.position, self.budget.spent(self.state.progress)
        measured, slow = self._speed.step(self._step_tokens * self.ranks.size, seconds)
        if measured:
            self.log.speed(position, slow)
        if self.state.progress.step % self.settings.log_every:
            self.log.show(position, spent)
        else:
            self.log.steps(position, self._statistics.summary(self.ranks), spent)
            self._statistics = StepStatistics()


def all_finite(*values: Tensor) -> bool:
    """Whether no value is NaN or infinite; waits for a GPU once."""
    return bool(torch.stack([value.isfinite().all() for value in values]).all())


class StepStatistics:
    """Sums over training steps. Losses stay tensors, so that a GPU does not have to be synchronized at each step."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.losses: list[Tensor] = []  # of each step: with and without label smoothing, (2,)
        self.target_tokens = self.tokens = self.padded_tokens = 0
        self.gradient_norm, self.learning_rate = torch.zeros(()), 0.0  # of the last step

    def add(self, losses: Losses, gradient_norm: Tensor, learning_rate: float) -> None:
        """Add a step.

        Args:
            losses: Its microbatches and the sums of their losses.
            gradient_norm: Before clipping.
            learning_rate: Of this step.
        """
        self.gradient_norm, self.learning_rate = gradient_norm, learning_rate
        for batch, sums in losses:
            self.losses.append(sums)
            for group in batch:
                self.target_tokens += group.target_tokens
                self.tokens += group.source_tokens + group.target_tokens
                self.padded_tokens += group.padded_tokens

    def summary(self, ranks: Ranks) -> dict[str, float]:
        """Means over all steps and ranks, by their keys in metrics.jsonl."""
        losses: list[float] = torch.stack(self.losses).cpu().double().sum(0).tolist()
        counts = self.target_tokens, self.tokens, self.padded_tokens
        loss, nll, target_tokens, tokens, padded_tokens = ranks.sum((*losses, *counts))
        return {
            "loss": round(loss / target_tokens, 5),
            "perplexity": perplexity(nll / target_tokens),
            "learning_rate": self.learning_rate,
            "tokens_per_second": round(target_tokens / (time.monotonic() - self.started), 1),
            "padding": round(1 - tokens / padded_tokens, 5),
            "gradient_norm": round(float(self.gradient_norm), 4),
        }
