"""The training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from dragoman.bundle import Bundle
from dragoman.data.batch import Batch, make_batch
from dragoman.data.buckets import Indices, plan_epoch
from dragoman.evaluation import Report, evaluate
from dragoman.model.transformer import Transformer
from dragoman.settings import Recipe
from dragoman.training.batch_loss import BatchLoss
from dragoman.training.checkpoint import Progress, generator_states, prune, save_checkpoint
from dragoman.training.device import compute_dtype
from dragoman.training.distributed import ALONE, Ranks
from dragoman.training.metrics import MetricsFile, StepLog
from dragoman.training.prepare import Prepared
from dragoman.training.progress import ProgressLine, format_seconds
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
        optimizer: Over all parameters of the model, in order.
        progress: Where to start from.
        metrics: Where numbers are logged.
        line: What a person sees.
        ranks: The processes that share the work; they all hold the same weights.
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
        ranks: Ranks = ALONE,
    ) -> None:
        self.recipe, self.settings, self.run = recipe, recipe.training, run
        self.data, self.model, self.optimizer = data, model, optimizer
        self.progress, self.metrics, self.line, self.ranks = progress, metrics, line, ranks
        self.device = model.target_embedding.weight.device
        self.stop = False  # set to stop after the current step, with a checkpoint
        half = compute_dtype(self.settings.precision, self.device) == torch.float16
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=half)
        self.scaler.load_state_dict(progress.scaler or self.scaler.state_dict())
        self.lengths = data.train.source.lengths + 1, data.train.target.lengths + 1  # eos counts
        self.groups_per_epoch = len(self._plan(0))
        self.loss: nn.Module = BatchLoss(model, self.settings, data.target.vocabulary.pad)
        if ranks.size > 1:
            self.loss = DistributedDataParallel(self.loss, gradient_as_bucket_view=True)
        self._log = StepLog()

    def train(self) -> bool:
        """Train until the budget is spent; False if stopped before."""
        groups = self._groups()
        groups_per_step = self.settings.length_groups * self.settings.accumulation
        started = saved = time.monotonic()
        before = self.progress.seconds
        while not self.finished:
            self._step([next(groups) for _ in range(groups_per_step)])
            self.progress.step += 1
            now = time.monotonic()
            overdue = now - saved > 60 * self.settings.checkpoint_minutes
            self.progress.seconds, save, stop = self.ranks.largest((before + now - started, overdue, self.stop))
            if self.progress.step % self.settings.log_every == 0:
                self._write_log()
            validate = self._validations_due() > self.progress.validations
            if validate:
                self._validate()
                self.progress.seconds = before + time.monotonic() - started
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
        groups_per_step = settings.length_groups * settings.accumulation
        return max(1, math.ceil(settings.epochs * self.groups_per_epoch / groups_per_step))

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do: the last validation is at the end of the budget."""
        return self.progress.stopped_early or self.progress.validations >= self.settings.validations

    def _plan(self, epoch: int) -> list[Indices]:
        settings, groups = self.settings, self.settings.length_groups
        tokens = max(1, settings.batch_tokens // groups)
        sentences = settings.batch_sentences and max(1, settings.batch_sentences // groups)
        return plan_epoch(*self.lengths, tokens, settings.seed, epoch, sentences)

    def _groups(self) -> Iterator[Indices]:
        """Groups of sentences of like length, epoch after epoch."""
        progress = self.progress
        while True:
            plan = self._plan(progress.epoch)
            while progress.group < len(plan):
                progress.group += 1
                yield plan[progress.group - 1]
            progress.epoch, progress.group = progress.epoch + 1, 0

    def _step(self, groups: Sequence[Indices]) -> None:
        """One optimizer step down the gradient of the mean loss over all target tokens of the groups."""
        rate = learning_rate(self.settings, self.recipe.model.d_model, self.progress.step + 1, self.spent)
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = rate
        tokens = sum(int(self.lengths[1][group].sum()) for group in groups)
        self.model.train()
        self.optimizer.zero_grad()
        for start in range(0, len(groups), self.settings.length_groups):
            batch = self._batch(groups[start : start + self.settings.length_groups])
            last = start + self.settings.length_groups == len(groups)
            with nullcontext() if last else self._unsynchronised():
                loss, nll = self.loss(batch, self._teacher_forcing())
                mean = loss / tokens * self.ranks.size  # over the tokens of all ranks, whose gradients are averaged
                self.scaler.scale(mean).backward()
            self._log.add(batch, torch.stack((loss.detach(), nll)))
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm or math.inf)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self._log.norm, self._log.rate = norm, rate

    def _unsynchronised(self) -> AbstractContextManager[None]:
        """Let gradients add up here first, that the ranks exchange them once a step."""
        return self.loss.no_sync() if isinstance(self.loss, DistributedDataParallel) else nullcontext()

    def _batch(self, groups: Sequence[Indices]) -> list[Batch]:
        """This rank's part of a batch, on its device."""
        source, target = self.data.source.vocabulary, self.data.target.vocabulary
        mine = (make_batch(self.data.train, indices, source, target) for indices in self.ranks.share(groups))
        return [group.to(self.device) for group in mine]

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
        report, samples = self._evaluate() if self.ranks.first else (None, [])
        score: float = self.ranks.tell(report and self._score(report))
        better = progress.best is None or score > progress.best
        if better:
            progress.best, progress.best_step, progress.stale = score, progress.step, 0
        else:
            progress.stale += 1
            progress.stopped_early = progress.stale == settings.early_stopping
        if report:
            self._write_validation(report, samples, better)
        progress.batches = progress.forced = 0
        self._log = StepLog()

    def _score(self, report: Report) -> float:
        """What picks the best checkpoint; higher is better."""
        return -report.loss if self.settings.best_by == "loss" else float(getattr(report, self.settings.best_by))

    def _write_validation(self, report: Report, samples: list[dict[str, str]], better: bool) -> None:
        share = self.progress.forced / max(1, self.progress.batches)
        forcing = {} if self.settings.scheduled_sampling == "none" else {"teacher_forced": round(share, 4)}
        self.metrics.write("validation", **self.position(), **report.to_dict(), **forcing, best=better, samples=samples)
        self.line.note(
            f"step {self.progress.step:,}  epoch {self.position()['epoch']:.2f}  "
            f"{format_seconds(self.progress.seconds)}  "
            f"validation: loss {report.loss:.3f}, perplexity {report.perplexity:.2f}, BLEU {report.bleu:.2f}, "
            f"chrF {report.chrf:.2f} ({report.decoding}){', the best so far' if better else ''}"
            f"{f', {share:.0%} of the batches teacher-forced' if forcing else ''}"
        )

    def _evaluate(self) -> tuple[Report, list[dict[str, str]]]:
        """Scores on the validation pairs, and a few of their translations."""
        self.line.update(self.spent, f"step {self.progress.step:,}  validating …")
        bundle = Bundle(self.recipe, self.model.eval(), self.data.source, self.data.target)
        quick = {"beam_size": self.settings.validation_beam_size, "n_best": 1}
        translator = Translator(bundle, self.recipe.decoding.model_copy(update=quick), str(self.device))
        pairs = self.data.validation
        report, translations = evaluate(
            translator,
            [pair.source for pair in pairs],
            [pair.target for pair in pairs],
            translate_at_most=self.settings.validation_sentences,
        )
        return report, [
            {"source": pair.source, "reference": pair.target, "translation": translation}
            for pair, translation in zip(pairs, translations[:SAMPLES], strict=False)
        ]

    def _checkpoint(self) -> None:
        self.progress.scaler = self.scaler.state_dict()
        generators = generator_states(self.ranks)
        if self.ranks.first:
            save_checkpoint(self.run, self.progress, self.model, self.optimizer, generators)
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
        epoch = progress.epoch + progress.group / self.groups_per_epoch
        return {"step": progress.step, "epoch": round(epoch, 4), "seconds": round(progress.seconds, 2)}
