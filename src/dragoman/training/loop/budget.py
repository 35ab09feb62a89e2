"""The budget of a run, and the time that it has taken."""

from __future__ import annotations

import math
import time

from dragoman.settings import Training
from dragoman.training.loop.progress import Progress

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


class Stopwatch:
    """Measures the time that a run has taken, without interruptions.

    Args:
        seconds: Time taken before this session.
    """

    def __init__(self, seconds: float) -> None:
        self._before, self._started = seconds, time.monotonic()

    @property
    def seconds(self) -> float:
        """The time taken so far."""
        return self._before + time.monotonic() - self._started
