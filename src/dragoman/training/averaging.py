"""Averages of weights: of several checkpoints at the end, and a moving one along the way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from dragoman.model.transformer import Transformer
from dragoman.training.checkpoint import deployable_weights


def average_weights(run: Path, steps: Sequence[int]) -> dict[str, Tensor]:
    """The mean of the weights of several checkpoints (Vaswani et al. 2017, section 6.1), float32.

    In runs with a moving average of the weights, of that.
    """
    assert steps, "at least one checkpoint"
    total: dict[str, Tensor] = {}
    for step in steps:
        for name, value in deployable_weights(run, step).items():
            total[name] = total[name] + value.float() if name in total else value.float()
    return {name: value / len(steps) for name, value in total.items()}


def keep_moving_average(model: Transformer, decay: float | None) -> AveragedModel | None:
    """A copy of the model to hold the moving average of its weights, if there is to be one."""
    if decay is None:
        return None
    ema: Any = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
    average = AveragedModel(model, multi_avg_fn=ema)
    average.n_averaged.fill_(1)  # it starts from the initial weights, and so can be resumed from any others
    return average
