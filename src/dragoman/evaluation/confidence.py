"""The probability that a translation is good, from the probability that the model gives it."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, FiniteFloat

from dragoman.evaluation.metrics import sentence_chrf
from dragoman.text.translation import Translation

GOOD_CHRF = 50.0
"""A translation is good if its chrF against the reference is at least this."""

LOW_CONFIDENCE = 0.3
"""A translation with a lower confidence is probably wrong."""

MAX_PAIRS = 500
"""Number of validation pairs that are translated to calibrate the confidence, and to score the finished model."""

MIN_PAIRS = 100
"""With fewer validation pairs, a translator has no confidence."""

_PRIOR = 1.0  # precision of the weights, which keeps them finite if all translations are good
_ITERATIONS = 25  # of Newton's method
_LARGEST = 30.0  # logits, so that exponentials stay finite

Floats = NDArray[np.float64]


class Confidence(BaseModel):
    """A logistic regression on the log-probability of a translation, in nats, and its length."""

    model_config = ConfigDict(frozen=True)

    constant: FiniteFloat
    mean: FiniteFloat
    """Weight of the mean log-probability of the tokens."""
    probability: FiniteFloat
    """Weight of the geometric mean of their probabilities."""
    length: FiniteFloat
    """Weight of the logarithm of the number of tokens."""

    def estimate(self, log_probability: float, tokens: int) -> float | None:
        """The probability that a translation is good; None if it has no tokens."""
        if tokens == 0:
            return None
        weights = self.constant, self.mean, self.probability, self.length
        x = sum(map(operator.mul, weights, _features(log_probability, tokens)))  # numpy is slower for four numbers
        return 1 / (1 + math.exp(-min(max(x, -_LARGEST), _LARGEST)))


def calibrate(translations: Sequence[Translation], references: Sequence[str]) -> Confidence | None:
    """The confidence that `fit_confidence` finds; None if there are fewer translations than `MIN_PAIRS`."""
    return fit_confidence(translations, references) if len(translations) >= MIN_PAIRS else None


def fit_confidence(translations: Sequence[Translation], references: Sequence[str]) -> Confidence:
    """The confidence whose probabilities fit best to which of the translations are good, by Newton's method."""
    pairs = [pair for pair in zip(translations, references, strict=True) if pair[0].tokens]
    good = np.array(are_good([str(translation) for translation, _ in pairs], [reference for _, reference in pairs]))
    x = np.array([_features(each.log_probability, len(each.tokens)) for each, _ in pairs]).reshape(-1, 4)
    weights = np.zeros(4)
    for _ in range(_ITERATIONS):
        p = _sigmoid(x @ weights)
        hessian = x.T @ (x * (p * (1 - p))[:, None]) + _PRIOR * np.eye(4)
        weights = weights - np.linalg.solve(hessian, x.T @ (p - good) + _PRIOR * weights)
    constant, mean, probability, length = weights.round(6).tolist()
    return Confidence(constant=constant, mean=mean, probability=probability, length=length)


def are_good(translations: Sequence[str], references: Sequence[str]) -> list[bool]:
    """Which translations are good, see `GOOD_CHRF`."""
    return [score >= GOOD_CHRF for score in sentence_chrf(translations, references)]


def _features(log_probability: float, tokens: int) -> tuple[float, float, float, float]:
    mean = log_probability / tokens
    return 1.0, mean, math.exp(mean), math.log(tokens)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -_LARGEST, _LARGEST))))
