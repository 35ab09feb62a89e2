"""The progress of a run, which a checkpoint contains besides tensors, and how much of the budget it has spent."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman.settings import Training


@dataclass
class Progress:
    """The progress of a run. The field names are those in a checkpoint's state.json."""

    step: int = 0  # optimizer steps done
    epoch: int = 0  # number of the current pass over the data, from 0
    group: int = 0  # groups of sentences done in this epoch
    seconds: float = 0.0  # time of training and validation
    validation_seconds: float = 0.0  # of which validation
    validations: int = 0  # validations due so far, including those that were left out
    validated: list[int] = field(default_factory=list)  # steps of the validations
    scores: list[list[float]] = field(default_factory=list)
    # step, score and loss of each validation whose checkpoint is not known to be lost
    best: float | None = None  # best validation score; higher is better
    best_loss: float | None = None  # validation loss of the best validation; None: stored by an earlier version
    best_step: int = 0
    lowest_loss: float | None = None  # of all validations
    stale: int = 0  # validations since the latest improvement
    stopped_early: bool = False
    batches: int = 0  # batches since the last validation, with scheduled sampling
    forced: int = 0  # how many of these batches were teacher-forced
    scaler: dict[str, Any] = field(default_factory=dict)  # state of float16's loss scaling
    tokenizers: str | None = None  # the run's `tokenizers_digest`; None: stored by an earlier version

    @property
    def mean_validation_seconds(self) -> float:
        """The mean time of a validation; 0 before the first one."""
        return self.validation_seconds / len(self.validated) if self.validated else 0.0

    def averaged(self, average: int) -> list[int]:
        """Those of the last `average` validations whose checkpoint is not lost; their weights are averaged."""
        kept = {step for step, _, _ in self.scores}
        return [step for step in self.validated[-average:] if step in kept]

    def needed(self, average: int) -> set[int]:
        """Steps whose checkpoints would be needed if the run ended now."""
        return {*self.averaged(average), self.best_step} - {0}

    def record_validation(self, score: float, loss: float, settings: Training) -> bool:
        """Record a validation at the current step; returns whether it is the best so far.

        Args:
            score: Higher is better.
            loss: The validation loss; of equal scores, the one with the lower loss is better.
            settings: When to stop early.
        """
        score = -math.inf if math.isnan(score) else score
        self.validated.append(self.step)
        self.scores.append([self.step, score, loss])
        best_loss = -math.inf if self.best_loss is None else self.best_loss  # unknown: a tie keeps the older one
        better = self.best is None or (score, -loss) > (self.best, -best_loss)
        if better:
            self.best, self.best_loss, self.best_step = score, loss, self.step
        improving = better
        if settings.early_stopping_by == "score_and_loss":
            lower_loss = self.lowest_loss is None or loss < self.lowest_loss
            improving = better or lower_loss or self.step < settings.warmup_steps
        self.lowest_loss = loss if self.lowest_loss is None else min(loss, self.lowest_loss)
        self.stale = 0 if improving else self.stale + 1
        self.stopped_early = not improving and self.stale == settings.early_stopping
        return better

    def repeat_lost_validation(self) -> None:
        """Let the validation of this step be repeated if its weights are lost, which can be computed again."""
        if self.validated[-1:] == [self.step] and all(step != self.step for step, _, _ in self.scores):
            self.validated.pop()
            self.validations -= 1
            self.stopped_early = False

    def keep_only(self, steps: Collection[int]) -> None:
        """Forget the scores of all other steps, whose checkpoints are lost; the best is the best of the rest."""
        self.scores = [each for each in self.scores if each[0] in steps]
        if self.best_step in steps or not self.best_step:
            return
        self.best, self.best_loss, self.best_step = None, None, 0
        if self.scores:
            step, score, loss = max(self.scores, key=lambda each: (each[1], -each[2], each[0]))
            self.best, self.best_loss, self.best_step = score, loss, int(step)


def scores_of_earlier_version(about: Mapping[str, Any]) -> list[list[float]]:
    """The `scores` of a state.json without them: only the best score is known, and the others are lower."""
    best = about.get("best_step", 0), about.get("best"), about.get("best_loss")
    known = [best[1], math.inf if best[2] is None else best[2]]
    return [[step, *(known if step == best[0] else [-math.inf, math.inf])] for step in about.get("validated", [])]


MOST_OF_TIME = 0.5
"""The share of a budget in minutes that is kept for the last validation, at most."""


class Budget:
    """The budget of a run, in steps, epochs or minutes.

    Args:
        settings: The budget and the number of validations.
        groups_per_epoch: Groups of similar length in an epoch.
        groups_per_step: Groups of similar length in a step.
    """

    def __init__(self, settings: Training, groups_per_epoch: int, groups_per_step: int) -> None:
        self.settings = settings
        self._epochs_to_steps = groups_per_epoch / groups_per_step

    @property
    def total_steps(self) -> int:
        """Number of steps of a budget in steps or epochs."""
        if self.settings.steps is not None:
            return self.settings.steps
        assert self.settings.epochs is not None, "a budget in minutes has no number of steps"
        return max(1, math.ceil(self.settings.epochs * self._epochs_to_steps))

    def spent(self, progress: Progress) -> float:
        """Fraction of the budget spent, 0 to 1. A budget in minutes includes the last validation."""
        if self.settings.minutes is not None:
            seconds = 60 * self.settings.minutes
            last = min(progress.mean_validation_seconds, MOST_OF_TIME * seconds)
            return min(1.0, progress.seconds / (seconds - last))
        return min(1.0, progress.step / self.total_steps)

    def validations_due(self, progress: Progress) -> int:
        """How many validations should be done by now; they are evenly spaced, and the last one is at the end."""
        return math.floor(self.spent(progress) * self.settings.validations + 1e-9)

    def validation_is_due(self, progress: Progress) -> bool:
        """Whether to validate now. The validation at the end is never left out to save time.

        Only a budget in minutes depends on the clock: others end with the same weights on a slower machine.
        """
        due = self.validations_due(progress)
        if due <= progress.validations:
            return False
        minutes, share, done = self.settings.minutes, self.settings.validation_share, len(progress.validated)
        if minutes is None or not done or due == self.settings.validations:
            return True
        expected = progress.mean_validation_seconds  # if this one takes as long as the others
        if progress.seconds + 2 * expected >= 60 * minutes:  # the last one would follow at once
            return False
        return share is None or expected * (done + 1) <= share * progress.seconds

    def is_finished(self, progress: Progress) -> bool:
        """Whether training is finished: after the last validation, or after early stopping."""
        return progress.stopped_early or progress.validations >= self.settings.validations

    def reason_to_end(self, progress: Progress) -> str:
        """Why training ended, in words."""
        if not self.is_finished(progress):
            return "interrupted"
        if progress.stopped_early:
            return (
                f"early stopping at {self.spent(progress):.0%} of the budget: {self.settings.early_stopping} "
                f"validations in a row were not better than that at step {progress.best_step:,}"
            )
        unit = next(unit for unit in ("epochs", "steps", "minutes") if getattr(self.settings, unit) is not None)
        return f"training.{unit} = {round(getattr(self.settings, unit), 3):,} reached"
