"""The model's layers with prepacked weights.

A decoding step multiplies few rows with every weight of the decoder, so most of its time goes into reading weights
and starting operations. oneDNN reads weights faster in its own layout, and it adds biases and residuals and applies
activations while it writes a product.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.engines.cpu.cache import SlotCache, pad_keys
from dragoman.engines.cpu.linear import Linear
from dragoman.model.attention import MultiHeadAttention
from dragoman.model.layers import ACTIVATIONS, FeedForward, SublayerConnection

Map = Callable[[Tensor], Tensor]


def _identity(x: Tensor) -> Tensor:
    return x


class _LayerNorm:
    def __init__(self, norm: nn.LayerNorm) -> None:
        self.arguments = list(norm.normalized_shape), norm.weight.detach(), norm.bias.detach(), norm.eps

    def __call__(self, x: Tensor) -> Tensor:
        return torch.layer_norm(x, *self.arguments)


class _Connection:
    """What a sublayer connection applies before the sublayer, and after adding the residual."""

    def __init__(self, connection: SublayerConnection) -> None:
        norm = _LayerNorm(connection.norm)
        self.before: Map = norm if connection.pre_norm else _identity
        self.after: Map = _identity if connection.pre_norm else norm


class PrepackedFeedForward:
    """A feed-forward sublayer."""

    def __init__(self, layer: FeedForward, connection: SublayerConnection, linear: type[Linear]) -> None:
        self.inner = linear(layer.inner.weight, layer.inner.bias)
        self.outer = linear(layer.outer.weight, layer.outer.bias)
        self.activation, self.connection = layer.activation, _Connection(connection)

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, d_model) -> the same shape."""
        y = self.connection.before(x)
        if self.activation == "relu":
            hidden = self.inner(y, "relu")
        elif self.activation == "swiglu":
            gate, value = self.inner(y).chunk(2, dim=-1)
            hidden = F.silu(gate) * value
        else:
            hidden = ACTIVATIONS[self.activation](self.inner(y))
        return self.connection.after(self.outer.plus(hidden, x))


class _Attention:
    """What both kinds of attention have in common. Sentences and heads are merged into one dimension for `bmm`."""

    def __init__(self, attention: MultiHeadAttention, connection: SublayerConnection, linear: type[Linear]) -> None:
        self.heads, self.d_head = attention.heads, attention.qkv.in_features // attention.heads
        self.connection = _Connection(connection)
        self.output = linear(attention.output.weight, attention.output.bias)

    def split(self, x: Tensor, sentences: int, length: int) -> Tensor:
        """(padded rows, n * d_model) -> (n, sentences, heads, length, d_head)."""
        return x[: sentences * length].view(sentences, length, -1, self.heads, self.d_head).permute(2, 0, 3, 1, 4)

    def attend(self, q: Tensor, keys_values: Tensor, bias: Tensor | None, x: Tensor) -> Tensor:
        """The sublayer's output, (padded rows, d_model).

        Args:
            q: Queries, (sentences, heads, target, d_head), divided by sqrt(d_head).
            keys_values: Keys and values, (2, sentences * heads, keys, d_head).
            bias: Added to the scores, (sentences * heads or 1, target or 1, keys), or None.
            x: The sublayer's input, (padded rows, d_model).
        """
        (k, v), (sentences, heads, target, d_head) = keys_values, q.shape
        q = q.reshape(sentences * heads, target, d_head)
        scores = torch.bmm(q, k.transpose(1, 2)) if bias is None else torch.baddbmm(bias, q, k.transpose(1, 2))
        mixed = torch.bmm(scores.softmax(dim=-1), v).view(sentences, heads, target, d_head).transpose(1, 2)
        if (rows := sentences * target) == x.shape[0]:
            merged = mixed.reshape(x.shape)
        else:
            merged = torch.empty_like(x)  # the results of rows that are padding are never read
            merged[:rows].view(mixed.shape).copy_(mixed)
        return self.connection.after(self.output.plus(merged, x))


class PrepackedSelfAttention(_Attention):
    """A self-attention sublayer."""

    def __init__(self, attention: MultiHeadAttention, connection: SublayerConnection, linear: type[Linear]) -> None:
        super().__init__(attention, connection, linear)
        self.qkv = _scaled_projection(attention, 3, linear)

    def step(self, x: Tensor, cache: SlotCache, layer: int, rotation: Tensor | None) -> Tensor:
        """One more position of every row, (padded rows, d_model) -> the same shape."""
        q, new = self._project(x, (cache.sentences, cache.width), rotation)
        return self.attend(q, cache.extend(layer, new), cache.own_bias, x)

    def forward(self, x: Tensor, size: tuple[int, int], bias: Tensor | None, rotation: Tensor | None) -> Tensor:
        """All positions of (sentences, length), (padded rows, d_model) -> the same shape."""
        q, keys_values = self._project(x, size, rotation)
        return self.attend(q, pad_keys(keys_values).flatten(1, 2), bias, x)

    def _project(self, x: Tensor, size: tuple[int, int], rotation: Tensor | None) -> tuple[Tensor, Tensor]:
        """Queries, (sentences, heads, length, d_head), and keys and values, (2, sentences, heads, length, d_head)."""
        (sentences, length), qkv = size, self.qkv(self.connection.before(x))
        if rotation is not None:
            _rotate(qkv[: sentences * length].view(sentences, length, -1), rotation)
        parts = self.split(qkv, sentences, length)
        return parts[0], parts[1:]


class PrepackedMemoryAttention(_Attention):
    """A sublayer of attention to the encoder's output."""

    def __init__(self, attention: MultiHeadAttention, connection: SublayerConnection, linear: type[Linear]) -> None:
        super().__init__(attention, connection, linear)
        d_model, bias = attention.qkv.in_features, attention.qkv.bias
        self.queries = _scaled_projection(attention, 1, linear)
        self.keys_values = linear(attention.qkv.weight[d_model:], None if bias is None else bias[d_model:])

    def project_memory(self, memory: Tensor, sentences: int, length: int) -> Tensor:
        """Keys and values, (2, sentences, heads, length, d_head), of the memory, (padded rows, d_model)."""
        return self.split(self.keys_values(memory), sentences, length)

    def step(self, x: Tensor, cache: SlotCache, layer: int) -> Tensor:
        """One more position of every row, (padded rows, d_model) -> the same shape."""
        (q,) = self.split(self.queries(self.connection.before(x)), cache.sentences, cache.width)
        return self.attend(q, cache.memory[layer].flatten(1, 2), cache.bias, x)


def _scaled_projection(attention: MultiHeadAttention, count: int, linear: type[Linear]) -> Linear:
    """The projection to queries (count 1), or to queries, keys and values (3); queries are divided by sqrt(d_head)."""
    d_model = attention.qkv.in_features
    scale = torch.ones(count * d_model)
    scale[:d_model] = 1 / math.sqrt(d_model // attention.heads)
    weight, bias = attention.qkv.weight[: count * d_model], attention.qkv.bias
    return linear(weight * scale[:, None], None if bias is None else bias[: count * d_model] * scale)


def _rotate(qkv: Tensor, rotation: Tensor) -> None:
    """Rotate queries and keys in place: `dragoman.model.positions.rotate` as one product of complex numbers.

    Args:
        qkv: Queries, keys and values, (sentences, length, 3 * d_model).
        rotation: Complex factors of queries and keys, (length, d_model).
    """
    pairs = torch.view_as_complex(qkv.view(*qkv.shape[:-1], -1, 2))  # (sentences, length, 3 * d_model / 2)
    pairs[..., : rotation.shape[-1]].mul_(rotation)
