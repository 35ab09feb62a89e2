"""The average of the weights of several checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from dragoman.training.checkpoint import averaged_weights


def average_weights(run: Path, steps: Sequence[int]) -> dict[str, Tensor]:
    """The mean of the weights of several checkpoints (Vaswani et al. 2017, section 6.1), float32.

    In runs with a moving average of the weights, the mean of these moving averages.
    """
    assert steps, "at least one checkpoint"
    total: dict[str, Tensor] = {}
    for step in steps:
        for name, value in averaged_weights(run, step).items():
            total[name] = total[name] + value.float() if name in total else value.float()
    return {name: value / len(steps) for name, value in total.items()}
