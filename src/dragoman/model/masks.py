"""Masks: boolean, True = may attend, broadcastable to (batch, heads, query, key)."""

from __future__ import annotations

import torch
from torch import Tensor


def padding_mask(ids: Tensor, pad: int) -> Tensor | None:
    """Which keys are real tokens, (batch, 1, 1, length); None if all are, which is cheaper."""
    real = ids != pad  # (batch, length)
    return None if bool(real.all()) else real[:, None, None, :]


def causal_mask(length: int, device: torch.device) -> Tensor:
    """Each position sees itself and what came before, (length, length)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()
