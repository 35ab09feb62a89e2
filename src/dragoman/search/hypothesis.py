"""What search returns, and what it asks of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from torch import Tensor


class Cache(Protocol):
    """What a model remembers of the hypotheses being extended; the rows of a sentence lie together."""

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be taken twice), and these sentences (None: all)."""
        ...


CacheType = TypeVar("CacheType", bound=Cache, contravariant=True)


class Step(Protocol[CacheType]):
    """Feeds one token to every row, (rows,), and returns the logits of the next, (rows, vocabulary)."""

    def __call__(self, tokens: Tensor, cache: CacheType) -> Tensor:
        """One step of decoding."""
        ...


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation in ids.

    `tokens` has neither bos nor eos; `log_probabilities` has one value a token and one for eos;
    `score` is their sum over the length penalty.
    """

    tokens: list[int]
    log_probabilities: list[float]
    score: float


def length_penalty(length: int, alpha: float) -> float:
    """The divisor of a hypothesis' log-probability, ((5 + length) / 6)^alpha (Wu et al. 2016, eq. 14)."""
    return float(((5.0 + length) / 6.0) ** alpha)


def finish(tokens: list[int], log_probabilities: list[float], alpha: float) -> Hypothesis:
    """A hypothesis that has just ended; its length counts eos."""
    penalty = length_penalty(len(log_probabilities), alpha)
    return Hypothesis(tokens, log_probabilities, sum(log_probabilities) / penalty)
