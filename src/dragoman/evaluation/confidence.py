"""The probability that a translation is good, from the probabilities of its tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, FiniteFloat

from dragoman.corpus.pair import Pair
from dragoman.evaluation.metrics import sentence_chrf
from dragoman.text.translation import Translation
from dragoman.translator import Translator

GOOD_CHRF = 50.0
"""A translation is good if its chrF against the reference is at least this."""

MAX_PAIRS = 500
"""Number of validation pairs that are translated to calibrate the confidence."""

MIN_PAIRS = 100
"""With fewer validation pairs, a translator has no confidence."""

_PRIOR = 1.0  # precision of the weights, which keeps them finite if all translations are good
_ITERATIONS = 25  # of Newton's method

Floats = NDArray[np.float64]


class Confidence(BaseModel):
    """A logistic regression on the log-probabilities of the tokens of a translation, in nats."""

    model_config = ConfigDict(frozen=True)

    constant: FiniteFloat
    mean: FiniteFloat
    """Weight of the mean over all tokens."""
    minimum: FiniteFloat
    """Weight of the least probable token."""
    length: FiniteFloat
    """Weight of the logarithm of the number of tokens."""

    def estimate(self, log_probabilities: Sequence[float]) -> float | None:
        """The probability that the translation with these tokens is good; None if there are no tokens."""
        if not log_probabilities:
            return None
        weights = np.array([self.constant, self.mean, self.minimum, self.length])
        return float(_sigmoid(_features(log_probabilities) @ weights))


def calibrate(translator: Translator, pairs: Sequence[Pair]) -> Confidence | None:
    """Translate some pairs, evenly spaced, and fit a confidence to them; None if there are fewer than `MIN_PAIRS`."""
    if len(pairs) < MIN_PAIRS:
        return None
    chosen = [pairs[index] for index in np.linspace(0, len(pairs) - 1, min(len(pairs), MAX_PAIRS)).astype(int)]
    translations = list(translator.stream(pair.source for pair in chosen))
    return fit_confidence(translations, [pair.target for pair in chosen])


def fit_confidence(translations: Sequence[Translation], references: Sequence[str]) -> Confidence:
    """The confidence whose probabilities fit best to which of the translations are good, by Newton's method."""
    pairs = [pair for pair in zip(translations, references, strict=True) if pair[0].log_probabilities]
    good = np.array(are_good([str(translation) for translation, _ in pairs], [reference for _, reference in pairs]))
    x = np.array([_features(translation.log_probabilities) for translation, _ in pairs]).reshape(-1, 4)
    weights = np.zeros(4)
    for _ in range(_ITERATIONS):
        p = _sigmoid(x @ weights)
        hessian = x.T @ (x * (p * (1 - p))[:, None]) + _PRIOR * np.eye(4)
        weights = weights - np.linalg.solve(hessian, x.T @ (p - good) + _PRIOR * weights)
    constant, mean, minimum, length = weights.round(6).tolist()
    return Confidence(constant=constant, mean=mean, minimum=minimum, length=length)


def are_good(translations: Sequence[str], references: Sequence[str]) -> list[bool]:
    """Which translations are good, see `GOOD_CHRF`."""
    return [score >= GOOD_CHRF for score in sentence_chrf(translations, references)]


def _features(log_probabilities: Sequence[float]) -> Floats:
    length = len(log_probabilities)
    return np.array([1.0, sum(log_probabilities) / length, min(log_probabilities), math.log(length)])


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -30, 30))))
