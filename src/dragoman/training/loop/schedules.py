"""Learning rate schedules."""

from __future__ import annotations

import math
from collections.abc import Callable

from dragoman.settings import Training

Schedule = Callable[[int, float, float], float]
"""(step from 1, warm-up steps, fraction of the budget spent) -> factor of the learning rate after the warm-up."""


def _constant(step: int, warmup: float, spent: float) -> float:
    return 1.0


def _inverse_sqrt(step: int, warmup: float, spent: float) -> float:
    return math.sqrt(warmup / max(step, warmup))


def _cosine(step: int, warmup: float, spent: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * spent))


def _linear(step: int, warmup: float, spent: float) -> float:
    return 1.0 - spent


SCHEDULES: dict[str, Schedule] = {
    "constant": _constant,
    "inverse_sqrt": _inverse_sqrt,
    "cosine": _cosine,
    "linear": _linear,
}


def learning_rate(settings: Training, d_model: int, step: int, spent: float) -> float:
    """The learning rate of a step.

    Args:
        settings: Peak, schedule and warm-up.
        d_model: Width of the model, which scales noam.
        step: Number of the step, from 1.
        spent: Fraction of the budget spent before it, 0 to 1.
    """
    warmup = max(settings.warmup_steps, 1)
    if settings.schedule == "noam":  # Vaswani et al. 2017, eq. 3
        return float(settings.learning_rate * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
    rising = min(1.0, step / warmup)
    return settings.learning_rate * rising * SCHEDULES[settings.schedule](step, warmup, min(spent, 1.0))
