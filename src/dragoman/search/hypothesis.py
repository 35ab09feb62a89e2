"""The result of a search, and the interface of the model that it uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor


class Cache(Protocol):
    """State of a model for a batch of hypotheses, one per row; the hypotheses of a sentence are adjacent."""

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be repeated), and these sentences (None: all)."""
        ...


class Decoder(Protocol):
    """A model that predicts token after token."""

    def start(self, source: Tensor) -> Any:
        """The cache to decode one hypothesis of each sentence, (sentences, source)."""
        ...

    def step(self, tokens: Tensor, cache: Any) -> Tensor:
        """Feed one token to every row, (rows,); returns the logits of the next token, (rows, vocabulary)."""
        ...


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation in ids.

    `tokens` contains neither bos nor eos; `log_probabilities` has one value per token and one for eos;
    `score` is their sum divided by the length penalty.
    """

    tokens: list[int]
    log_probabilities: list[float]
    score: float


def length_penalty(length: int, alpha: float) -> float:
    """The divisor of a hypothesis' log-probability, ((5 + length) / 6)^alpha (Wu et al. 2016, eq. 14)."""
    return float(((5.0 + length) / 6.0) ** alpha)


def finished_hypothesis(tokens: list[int], log_probabilities: list[float], alpha: float) -> Hypothesis:
    """A finished hypothesis with its score; the length in the penalty includes eos."""
    penalty = length_penalty(len(log_probabilities), alpha)
    return Hypothesis(tokens, log_probabilities, sum(log_probabilities) / penalty)
