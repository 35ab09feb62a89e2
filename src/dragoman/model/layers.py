"""Encoder and decoder layers (Vaswani et al. 2017, section 3.1), pre-norm or post-norm."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.kernels.dropout import dropout
from dragoman.kernels.linear import Linear
from dragoman.model.attention import MultiHeadAttention
from dragoman.model.cache import LayerCache
from dragoman.model.masks import Mask
from dragoman.settings import Model

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}


class FeedForward(nn.Module):
    """Two linear maps with an activation between, the same at every position (section 3.3).

    SwiGLU (Shazeer 2020, eq. 6) has a third: its first map makes the gate and the value together.
    """

    def __init__(self, d_model: int, d_ff: int, *, activation: str, dropout: float) -> None:
        super().__init__()
        self.activation = activation
        self.dropout = dropout
        self.inner = Linear(d_model, 2 * d_ff if activation == "swiglu" else d_ff)
        self.outer = Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, d_model) -> the same shape."""
        hidden: Tensor = self.inner(x)
        if self.activation == "swiglu":
            gate, value = hidden.chunk(2, dim=-1)
            hidden = F.silu(gate) * value  # (batch, length, d_ff)
        else:
            hidden = ACTIVATIONS[self.activation](hidden)
        output: Tensor = self.outer(dropout(hidden, self.dropout, self.training))
        return output


class Residual(nn.Module):
    """A sublayer's norm, dropout and residual connection: x + f(norm(x)), or norm(x + f(x)) for post-norm."""

    def __init__(self, d_model: int, *, pre_norm: bool, epsilon: float, dropout: float) -> None:
        super().__init__()
        self.pre_norm = pre_norm
        self.dropout = dropout
        self.norm = nn.LayerNorm(d_model, eps=epsilon)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """(batch, length, d_model) -> the same shape."""
        if self.pre_norm:
            return x + dropout(sublayer(self.norm(x)), self.dropout, self.training)
        normed: Tensor = self.norm(x + dropout(sublayer(x), self.dropout, self.training))
        return normed


def _attention(settings: Model, *, rotary: bool) -> MultiHeadAttention:
    return MultiHeadAttention(
        settings.d_model,
        settings.heads,
        qkv_bias=settings.qkv_bias,
        dropout=settings.attention_dropout,
        rotary=rotary,
        implementation=settings.attention,
    )


def _residual(settings: Model) -> Residual:
    return Residual(
        settings.d_model,
        pre_norm=settings.norm == "pre",
        epsilon=settings.norm_epsilon,
        dropout=settings.dropout,
    )


def _feed_forward(settings: Model) -> FeedForward:
    return FeedForward(
        settings.d_model, settings.d_ff, activation=settings.activation, dropout=settings.activation_dropout
    )


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.attention = _attention(settings, rotary=settings.positions == "rotary")
        self.attention_residual = _residual(settings)
        self.feed_forward = _feed_forward(settings)
        self.feed_forward_residual = _residual(settings)

    def forward(self, x: Tensor, mask: Mask, positions: Tensor) -> Tensor:
        """(batch, source, d_model) at positions (source,) -> the same shape."""
        x = self.attention_residual(x, lambda y: self.attention(y, mask, positions))
        return self.feed_forward_residual(x, self.feed_forward)  # type: ignore[no-any-return]


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the encoder's output, then feed-forward."""

    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.attention = _attention(settings, rotary=settings.positions == "rotary")
        self.attention_residual = _residual(settings)
        self.memory_attention = _attention(settings, rotary=False)
        self.memory_attention_residual = _residual(settings)
        self.feed_forward = _feed_forward(settings)
        self.feed_forward_residual = _residual(settings)

    def forward(self, x: Tensor, memory: Tensor, mask: Mask, memory_mask: Mask, positions: Tensor) -> Tensor:
        """(batch, target, d_model) at positions (target,), memory (batch, source, d_model) -> the shape of x."""
        x = self.attention_residual(x, lambda y: self.attention(y, mask, positions))
        x = self.memory_attention_residual(x, lambda y: self.memory_attention(y, memory_mask, positions, memory))
        return self.feed_forward_residual(x, self.feed_forward)  # type: ignore[no-any-return]

    def step(self, x: Tensor, cache: LayerCache, memory_mask: Tensor | None, position: Tensor) -> Tensor:
        """One new position a row, (rows, 1, d_model) -> the same shape; position (1,)."""
        x = self.attention_residual(x, lambda y: self.attention.step(y, cache, position))
        x = self.memory_attention_residual(x, lambda y: self.memory_attention.step_memory(y, cache, memory_mask))
        return self.feed_forward_residual(x, self.feed_forward)  # type: ignore[no-any-return]
