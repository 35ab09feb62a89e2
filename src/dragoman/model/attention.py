"""Multi-head attention (Vaswani et al. 2017, section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.model.cache import LayerCache
from dragoman.model.positions import rotate

Record = Callable[[Tensor], None]
"""Takes attention weights, (batch, heads, target, source), after dropout."""


class ScaledDotProductAttention(nn.Module):
    """softmax(QK^T / sqrt(d_head)) V (eq. 1), step by step.

    Args:
        dropout: Probability of dropping an attention weight in training.
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.record: Record | None = None

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Any = None, rotation: Tensor | None = None) -> Tensor:
        """Mix values by how well their keys match the queries.

        Args:
            q: Queries, (batch, heads, target, d_head).
            k: Keys, (batch, heads, source, d_head).
            v: Values, (batch, heads, source, d_head).
            mask: True = may attend, broadcastable to (batch, heads, target, source); None allows everything.
            rotation: Rotary frequencies of q and k, (target, d_head / 2, 2), or None for no rotation.

        Returns:
            (batch, heads, target, d_head).
        """
        if rotation is not None:
            q, k = rotate(q, rotation), rotate(k, rotation)
        scores = (q * (1.0 / math.sqrt(q.shape[-1]))) @ k.transpose(-2, -1)  # (batch, heads, target, source)
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)  # -inf in a whole row would be NaN
        weights: Tensor = self.dropout(scores.softmax(dim=-1))
        if self.record is not None:
            self.record(weights)
        return weights @ v


class FusedAttention(ScaledDotProductAttention):
    """The same with torch's fused kernel, which does not store the weights; step by step while they are recorded."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Any = None, rotation: Tensor | None = None) -> Tensor:
        """As `ScaledDotProductAttention.forward`."""
        if self.record is not None:
            return super().forward(q, k, v, mask, rotation)
        if rotation is not None:
            q, k = rotate(q, rotation), rotate(k, rotation)
        dropout = self.dropout.p if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)


ATTENTION = {
    "auto": ScaledDotProductAttention,
    "explicit": ScaledDotProductAttention,
    "fused": FusedAttention,
}
"""By the setting `model.attention`."""


class StackedLinear(nn.Linear):
    """Several linear maps of one input, their weights stored as one matrix."""

    def forward(self, x: Tensor, rows: slice = slice(None)) -> Tensor:
        """(…, inputs) -> (…, outputs of these rows of the matrix)."""
        return F.linear(x, self.weight[rows], None if self.bias is None else self.bias[rows])


class MultiHeadAttention(nn.Module):
    """Attention of one sequence to itself, or to a memory.

    Args:
        d_model: Width of queries, keys and values of all heads together.
        heads: Number of heads; must divide d_model.
        qkv_bias: Whether the projections to queries, keys and values have biases.
        core: Computes the attention of all heads.
    """

    def __init__(self, d_model: int, heads: int, *, qkv_bias: bool, core: ScaledDotProductAttention) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = StackedLinear(d_model, 3 * d_model, bias=qkv_bias)
        self.output = nn.Linear(d_model, d_model)
        self.core = core

    def forward(self, x: Tensor, mask: Any, rotation: Tensor | None = None, memory: Tensor | None = None) -> Tensor:
        """Attend from x, (batch, target, d_model), to the memory, (batch, source, d_model), or to x if that is None."""
        if memory is None:
            q, k, v = map(self._split, self.qkv(x).chunk(3, dim=-1))
        else:
            q, (k, v) = self._queries(x), self.keys_values(memory)
        return self._merge(self.core(q, k, v, mask, rotation))

    def step(self, x: Tensor, cache: LayerCache, rotation: Tensor | None) -> Tensor:
        """Self-attention of one new position per row, (rows, 1, d_model), to all positions so far."""
        q, k, v = map(self._split, self.qkv(x).chunk(3, dim=-1))
        if rotation is not None:
            q, k = rotate(q, rotation), rotate(k, rotation)
        k, v = cache.extend(k, v)  # (rows, heads, time, d_head)
        return self._merge(self.core(q, k, v))

    def step_memory(self, x: Tensor, cache: LayerCache, mask: Tensor) -> Tensor:
        """Attention of one new position per row, (rows, 1, d_model), to the memory, which a sentence's rows share."""
        sentences = cache.memory_keys.shape[0]
        q = self._queries(x.view(sentences, -1, x.shape[-1]))  # (sentences, heads, hypotheses, d_head)
        return self._merge(self.core(q, cache.memory_keys, cache.memory_values, mask)).view_as(x)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of (batch, source, d_model), each (batch, heads, source, d_head)."""
        k, v = map(self._split, self.qkv(memory, slice(memory.shape[-1], None)).chunk(2, dim=-1))
        return k, v

    def _queries(self, x: Tensor) -> Tensor:
        return self._split(self.qkv(x, slice(x.shape[-1])))

    def _split(self, x: Tensor) -> Tensor:
        """(batch, length, d_model) -> (batch, heads, length, d_head)."""
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def _merge(self, mixed: Tensor) -> Tensor:
        """(batch, heads, target, d_head) -> (batch, target, d_model)."""
        return self.output(mixed.transpose(1, 2).flatten(2))
