"""Log-probabilities out of logits."""

from __future__ import annotations

import torch
from torch import Tensor

ROWS = 64
"""Rows at once on a CPU, so that what lies between logits and log-probabilities stays in its cache."""


def log_probabilities(logits: Tensor, tokens: Tensor) -> Tensor:
    """Of some tokens of each row.

    Args:
        logits: (rows, vocabulary), float32.
        tokens: (rows, tokens), int64.

    Returns:
        Natural logarithms, (rows, tokens).
    """
    rows = ROWS if logits.device.type == "cpu" else logits.shape[0]
    if logits.shape[0] <= rows:
        return logits.log_softmax(dim=-1).gather(1, tokens)
    parts = zip(torch.split(logits, rows), torch.split(tokens, rows), strict=True)
    return torch.cat([part.log_softmax(dim=-1).gather(1, chosen) for part, chosen in parts])
