"""Position encodings: sinusoidal and learned ones are added to the embeddings, rotary ones rotate queries and keys."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Positions(nn.Module):
    """A position encoding. A subclass overrides one of the two methods.

    Args:
        max_length: Maximum length of a sequence.
        d_model: Width of the embeddings.
        heads: Number of attention heads, which divides d_model.
    """

    def __init__(self, max_length: int, d_model: int, heads: int) -> None:
        super().__init__()

    def forward(self, embeddings: Tensor, positions: Tensor) -> Tensor:
        """Add positions (length,) to embeddings (batch, length, d_model)."""
        return embeddings

    def rotation(self, positions: Tensor) -> Tensor | None:
        """Rotary frequencies of positions (length,) for `rotate`, (length, d_head / 2, 2), or None for no rotation."""
        return None


def sinusoids(length: int, d_model: int, fairseq: bool = False) -> Tensor:
    """The table of Vaswani et al. 2017, section 3.5, sines and cosines interleaved, (length, d_model)."""
    # in fairseq's models, the first position is 2, and the slowest wave has the rate 1 / 10000
    exponents = torch.arange(d_model // 2, dtype=torch.float64) / (d_model // 2 - fairseq)
    angles = (torch.arange(length)[:, None] + 2 * fairseq) * torch.exp(exponents * -math.log(10000.0))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1).float()


class SinusoidalPositions(Positions):
    """Adds fixed sinusoids to embeddings."""

    table: Tensor
    fairseq = False

    def __init__(self, max_length: int, d_model: int, heads: int) -> None:
        super().__init__(max_length, d_model, heads)
        self.register_buffer("table", sinusoids(max_length, d_model, self.fairseq), persistent=False)

    def forward(self, embeddings: Tensor, positions: Tensor) -> Tensor:
        """(batch, length, d_model) at positions (length,) -> the same shape."""
        return embeddings + self.table[positions].to(embeddings.dtype)


class FairseqPositions(SinusoidalPositions):
    """Adds the sinusoids of fairseq's models, such as M2M100 and NLLB-200."""

    fairseq = True


class LearnedPositions(Positions):
    """Adds a learned vector for each position to embeddings."""

    def __init__(self, max_length: int, d_model: int, heads: int) -> None:
        super().__init__(max_length, d_model, heads)
        self.table = nn.Parameter(torch.empty(max_length, d_model))

    def forward(self, embeddings: Tensor, positions: Tensor) -> Tensor:
        """(batch, length, d_model) at positions (length,) -> the same shape."""
        return embeddings + F.embedding(positions, self.table)


class RotaryPositions(Positions):
    """Rotates pairs of dimensions of queries and keys by angles that grow with position (Su et al. 2021, eq. 34).

    The dot product of a rotated query and a rotated key depends on their distance alone.
    """

    table: Tensor

    def __init__(self, max_length: int, d_model: int, heads: int) -> None:
        super().__init__(max_length, d_model, heads)
        d_head = d_model // heads
        pairs = torch.arange(0, d_head, 2, dtype=torch.float32)
        rates = torch.exp(pairs * (-math.log(10000.0) / d_head))  # (d_head / 2,)
        angles = torch.arange(max_length)[:, None] * rates  # (max_length, d_head / 2)
        self.register_buffer("table", torch.stack((angles.cos(), angles.sin()), dim=-1), persistent=False)

    def rotation(self, positions: Tensor) -> Tensor | None:
        """Cosines and sines of the angles, (length, d_head / 2, 2)."""
        return self.table[positions]


def rotate(x: Tensor, rotation: Tensor) -> Tensor:
    """Rotate pairs of dimensions, (batch, heads, length, d_head), by rotary frequencies (length, d_head / 2, 2)."""
    cos, sin = rotation.unbind(-1)  # (length, d_head / 2) each
    even, odd = x[..., 0::2], x[..., 1::2]  # (batch, heads, length, d_head / 2) each
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2).to(x.dtype)


POSITIONS: dict[str, type[Positions]] = {
    "sinusoidal": SinusoidalPositions,
    "fairseq": FairseqPositions,
    "learned": LearnedPositions,
    "rotary": RotaryPositions,
}
"""By the setting `model.positions`."""
