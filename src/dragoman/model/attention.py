"""Multi-head attention (Vaswani et al. 2017, section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.kernels.dropout import dropout
from dragoman.kernels.linear import Linear, linear
from dragoman.kernels.varlen_attention import attend_blocks
from dragoman.model.cache import LayerCache
from dragoman.model.masks import Blocks, Mask
from dragoman.model.positions import rotate, turns

Record = Callable[[Tensor], None]
"""Takes attention weights, (batch, heads, target, source), as they are used."""


def attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask, dropout_probability: float, fused: bool, record: Record | None = None
) -> Tensor:
    """softmax(QK^T / sqrt(d_head)) V (eq. 1).

    Args:
        q: Queries, (batch, heads, target, d_head).
        k: Keys, (batch, heads, source, d_head).
        v: Values, (batch, heads, source, d_head).
        mask: True = may attend, broadcastable to (batch, heads, target, source); or blocks; or None.
        dropout_probability: Dropout on the attention weights; 0 unless training.
        fused: Let torch's fused kernel do it, instead of step by step.
        record: Is given the weights; with it nothing is fused, as fused kernels never make them.

    Returns:
        (batch, heads, target, d_head).
    """
    if isinstance(mask, Blocks):
        parts = [attend(*block, dropout_probability, fused).flatten(1, 2) for block in mask.split(q, k, v)]
        mixed = torch.cat(parts, dim=1)[None]
        return F.pad(mixed, (0, 0, 0, q.shape[2] - mixed.shape[2]))  # (1, heads, cells, d_head)
    if fused and record is None:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout_probability)
    if q.device.type == "cpu" and q.dtype == torch.bfloat16:
        # in bfloat16 a CPU compiles a product for each new shape, which takes longer than these small ones
        with torch.autocast("cpu", enabled=False):
            return attend(q.float(), k.float(), v.float(), mask, dropout_probability, fused, record).to(q.dtype)
    scores = (q * (1.0 / math.sqrt(q.shape[-1]))) @ k.transpose(-2, -1)  # (batch, heads, target, source)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)  # -inf in a whole row would be NaN
    weights = dropout(scores.softmax(dim=-1), dropout_probability, training=dropout_probability > 0)
    if record is not None:
        record(weights)
    return weights @ v


class MultiHeadAttention(nn.Module):
    """Attention of one sequence to itself (memory None) or to another."""

    def __init__(
        self, d_model: int, heads: int, *, qkv_bias: bool, dropout: float, rotary: bool, implementation: str
    ) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.rotary = rotary
        self.implementation = implementation
        self.record: Record | None = None  # set while `capture` lasts
        self.qkv = Linear(d_model, 3 * d_model, bias=qkv_bias)
        self.output = Linear(d_model, d_model)

    def forward(self, x: Tensor, mask: Mask, positions: Tensor, memory: Tensor | None = None) -> Tensor:
        """Attend from x, (batch, target, d_model) at positions (target,), to memory, or to x itself.

        Args:
            x: What asks, (batch, target, d_model).
            mask: What may be attended to.
            positions: Where in the sentence x is, (target,), for rotary positions.
            memory: What is attended to, (batch, source, d_model); None for x.
        """
        assert self.record is None or not isinstance(mask, Blocks), "packed batches are not recorded"
        if memory is None:
            q, k, v = self._own(x)
        else:
            q, k, v = self.queries(x), *self.keys_values(memory)
        rotary = self.rotary and memory is None
        if isinstance(mask, Blocks) and x.device.type == "cpu" and not self._fused(x):
            longest = torch.arange(max(length for _, length in mask.queries))
            turn = turns(longest, q.shape[-1]) if rotary else None
            return self._finish(attend_blocks(q, k, v, mask, turn, self._dropout))
        if rotary:
            q, k = self._rotate(q, k, positions)
        return self._finish(attend(q, k, v, mask, self._dropout, self._fused(x), self.record))

    def step(self, x: Tensor, cache: LayerCache, position: Tensor) -> Tensor:
        """Self-attention of one new position a row, (rows, 1, d_model), to all so far; position (1,)."""
        q, k, v = self._own(x)
        if self.rotary:
            q, k = self._rotate(q, k, position)
        k, v = cache.extend(k, v)  # (rows, heads, time, d_head)
        return self._finish(attend(q, k, v, None, self._dropout, self._fused(x), self.record))

    def step_memory(self, x: Tensor, cache: LayerCache, mask: Tensor | None) -> Tensor:
        """Attention of one new position a row, (rows, 1, d_model), to the memory its sentence's rows share."""
        sentences = cache.memory_keys.shape[0]
        q = x.view(sentences, -1, x.shape[-1])  # (sentences, hypotheses, d_model)
        q = self.queries(q)  # (sentences, heads, hypotheses, d_head)
        mixed = attend(
            q, cache.memory_keys, cache.memory_values, mask, self._dropout, self._fused(x), self.record
        )  # (sentences, heads, hypotheses, d_head)
        return self._finish(mixed).view_as(x)

    def _own(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of x, (batch, length, d_model), each (batch, heads, length, d_head)."""
        batch, length, d_model = x.shape
        qkv = self.qkv(x).view(batch, length, 3 * self.heads, d_model // self.heads).transpose(1, 2)
        q, k, v = qkv.chunk(3, dim=1)
        return q, k, v

    def _rotate(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        turn = turns(positions, q.shape[-1])
        return rotate(q, turn), rotate(k, turn)

    def queries(self, x: Tensor) -> Tensor:
        """Queries of (batch, target, d_model), split into heads, (batch, heads, target, d_head)."""
        d_model = x.shape[-1]
        bias = None if self.qkv.bias is None else self.qkv.bias[:d_model]
        return self._split(linear(x, self.qkv.weight[:d_model], bias))

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of (batch, source, d_model), each (batch, heads, source, d_head)."""
        d_model = memory.shape[-1]
        bias = None if self.qkv.bias is None else self.qkv.bias[d_model:]
        k, v = linear(memory, self.qkv.weight[d_model:], bias).chunk(2, dim=-1)
        return self._split(k), self._split(v)

    def _split(self, x: Tensor) -> Tensor:
        batch, length, d_model = x.shape
        return x.view(batch, length, self.heads, d_model // self.heads).transpose(1, 2)

    def _fused(self, x: Tensor) -> bool:
        return self.implementation == "fused" or (self.implementation == "auto" and x.device.type != "cpu")

    @property
    def _dropout(self) -> float:
        return self.dropout if self.training else 0.0

    def _finish(self, mixed: Tensor) -> Tensor:
        """(batch, heads, target, d_head) -> (batch, target, d_model)."""
        output: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return output
