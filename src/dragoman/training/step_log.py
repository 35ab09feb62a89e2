"""Means over the steps since the last logged line."""

from __future__ import annotations

import math
import time

import torch
from torch import Tensor

from dragoman.training.distributed import Ranks
from dragoman.training.gradients import Losses


class StepLog:
    """Sums since the last logged line; losses stay tensors, so that a GPU need not wait for each step."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.losses: list[Tensor] = []
        self.target_tokens = self.tokens = self.padded_tokens = 0
        self.norm, self.rate = torch.zeros(()), 0.0

    def add(self, losses: Losses, norm: Tensor, rate: float) -> None:
        """Count a step.

        Args:
            losses: Its microbatches and their losses.
            norm: Of the gradient, before clipping.
            rate: The learning rate.
        """
        self.norm, self.rate = norm, rate
        for batch, values in losses:
            self.losses.append(values)
            for group in batch:
                self.target_tokens += group.target_tokens
                self.tokens += group.source_tokens + group.target_tokens
                self.padded_tokens += group.padded_tokens

    def summary(self, ranks: Ranks) -> dict[str, float]:
        """Means over all processes, by name."""
        sums: list[float] = torch.stack(self.losses).double().sum(0).tolist()
        loss, nll, target_tokens, tokens, padded_tokens = ranks.sum(
            (*sums, self.target_tokens, self.tokens, self.padded_tokens)
        )
        return {
            "loss": round(loss / target_tokens, 5),
            "perplexity": round(math.exp(min(nll / target_tokens, 700.0)), 4),
            "learning_rate": self.rate,
            "tokens_per_second": round(target_tokens / (time.monotonic() - self.started), 1),
            "padding": round(1 - tokens / padded_tokens, 5),
            "gradient_norm": round(float(self.norm), 4),
        }
