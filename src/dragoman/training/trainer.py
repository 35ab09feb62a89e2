"""The training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.data.batch import Batch, make_batch
from dragoman.data.buckets import Indices, plan_epoch
from dragoman.doctor.finding import Finding
from dragoman.doctor.watch import check_validation
from dragoman.evaluation import Report, evaluate
from dragoman.model.masks import pack, pack_vectors
from dragoman.model.transformer import Transformer
from dragoman.settings import Recipe
from dragoman.training.checkpoint import Progress, prune, save_checkpoint
from dragoman.training.device import autocast, compute_dtype
from dragoman.training.loss import projected_cross_entropy
from dragoman.training.metrics import MetricsFile
from dragoman.training.prepare import Prepared
from dragoman.training.progress import ProgressLine, format_seconds
from dragoman.training.scheduled_sampling import SAMPLED, teacher_forcing_probability
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
        optimizer: Over all parameters of the model, in order.
        progress: Where to start from.
        metrics: Where numbers are logged.
        line: What a person sees.
    """

    def __init__(
        self,
        recipe: Recipe,
        run: Path,
        data: Prepared,
        model: Transformer,
        optimizer: torch.optim.Optimizer,
        progress: Progress,
        metrics: MetricsFile,
        line: ProgressLine,
    ) -> None:
        self.recipe, self.settings, self.run = recipe, recipe.training, run
        self.data, self.model, self.optimizer = data, model, optimizer
        self.progress, self.metrics, self.line = progress, metrics, line
        self.device = model.target_embedding.weight.device
        self.stop = False  # set to stop after the current step, with a checkpoint
        half = compute_dtype(self.settings.precision, self.device) == torch.float16
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=half)
        self.scaler.load_state_dict(progress.scaler or self.scaler.state_dict())
        self.lengths = data.train.source.lengths + 1, data.train.target.lengths + 1  # eos counts
        self.groups_per_epoch = len(self._plan(0))
        self.warned: set[str] = set()  # codes of findings
        self._log = _Log()

    def train(self) -> bool:
        """Train until the budget is spent; False if stopped before."""
        groups = self._groups()
        groups_per_step = self.settings.length_groups * self.settings.accumulation
        started = saved = time.monotonic()
        before = self.progress.seconds
        while not self.finished:
            self._step([next(groups) for _ in range(groups_per_step)])
            self.progress.step += 1
            self.progress.seconds = before + time.monotonic() - started
            if self.progress.step % self.settings.log_every == 0:
                self._write_log()
            validate = self._validations_due() > self.progress.validations
            if validate:
                self._validate()
                self.progress.seconds = before + time.monotonic() - started
            if validate or self.stop or time.monotonic() - saved > 60 * self.settings.checkpoint_minutes:
                self._checkpoint()
                saved = time.monotonic()
            if self.stop:
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
        groups_per_step = settings.length_groups * settings.accumulation
        return max(1, math.ceil(settings.epochs * self.groups_per_epoch / groups_per_step))

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do: the last validation is at the end of the budget."""
        return self.progress.stopped_early or self.progress.validations >= self.settings.validations

    @property
    def averaged(self) -> list[int]:
        """Steps of the last validations, as many as there are to average."""
        return self.progress.validated[-self.settings.average :]

    def _plan(self, epoch: int) -> list[Indices]:
        settings, groups = self.settings, self.settings.length_groups
        tokens = max(1, settings.batch_tokens // groups)
        sentences = settings.batch_sentences and max(1, settings.batch_sentences // groups)
        return plan_epoch(*self.lengths, tokens, settings.seed, epoch, sentences)

    def _groups(self) -> Iterator[Batch]:
        """Groups of sentences of like length, epoch after epoch."""
        progress = self.progress
        source, target = self.data.source.vocabulary, self.data.target.vocabulary
        while True:
            plan = self._plan(progress.epoch)
            while progress.group < len(plan):
                indices = plan[progress.group]
                progress.group += 1
                yield make_batch(self.data.train, indices, source, target)
            progress.epoch, progress.group = progress.epoch + 1, 0

    def _step(self, groups: list[Batch]) -> None:
        """One optimizer step down the gradient of the mean loss over all target tokens of the groups."""
        rate = learning_rate(self.settings, self.recipe.model.d_model, self.progress.step + 1, self.spent)
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = rate
        tokens = sum(group.target_tokens for group in groups)
        self.model.train()
        self.optimizer.zero_grad()
        for start in range(0, len(groups), self.settings.length_groups):
            batch = [group.to(self.device) for group in groups[start : start + self.settings.length_groups]]
            loss, nll = self._loss(batch)
            self.scaler.scale(loss / tokens).backward()  # type: ignore[no-untyped-call]
            self._log.add(batch, torch.stack((loss.detach(), nll)))
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm or math.inf)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self._log.norm, self._log.rate = norm, rate

    def _loss(self, batch: list[Batch]) -> tuple[Tensor, Tensor]:
        """Summed over the batch's real target tokens: the loss to minimise, and that without label smoothing."""
        pad, output = self.data.target.vocabulary.pad, self.model.output
        targets, _ = pack([group.target_output for group in batch], pad)  # (1, cells)
        with autocast(self.settings.precision, self.device) as dtype:
            hidden = self._hidden(batch)  # (cells, d_model)
            return projected_cross_entropy(
                hidden.to(dtype),
                output.weight.to(dtype),
                None if output.bias is None else output.bias.to(dtype),
                targets[0],
                self.settings.label_smoothing,
                ignore=pad,
            )

    def _hidden(self, batch: list[Batch]) -> Tensor:
        """Decoder outputs of a batch, teacher-forced or not, laid end to end, (cells, d_model)."""
        settings, progress = self.settings, self.progress
        probability = teacher_forcing_probability(settings, progress.epoch)
        forced = probability == 1.0 or bool(torch.rand(()) < probability)
        progress.batches, progress.forced = progress.batches + 1, progress.forced + forced
        if forced:
            return self.model.packed_hidden([group.source for group in batch], [group.target_input for group in batch])
        sampled = SAMPLED[settings.scheduled_sampling]
        return pack_vectors([sampled(self.model, group, probability) for group in batch])

    def _validations_due(self) -> int:
        return math.floor(self.spent * self.settings.validations + 1e-9)

    def _validate(self) -> None:
        """Score the model; note whether it is the best so far, and whether to stop early."""
        self.line.update(self.spent, f"step {self.progress.step:,}  validating …")
        report, translations = self._evaluate()
        progress, settings = self.progress, self.settings
        progress.validations = self._validations_due()
        progress.validated.append(progress.step)
        score = -report.loss if settings.best_by == "loss" else float(getattr(report, settings.best_by))
        better = progress.best is None or score > progress.best
        if better:
            progress.best, progress.best_step, progress.stale = score, progress.step, 0
        else:
            progress.stale += 1
            progress.stopped_early = progress.stale == settings.early_stopping
        share = progress.forced / max(1, progress.batches)
        progress.batches = progress.forced = 0
        forcing = {} if settings.scheduled_sampling == "none" else {"teacher_forced": round(share, 4)}
        samples = [
            {"source": pair.source, "reference": pair.target, "translation": translation}
            for pair, translation in zip(self.data.validation, translations[:SAMPLES], strict=False)
        ]
        self.metrics.write("validation", **self.position(), **report.to_dict(), **forcing, best=better, samples=samples)
        self.line.note(
            f"step {progress.step:,}  epoch {self.position()['epoch']:.2f}  {format_seconds(progress.seconds)}  "
            f"validation: loss {report.loss:.3f}, perplexity {report.perplexity:.2f}, BLEU {report.bleu:.2f}, "
            f"chrF {report.chrf:.2f} ({report.decoding}){', the best so far' if better else ''}"
            f"{f', {share:.0%} of the batches teacher-forced' if forcing else ''}"
        )
        self.warn(check_validation(self.data.validation, translations, report, self.spent))
        self._log = _Log()

    def warn(self, findings: Iterable[Finding]) -> None:
        """Tell a person and the report of what the doctor has found, of each code once."""
        for finding in findings:
            if finding.severity != "note" and finding.code not in self.warned:
                self.warned.add(finding.code)
                message = f"{finding.severity}: {finding.code}: {finding.message}"
                self.line.note(f"{message}\n  fix: {finding.fix}")
                self.metrics.write("event", **self.position(), message=message)

    def _evaluate(self) -> tuple[Report, list[str]]:
        bundle = Bundle(self.recipe, self.model.eval(), self.data.source, self.data.target)
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
        save_checkpoint(self.run, self.progress, self.model, self.optimizer)
        prune(self.run, {*self.averaged, self.progress.best_step, self.progress.step})

    def _write_log(self) -> None:
        values = self._log.summary()
        self.metrics.write("train", **self.position(), **values)
        left = self.progress.seconds * (1 / self.spent - 1)
        self.line.update(
            self.spent,
            f"step {self.progress.step:,}  epoch {self.position()['epoch']:.2f}  loss {values['loss']:.3f}  "
            f"{values['tokens_per_second']:,.0f} tokens/s  {values['padding']:.1%} padding  "
            f"{format_seconds(left)} left",
        )
        self._log = _Log()

    def position(self) -> dict[str, float]:
        """Step, epoch (in fractions) and seconds, as every line of metrics.jsonl has them."""
        progress = self.progress
        epoch = progress.epoch + progress.group / self.groups_per_epoch
        return {"step": progress.step, "epoch": round(epoch, 4), "seconds": round(progress.seconds, 2)}


class _Log:
    """Sums since the last logged line; tensors, so that a GPU need not wait for each step."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.losses: list[Tensor] = []
        self.target_tokens = self.tokens = self.cells = 0
        self.norm, self.rate = torch.zeros(()), 0.0

    def add(self, batch: list[Batch], losses: Tensor) -> None:
        self.losses.append(losses)
        for group in batch:
            self.target_tokens += group.target_tokens
            self.tokens += group.source_tokens + group.target_tokens
            self.cells += group.cells

    def summary(self) -> dict[str, float]:
        loss, nll = (torch.stack(self.losses).double().sum(0) / self.target_tokens).tolist()
        return {
            "loss": round(loss, 5),
            "perplexity": round(math.exp(min(nll, 700.0)), 4),
            "learning_rate": self.rate,
            "tokens_per_second": round(self.target_tokens / (time.monotonic() - self.started), 1),
            "padding": round(1 - self.tokens / self.cells, 5),
            "gradient_norm": round(float(self.norm), 4),
        }
