"""Positions: sinusoidal and learned ones are added to the embeddings, rotary ones turn queries and keys."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def sinusoids(length: int, d_model: int) -> Tensor:
    """The table of Vaswani et al. 2017, section 3.5, sines and cosines interleaved, (length, d_model)."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    rates = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10000.0) / d_model))
    table = torch.empty(length, d_model, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * rates)
    table[:, 1::2] = torch.cos(position * rates)
    return table.float()


class SinusoidalPositions(nn.Module):
    """Adds fixed sinusoids to embeddings."""

    table: Tensor

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(max_length, d_model), persistent=False)

    def forward(self, embeddings: Tensor, positions: Tensor) -> Tensor:
        """(batch, length, d_model) at positions (length,) -> the same shape."""
        return embeddings + self.table[positions].to(embeddings.dtype)


class LearnedPositions(nn.Module):
    """Adds a learnt vector for each position to embeddings."""

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_length, d_model))

    def forward(self, embeddings: Tensor, positions: Tensor) -> Tensor:
        """(batch, length, d_model) at positions (length,) -> the same shape."""
        return embeddings + F.embedding(positions, self.table)


class NoPositions(nn.Module):
    """Adds nothing: rotary positions act inside attention."""

    def forward(self, embeddings: Tensor, positions: Tensor) -> Tensor:
        """The embeddings as they are."""
        return embeddings


def turns(positions: Tensor, d_head: int) -> Tensor:
    """By what rotary positions turn each pair of dimensions (Su et al. 2021, eq. 34).

    A pair is a complex number, and turning it a product with one of magnitude 1.

    Args:
        positions: Places in the sentence, (length,), int64.
        d_head: Dimensions of a head, even.

    Returns:
        Complex numbers whose angles grow with position, (length, d_head / 2).
    """
    pairs = torch.arange(0, d_head, 2, dtype=torch.float32, device=positions.device)
    angles = positions[:, None] * torch.exp(pairs * (-math.log(10000.0) / d_head))  # (length, d_head / 2)
    return torch.polar(torch.ones_like(angles), angles)


def rotate(x: Tensor, turn: Tensor) -> Tensor:
    """Turn pairs of dimensions; scores of turned queries and keys depend on their distance alone.

    Args:
        x: Queries or keys, (batch, heads, length, d_head).
        turn: By what, (length, d_head / 2), of `turns`.

    Returns:
        The shape of x.
    """
    numbers = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))  # (batch, heads, length, d_head / 2)
    return torch.view_as_real(numbers * turn).flatten(-2).to(x.dtype)


POSITIONS = {"sinusoidal": SinusoidalPositions, "learned": LearnedPositions}


def build_positions(kind: str, max_length: int, d_model: int) -> nn.Module:
    """The module that adds positions of this kind to embeddings."""
    return POSITIONS[kind](max_length, d_model) if kind in POSITIONS else NoPositions()
