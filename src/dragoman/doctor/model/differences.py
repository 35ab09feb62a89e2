"""How much predictions differ, and how much of that may be rounding."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class PredictionDifference:
    """How much predictions differ.

    Attributes:
        relative: Root mean square of the differences of log-probabilities, divided by the standard deviation of the
            log-probabilities in the vocabulary.
        probability: The largest difference of a probability.
    """

    relative: float
    probability: float


@dataclass(frozen=True)
class Tolerance:
    """The largest difference that rounding can explain."""

    relative: float
    probability: float

    def exceeded_by(self, difference: PredictionDifference) -> bool:
        """Whether a difference is more than rounding."""
        return difference.relative > self.relative or difference.probability > self.probability


SAME_SHAPE = Tolerance(1e-5, 1e-5)
"""For inputs of the same shape, for which correct models return the same numbers, or numbers that differ only in their
last bits: a smaller difference cannot be distinguished from rounding, and has no effect on training."""

# Measured on correct, randomly initialized models: at most 6e-7 in float32 and 0.014 in bfloat16.
TOLERANCES = {
    torch.float32: Tolerance(2e-5, 1e-4),
    torch.float16: Tolerance(0.01, 1.0),
    torch.bfloat16: Tolerance(0.06, 1.0),
}
"""For inputs of different shapes, by the precision of the model."""


def measure_difference(log_probabilities: Tensor, others: Tensor) -> PredictionDifference:
    """The difference of log-probabilities of the same shape, (…, vocabulary)."""
    if not log_probabilities.numel():
        return PredictionDifference(0.0, 0.0)
    spread = max(float(log_probabilities.std(dim=-1).mean()), 1e-12)
    rms = float((log_probabilities - others).square().mean().sqrt())
    return PredictionDifference(rms / spread, float((log_probabilities.exp() - others.exp()).abs().max()))


def largest(differences: list[PredictionDifference]) -> PredictionDifference:
    """The difference with the largest relative value."""
    return max(differences, key=lambda difference: difference.relative)
