"""Masks: boolean, True = may attend, broadcastable to (batch, heads, query, key)."""

from __future__ import annotations

import torch
from torch import Tensor


def padding_mask(ids: Tensor, pad: int) -> Tensor:
    """Which keys are real tokens, (batch, 1, 1, length), for ids (batch, length)."""
    return (ids != pad)[:, None, None, :]


def causal_mask(length: int, device: torch.device) -> Tensor:
    """Each position sees itself and those before it, (length, length)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()
