"""Log-probabilities from logits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

CPU_ROWS = 64
"""Rows computed at a time on a CPU, so that intermediate results stay in its cache."""


def log_probabilities(logits: Tensor, tokens: Tensor) -> Tensor:
    """Log-probabilities of some tokens of each row.

    Args:
        logits: (rows, vocabulary), float32.
        tokens: (rows, tokens), int64.

    Returns:
        Natural logarithms, (rows, tokens).
    """
    rows = CPU_ROWS if logits.device.type == "cpu" else logits.shape[0]
    if logits.shape[0] <= rows:
        return logits.log_softmax(dim=-1).gather(1, tokens)
    chunks = zip(torch.split(logits, rows), torch.split(tokens, rows), strict=True)
    return torch.cat([chunk.log_softmax(dim=-1).gather(1, chosen) for chunk, chosen in chunks])


def mean_log_probabilities(logits: Sequence[Tensor]) -> Tensor:
    """The logarithms of mean probabilities, (rows, vocabulary), from the logits of several models, of that shape."""
    logs = torch.stack([each.float().log_softmax(dim=-1) for each in logits])  # (models, rows, vocabulary)
    return logs.logsumexp(dim=0) - math.log(len(logits))
