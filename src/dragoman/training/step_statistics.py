"""Statistics of the training steps between two logged lines."""

from __future__ import annotations

import time

import torch
from torch import Tensor

from dragoman.evaluation.metrics import perplexity
from dragoman.training.distributed import Ranks
from dragoman.training.gradients import Losses


class StepStatistics:
    """Sums over training steps. Losses stay tensors, so that a GPU does not have to be synchronized at each step."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.losses: list[Tensor] = []  # of each step: with and without label smoothing, (2,)
        self.target_tokens = self.tokens = self.padded_tokens = 0
        self.gradient_norm, self.learning_rate = torch.zeros(()), 0.0  # of the last step

    def add(self, losses: Losses, gradient_norm: Tensor, learning_rate: float) -> None:
        """Add a step.

        Args:
            losses: Its microbatches and the sums of their losses.
            gradient_norm: Before clipping.
            learning_rate: Of this step.
        """
        self.gradient_norm, self.learning_rate = gradient_norm, learning_rate
        for batch, sums in losses:
            self.losses.append(sums)
            for group in batch:
                self.target_tokens += group.target_tokens
                self.tokens += group.source_tokens + group.target_tokens
                self.padded_tokens += group.padded_tokens

    def summary(self, ranks: Ranks) -> dict[str, float]:
        """Means over all steps and ranks, by their keys in metrics.jsonl."""
        losses: list[float] = torch.stack(self.losses).cpu().double().sum(0).tolist()
        counts = self.target_tokens, self.tokens, self.padded_tokens
        loss, nll, target_tokens, tokens, padded_tokens = ranks.sum((*losses, *counts))
        return {
            "loss": round(loss / target_tokens, 5),
            "perplexity": perplexity(nll / target_tokens),
            "learning_rate": self.learning_rate,
            "tokens_per_second": round(target_tokens / (time.monotonic() - self.started), 1),
            "padding": round(1 - tokens / padded_tokens, 5),
            "gradient_norm": round(float(self.gradient_norm), 4),
        }
