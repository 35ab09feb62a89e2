"""The length of a training, and what it amounts to on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.planning.speed import R_DROP_COST, MachineSpeed, measure_speed
from dragoman.planning.text_facts import TextFacts
from dragoman.recipe import overridden

SMALL_BATCH, LARGE_BATCH = 1024, 4096  # tokens of each side
LARGE_BATCH_PAIRS = 100_000
MANY_STEPS = 10_000  # more of them help less than larger batches
OFTEN = 40.0  # epochs; with 20 epochs of 9,000 pairs, a dropout of 0.3 costs several points of chrF
R_DROP_PAIRS = 30_000  # with 29,000 pairs, an hour of it is better than data diversification; 20 minutes are no worse
R_DROP_EPOCHS, R_DROP_STEPS = 30.0, 8000  # without R-Drop; in the same time, half of them fit with it


@dataclass(frozen=True)
class PlannedBudget:
    """The length of a training.

    Attributes:
        minutes: The time that was given; None if there is no limit.
        expected_minutes: How long the training takes.
        epochs: Passes over the text.
        epochs_without_r_drop: Passes that would fit into the same time without R-Drop.
        r_drop: Whether each sentence is computed twice.
        batch_tokens: Tokens of each side of a batch.
        steps: The number of optimizer steps, at least 1.
    """

    minutes: float | None
    expected_minutes: float
    epochs: float
    epochs_without_r_drop: float
    r_drop: bool
    batch_tokens: int
    steps: int

    @property
    def reads_often(self) -> bool:
        """Whether the training is long enough for the model to learn the text by heart."""
        return self.epochs_without_r_drop >= OFTEN


def plan_budget(
    facts: TextFacts,
    minutes: float | None,
    tokens_per_second: float,
    *,
    epochs_share: float = 1.0,
    allow_r_drop: bool = False,
) -> PlannedBudget:
    """The budget of a training: as many epochs as fit into the time, or without a limit, more epochs for less text.

    R-Drop helps little text that is read often, in many steps. With few steps it only costs time: in the time of 3,200
    steps without R-Drop, 46 epochs of 5,760 pairs, it lost 11 points of chrF.

    Args:
        facts: The text.
        minutes: The time for training; None if there is no limit.
        tokens_per_second: Target tokens that this machine processes in a second, without R-Drop.
        epochs_share: Epochs without a limit, as a share of those that random weights need.
        allow_r_drop: Whether little text is read with R-Drop if there is much time.
    """
    if minutes is None:
        readings = float(round(epochs_share * min(max(20 * (30_000 / facts.pairs) ** 0.3, 4), 60)))
    else:
        readings = facts.epochs_in(minutes, tokens_per_second)
    often = readings >= R_DROP_EPOCHS and readings * facts.steps_per_epoch(SMALL_BATCH) >= R_DROP_STEPS
    r_drop = allow_r_drop and minutes is not None and facts.pairs < R_DROP_PAIRS and often
    epochs = readings / R_DROP_COST if r_drop else readings
    large = facts.pairs >= LARGE_BATCH_PAIRS and epochs * facts.steps_per_epoch(LARGE_BATCH) >= MANY_STEPS
    batch_tokens = LARGE_BATCH if large else SMALL_BATCH
    return PlannedBudget(
        minutes=minutes,
        expected_minutes=facts.minutes_for(readings, tokens_per_second),
        epochs=epochs,
        epochs_without_r_drop=readings,
        r_drop=r_drop,
        batch_tokens=batch_tokens,
        steps=max(1, int(epochs * facts.steps_per_epoch(batch_tokens))),
    )


def chosen_minutes(minutes: float | None, overrides: Sequence[str]) -> float | None:
    """The time for training: that of ``--minutes``, or of ``--set training.minutes=…``; invalid values are ignored."""
    return minutes if minutes is not None else overridden(overrides, "training.minutes")


def measure_chosen_speed(overrides: Sequence[str]) -> MachineSpeed:
    """The speed of this machine with ``training.device`` and ``training.threads``; invalid values are ignored."""
    device, threads = (overridden(overrides, f"training.{key}") for key in ("device", "threads"))
    return measure_speed(device or "auto", threads)
