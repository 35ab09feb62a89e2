"""Several models that translate as one: the mean of their probabilities (Sutskever et al. 2014, section 3.6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


class EnsembleCache:
    """What each of the models remembers."""

    def __init__(self, caches: Sequence[Any]) -> None:
        self.caches = caches

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be taken twice), and these sentences (None: all)."""
        for cache in self.caches:
            cache.select(rows, sentences)


class EnsembleStep:
    """The step of several models with one target vocabulary."""

    def __init__(self, steps: Sequence[Callable[[Tensor, Any], Tensor]]) -> None:
        self.steps = steps

    def __call__(self, tokens: Tensor, cache: EnsembleCache) -> Tensor:
        """Feed one more token to every row, (rows,); logarithms of the mean probabilities, (rows, vocabulary)."""
        logits = [step(tokens, each) for step, each in zip(self.steps, cache.caches, strict=True)]
        logs = torch.stack([each.float().log_softmax(dim=-1) for each in logits])  # (models, rows, vocabulary)
        return logs.logsumexp(dim=0) - math.log(len(logits))
