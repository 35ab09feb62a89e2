"""The training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from dragoman.bundle import Bundle
from dragoman.dataset.batch import Batch
from dragoman.dataset.prepare import Dataset
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.training_checks import check_validation
from dragoman.errors import UserError
from dragoman.evaluation.evaluate import Report, evaluate
from dragoman.model.build import build_model
from dragoman.model.transformer import Transformer
from dragoman.settings import Recipe
from dragoman.system.device import compute_dtype
from dragoman.system.progress import ProgressLine, format_seconds
from dragoman.training.batches import BatchStream
from dragoman.training.checkpoint import Progress, load_weights, prune, save_checkpoint, snapshot, weights_of
from dragoman.training.distributed import ALONE, Ranks, synchronised, whole
from dragoman.training.metrics import MetricsFile, StepLog
from dragoman.training.scheduled_sampling import teacher_forcing_probability
from dragoman.training.schedules import learning_rate
from dragoman.translator import Translator

SAMPLES = 10  # translations kept from each validation


class Trainer:
    """Everything a run needs from step to step; `progress` and the random generators are all its memory.

    Args:
        recipe: The settings.
        run: The run's directory.
        data: Ids to learn from, texts to validate on.
        model: Its weights are trained in place.
        loss: The BatchLoss of the model, as `spread` over the ranks.
        optimizer: Over all parameters of the model, in order.
        progress: Where to start from.
        metrics: Where numbers are logged.
        line: What a person sees.
        moving_average: Of the weights; if there is one, it is what is validated.
        ranks: The processes that share the work; they all hold the same weights.
    """

    def __init__(
        self,
        recipe: Recipe,
        run: Path,
        data: Dataset,
        model: Transformer,
        loss: nn.Module,
        optimizer: torch.optim.Optimizer,
        progress: Progress,
        metrics: MetricsFile,
        line: ProgressLine,
        moving_average: AveragedModel | None = None,
        ranks: Ranks = ALONE,
    ) -> None:
        self.recipe, self.settings, self.run = recipe, recipe.training, run
        self.data, self.model, self.loss, self.optimizer = data, model, loss, optimizer
        self.progress, self.metrics, self.line = progress, metrics, line
        self.moving_average, self.ranks = moving_average, ranks
        self.device = model.target_embedding.weight.device
        self.stop = False  # set to stop after the current step, with a checkpoint
        half = compute_dtype(self.settings.precision, self.device) == torch.float16
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=half)
        self.scaler.load_state_dict(progress.scaler or self.scaler.state_dict())
        self.batches = BatchStream(recipe, data, progress, ranks, self.device)
        self.groups_at_once = self.settings.length_groups  # fewer once the memory has not sufficed
        self.warned: set[str] = set()  # codes of findings
        self._log = StepLog()

    def train(self) -> bool:
        """Train until the budget is spent; False if stopped before."""
        started = saved = time.monotonic()
        before = self.progress.seconds
        while not self.finished:
            self._step(self.batches.next_step())
            self.data.train.release_pages()
            self.progress.step += 1
            now = time.monotonic()
            overdue = now - saved > 60 * self.settings.checkpoint_minutes
            self.progress.seconds, save, stop = self.ranks.largest((before + now - started, overdue, self.stop))
            if self.progress.step % self.settings.log_every == 0:
                self._write_log()
            validate = self._validations_due() > self.progress.validations
            if validate:
                self._validate()
                (self.progress.seconds,) = self.ranks.largest((before + time.monotonic() - started,))
            if validate or stop or save:
                self._checkpoint()
                saved = time.monotonic()
            if stop:
                return self.finished
        return True

    @property
    def spent(self) -> float:
        """Share of the budget spent, 0 to 1."""
        progress, settings = self.progress, self.settings
        if settings.minutes is not None:
            return min(1.0, progress.seconds / (60 * settings.minutes))
        return min(1.0, progress.step / self.total_steps)

    @property
    def total_steps(self) -> int:
        """Steps of a budget in steps or epochs."""
        settings = self.settings
        if settings.steps is not None:
            return settings.steps
        assert settings.epochs is not None, "minutes have no number of steps"
        return max(1, math.ceil(settings.epochs * self.batches.groups_per_epoch / self.batches.groups_per_step))

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do: the last validation is at the end of the budget."""
        return self.progress.stopped_early or self.progress.validations >= self.settings.validations

    def _step(self, batches: Sequence[list[Batch]]) -> None:
        """One optimizer step down the gradient of the mean loss over all target tokens of the batches."""
        rate = learning_rate(self.settings, self.recipe.model.d_model, self.progress.step + 1, self.spent)
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = rate
        self.model.train()
        while not self._find_gradients(batches):
            torch.cuda.empty_cache()
        self.scaler.unscale_(self.optimizer)
        norm = whole(nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm or math.inf))
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.moving_average is not None:
            self.moving_average.update_parameters(self.model)
        self._log.norm, self._log.rate = norm, rate

    def _find_gradients(self, batches: Sequence[list[Batch]]) -> bool:
        """Gradients of the mean loss over all tokens of all ranks; False if the memory did not suffice.

        Whoever runs out of memory takes fewer groups at once from then on: nothing is skipped.
        """
        mine = sum(group.target_tokens for batch in batches for group in batch)
        (tokens,) = self.ranks.sum((mine,))
        parts = [part for batch in batches for part in self._parts(batch)]
        losses = []
        self.optimizer.zero_grad()
        try:
            for number, part in enumerate(parts, start=1):
                with synchronised(self.loss, number == len(parts)):
                    loss, nll = self.loss(part, self._teacher_forcing())
                    mean = loss / tokens * self.ranks.size  # the ranks' gradients are averaged
                    self.scaler.scale(mean).backward()
                losses.append(torch.stack((loss.detach(), nll)))
        except torch.OutOfMemoryError as error:
            self._take_less_at_once(error)
            return False
        for part, values in zip(parts, losses, strict=True):
            self._log.add(part, values)
        return True

    def _parts(self, batch: list[Batch]) -> list[list[Batch]]:
        return [batch[start : start + self.groups_at_once] for start in range(0, len(batch), self.groups_at_once)]

    def _take_less_at_once(self, error: torch.OutOfMemoryError) -> None:
        if self.groups_at_once == 1 or self.ranks.size > 1:
            raise UserError(
                f"out of memory in step {self.progress.step + 1:,}: {str(error).splitlines()[0]}; lower "
                "training.batch_tokens, and raise training.accumulation as much to learn the same"
            ) from error
        self.groups_at_once = (self.groups_at_once + 1) // 2
        self.line.log(
            f"out of memory in step {self.progress.step + 1:,}: from now on {self.groups_at_once} of "
            f"{self.settings.length_groups} groups at once, which is slower and learns the same"
        )

    def _teacher_forcing(self) -> float:
        """Probability of each input of the next batch being the reference's: 1 if it is teacher-forced."""
        progress = self.progress
        probability = teacher_forcing_probability(self.settings, progress.epoch)
        forced = probability == 1.0 or bool(torch.rand(()) < probability)
        progress.batches, progress.forced = progress.batches + 1, progress.forced + forced
        return 1.0 if forced else probability

    def _validations_due(self) -> int:
        return math.floor(self.spent * self.settings.validations + 1e-9)

    def _validate(self) -> None:
        """Score the model; note whether it is the best so far, and whether to stop early."""
        progress, settings = self.progress, self.settings
        progress.validations = self._validations_due()
        progress.validated.append(progress.step)
        model = self.deployable()
        report, translations = self._evaluate(model) if self.ranks.first else (None, [])
        score = self.ranks.tell(self._score(report) if report else None)
        assert score is not None
        better = progress.best is None or score > progress.best
        if better:
            progress.best, progress.best_step, progress.stale = score, progress.step, 0
        else:
            progress.stale += 1
            progress.stopped_early = progress.stale == settings.early_stopping
        if report:
            self._write_validation(report, translations, better)
            self.warn(check_validation(self.data.validation, translations, report, self.spent))
        progress.batches = progress.forced = 0
        self._log = StepLog()

    def _score(self, report: Report) -> float:
        """What picks the best checkpoint; higher is better."""
        return -report.loss if self.settings.best_by == "loss" else float(getattr(report, self.settings.best_by))

    def _write_validation(self, report: Report, translations: list[str], better: bool) -> None:
        samples = [
            {"source": pair.source, "reference": pair.target, "translation": translation}
            for pair, translation in zip(self.data.validation, translations[:SAMPLES], strict=False)
        ]
        share = self.progress.forced / max(1, self.progress.batches)
        forcing = {} if self.settings.scheduled_sampling == "none" else {"teacher_forced": round(share, 4)}
        self.metrics.write("validation", **self.position(), **report.to_dict(), **forcing, best=better, samples=samples)
        self.line.log(
            f"step {self.progress.step:,}  epoch {self.position()['epoch']:.2f}  "
            f"{format_seconds(self.progress.seconds)}  "
            f"validation: loss {report.loss:.3f}, perplexity {report.perplexity:.2f}, BLEU {report.bleu:.2f}, "
            f"chrF {report.chrf:.2f} ({report.decoding}){', the best so far' if better else ''}"
            f"{f', {share:.0%} of the batches teacher-forced' if forcing else ''}"
        )

    def warn(self, findings: Iterable[Finding]) -> None:
        """Tell a person and the report of what the doctor has found, of each code once."""
        for finding in findings:
            if finding.severity != "note" and finding.code not in self.warned:
                self.warned.add(finding.code)
                message = f"{finding.severity}: {finding.code}: {finding.message}"
                self.line.log(f"{message}\n  fix: {finding.fix}")
                self.metrics.write("event", **self.position(), message=message)

    def deployable(self) -> Transformer:
        """The model to validate or save; every rank must call this."""
        model = self.model if self.moving_average is None else self.moving_average.module
        assert isinstance(model, Transformer)
        if not self.settings.shard or self.ranks.size == 1:
            return model
        weights = weights_of(model)
        sizes = len(self.data.source.vocabulary), len(self.data.target.vocabulary)
        unsharded = build_model(self.recipe.model, *sizes, model.source_pad, self.settings.seed)
        load_weights(unsharded, weights)
        return unsharded.to(self.device)

    def _evaluate(self, model: Transformer) -> tuple[Report, list[str]]:
        """Scores on the validation pairs, and the translations."""
        self.line.update(self.spent, f"step {self.progress.step:,}  validating …")
        bundle = Bundle(self.recipe, model.eval(), self.data.source, self.data.target)
        quick = {"beam_size": self.settings.validation_beam_size, "n_best": 1}
        translator = Translator(bundle, self.recipe.decoding.model_copy(update=quick), str(self.device))
        pairs = self.data.validation
        return evaluate(
            translator,
            [pair.source for pair in pairs],
            [pair.target for pair in pairs],
            translate_at_most=self.settings.validation_sentences,
        )

    def _checkpoint(self) -> None:
        self.progress.scaler = self.scaler.state_dict()
        average = self.moving_average and self.moving_average.module
        files = snapshot(self.model, self.optimizer, self.ranks, average)
        if self.ranks.first:
            save_checkpoint(self.run, self.progress, files)
            prune(self.run, self.progress.needed(self.settings.average) | {self.progress.step})
        self.ranks.wait()

    def _write_log(self) -> None:
        values = self._log.summary(self.ranks)
        self.metrics.write("train", **self.position(), **values)
        left = self.progress.seconds * (1 / self.spent - 1)
        self.line.update(
            self.spent,
            f"step {self.progress.step:,}  epoch {self.position()['epoch']:.2f}  loss {values['loss']:.3f}  "
            f"{values['tokens_per_second']:,.0f} tokens/s  {values['padding']:.1%} padding  "
            f"{format_seconds(left)} left",
        )
        self._log = StepLog()

    def position(self) -> dict[str, float]:
        """Step, epoch (in fractions) and seconds, as every line of metrics.jsonl has them."""
        progress = self.progress
        epoch = progress.epoch + progress.group / self.batches.groups_per_epoch
        return {"step": progress.step, "epoch": round(epoch, 4), "seconds": round(progress.seconds, 2)}
