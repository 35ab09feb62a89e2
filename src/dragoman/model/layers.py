"""Encoder and decoder layers (Vaswani et al. 2017, section 3.1), pre-norm or post-norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.model.attention import ATTENTION, MultiHeadAttention
from dragoman.model.cache import LayerCache
from dragoman.settings import Model

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}


class FeedForward(nn.Module):
    """Two linear maps with an activation between them, the same at every position (section 3.3).

    SwiGLU (Shazeer 2020, eq. 6) has three maps; the first matrix contains the map to the gate and the map to the value.
    """

    def __init__(self, d_model: int, d_ff: int, *, activation: str, dropout: float) -> None:
        super().__init__()
        self.activation = activation
        self.inner = nn.Linear(d_model, 2 * d_ff if activation == "swiglu" else d_ff)
        self.dropout = nn.Dropout(dropout)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, d_model) -> the same shape."""
        hidden: Tensor = self.inner(x)
        if self.activation == "swiglu":
            gate, value = hidden.chunk(2, dim=-1)
            hidden = F.silu(gate) * value  # (batch, length, d_ff)
        else:
            hidden = ACTIVATIONS[self.activation](hidden)
        return self.outer(self.dropout(hidden))


class SublayerConnection(nn.Module):
    """Norm, dropout and residual connection of a sublayer f: x + f(norm(x)), or norm(x + f(x)) for post-norm."""

    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.pre_norm = settings.norm == "pre"
        self.norm = nn.LayerNorm(settings.d_model, eps=settings.norm_epsilon)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """(batch, length, d_model) -> the same shape."""
        if self.pre_norm:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


def _attention(settings: Model) -> MultiHeadAttention:
    core = ATTENTION[settings.attention](settings.attention_dropout)
    return MultiHeadAttention(settings.d_model, settings.heads, qkv_bias=settings.qkv_bias, core=core)


def _feed_forward(settings: Model) -> FeedForward:
    return FeedForward(
        settings.d_model, settings.d_ff, activation=settings.activation, dropout=settings.activation_dropout
    )


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.attention = _attention(settings)
        self.attention_residual = SublayerConnection(settings)
        self.feed_forward = _feed_forward(settings)
        self.feed_forward_residual = SublayerConnection(settings)

    def forward(self, x: Tensor, mask: Any, rotation: Tensor | None) -> Tensor:
        """(batch, source, d_model) -> the same shape; rotary frequencies (source, d_head / 2, 2) or None."""
        x = self.attention_residual(x, lambda y: self.attention(y, mask, rotation))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the encoder's output, then feed-forward."""

    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.attention = _attention(settings)
        self.attention_residual = SublayerConnection(settings)
        self.memory_attention = _attention(settings)
        self.memory_attention_residual = SublayerConnection(settings)
        self.feed_forward = _feed_forward(settings)
        self.feed_forward_residual = SublayerConnection(settings)

    def forward(self, x: Tensor, memory: Tensor, mask: Any, memory_mask: Any, rotation: Tensor | None) -> Tensor:
        """(batch, target, d_model) and memory (batch, source, d_model) -> the shape of x."""
        x = self.attention_residual(x, lambda y: self.attention(y, mask, rotation))
        x = self.memory_attention_residual(x, lambda y: self.memory_attention(y, memory_mask, memory=memory))
        return self.feed_forward_residual(x, self.feed_forward)

    def step(self, x: Tensor, cache: LayerCache, memory_mask: Tensor, rotation: Tensor | None) -> Tensor:
        """One new position per row, (rows, 1, d_model) -> the same shape."""
        x = self.attention_residual(x, lambda y: self.attention.step(y, cache, rotation))
        x = self.memory_attention_residual(x, lambda y: self.memory_attention.step_memory(y, cache, memory_mask))
        return self.feed_forward_residual(x, self.feed_forward)
