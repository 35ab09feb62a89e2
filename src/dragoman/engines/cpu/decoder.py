"""Translating on a CPU in float32 with weights laid out for it: Transformer.start and step, up to twice as fast.

A step multiplies few rows with every weight of the decoder, so reading the weights and starting operations take the
time. oneDNN reads weights faster that it has laid out itself, and it adds biases and residuals and applies activations
as it writes a product.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.kernels.linear import ONEDNN
from dragoman.model.attention import MultiHeadAttention
from dragoman.model.cache import LOWEST, PackedCache
from dragoman.model.layers import ACTIVATIONS, DecoderLayer, EncoderLayer, FeedForward, Residual
from dragoman.model.masks import padding_mask
from dragoman.model.positions import rotate, turns
from dragoman.model.transformer import Transformer

TYPICAL_ROWS = 64  # that a product is laid out for
SMALL = 2**17  # weights of a product with one row that torch begins sooner, and so ends sooner, than oneDNN
EXACT = 8  # up to so many rows, the very number of rows is computed


def can_pack(model: Transformer) -> bool:
    """Whether this machine can translate so with this model."""
    ours = model.settings.implementation == "dragoman"
    weights = (weight.dtype == torch.float32 and weight.device.type == "cpu" for weight in model.parameters())
    return ONEDNN and ours and all(weights)


def padded(rows: int) -> int:
    """Rows to compute in their place: of few different numbers, for oneDNN compiles a product for each."""
    for limit, multiple in ((EXACT, 1), (256, 8), (1024, 16)):
        if rows <= limit:
            return -(-rows // multiple) * multiple
    return -(-rows // 128) * 128


def pad_rows(x: Tensor) -> Tensor:
    """(rows, size) -> (padded(rows), size)."""
    rows = x.shape[0]
    if rows <= EXACT:
        return x
    more = padded(rows) - rows
    return F.pad(x, (0, 0, 0, more)) if more else x


class Product:
    """x weight^T + bias, for a weight (out, in) and a bias (out,) or None."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight, self._bias = weight.detach().contiguous(), None if bias is None else bias.detach()
        self._packed = torch.ops.mkldnn._reorder_linear_weight(self._weight, TYPICAL_ROWS)
        self._small = weight.numel() <= SMALL

    def __call__(self, x: Tensor, activation: str = "none") -> Tensor:
        """(rows, in) -> (rows, out)."""
        if self._small and x.shape[0] == 1 and activation == "none":
            return F.linear(x, self._weight, self._bias)
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self._bias, activation, [], "")
        return product

    def added(self, x: Tensor, residual: Tensor) -> Tensor:
        """The product of x, (rows, in), added to the residual, (rows, out)."""
        if self._small and x.shape[0] == 1:
            return F.linear(x, self._weight, self._bias).add_(residual)
        total: Tensor = torch.ops.mkldnn._linear_pointwise.binary(x, residual, self._packed, self._bias, "add")
        return total


Map = Callable[[Tensor], Tensor]


def _nothing(x: Tensor) -> Tensor:
    return x


class _Norm:
    """Layer norm."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        self.arguments = list(norm.normalized_shape), norm.weight.detach(), norm.bias.detach(), norm.eps

    def __call__(self, x: Tensor) -> Tensor:
        return torch.layer_norm(x, *self.arguments)


class _Residual:
    """What surrounds a sublayer: `before` it, and `after` what it computed was added."""

    def __init__(self, residual: Residual) -> None:
        norm = _Norm(residual.norm)
        self.before: Map = norm if residual.pre_norm else _nothing
        self.after: Map = _nothing if residual.pre_norm else norm


class _FeedForward:
    def __init__(self, layer: FeedForward, residual: Residual) -> None:
        self.inner = Product(layer.inner.weight, layer.inner.bias)
        self.outer = Product(layer.outer.weight, layer.outer.bias)
        self.activation, self.residual = layer.activation, _Residual(residual)

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, d_model) -> the same shape."""
        y = self.residual.before(x)
        if self.activation == "relu":
            hidden = self.inner(y, "relu")
        elif self.activation == "swiglu":
            gate, value = self.inner(y).chunk(2, dim=-1)
            hidden = F.silu(gate) * value
        else:
            hidden = ACTIVATIONS[self.activation](self.inner(y))
        return self.residual.after(self.outer.added(hidden, x))


class _Attention:
    """What both kinds of attention share. Sentences and heads are one dimension, as `bmm` has it."""

    def __init__(self, attention: MultiHeadAttention, residual: Residual) -> None:
        self.heads, self.d_head = attention.heads, attention.qkv.in_features // attention.heads
        self.residual = _Residual(residual)
        self.output = Product(attention.output.weight, attention.output.bias)

    def split(self, x: Tensor, sentences: int, length: int) -> Tensor:
        """(padded rows, parts * d_model) -> (parts, sentences, heads, length, d_head)."""
        return x[: sentences * length].view(sentences, length, -1, self.heads, self.d_head).permute(2, 0, 3, 1, 4)

    def close(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, x: Tensor) -> Tensor:
        """The sublayer's output, (padded rows, d_model).

        Args:
            q: Queries, (sentences, heads, target, d_head), divided by sqrt(d_head).
            k: Keys, (sentences * heads, source, d_head).
            v: Values, (sentences * heads, source, d_head).
            bias: Added to the scores, (sentences * heads, target or 1, source), or None.
            x: The sublayer's input, (padded rows, d_model).
        """
        sentences, heads, target, d_head = q.shape
        q = q.reshape(sentences * heads, target, d_head)
        scores = torch.bmm(q, k.transpose(1, 2)) if bias is None else torch.baddbmm(bias, q, k.transpose(1, 2))
        mixed = torch.bmm(scores.softmax(dim=-1), v).view(sentences, heads, target, d_head).transpose(1, 2)
        return self.residual.after(self.output.added(pad_rows(mixed.reshape(sentences * target, -1)), x))


class _SelfAttention(_Attention):
    def __init__(self, attention: MultiHeadAttention, residual: Residual) -> None:
        super().__init__(attention, residual)
        self.qkv = _scaled(attention, 3)

    def step(self, x: Tensor, cache: PackedCache, layer: int, turn: Tensor | None) -> Tensor:
        """One more position of every row, (padded rows, d_model) -> the same shape."""
        q, new = self._read(x, cache.sentences, cache.width, turn)
        return self.close(q, *cache.extend(layer, new), cache.own_bias, x)

    def whole(self, x: Tensor, size: tuple[int, int], bias: Tensor | None, turn: Tensor | None) -> Tensor:
        """All positions of so many sentences of one length, (padded rows, d_model) -> the same shape."""
        q, keys_values = self._read(x, *size, turn)
        k, v = keys_values.flatten(1, 2)
        return self.close(q, k, v, bias, x)

    def _read(self, x: Tensor, sentences: int, length: int, turn: Tensor | None) -> tuple[Tensor, Tensor]:
        """Queries, (sentences, heads, length, d_head), and keys and values, (2, sentences, heads, length, d_head)."""
        qkv = self.split(self.qkv(self.residual.before(x)), sentences, length)
        if turn is not None:
            qkv = torch.cat((rotate(qkv[:2], turn), qkv[2:]))
        return qkv[0], qkv[1:]


class _MemoryAttention(_Attention):
    def __init__(self, attention: MultiHeadAttention, residual: Residual) -> None:
        super().__init__(attention, residual)
        d_model, bias = attention.qkv.in_features, attention.qkv.bias
        self.queries = _scaled(attention, 1)
        self.keys_values = Product(attention.qkv.weight[d_model:], None if bias is None else bias[d_model:])

    def read(self, memory: Tensor, sentences: int, length: int) -> tuple[Tensor, Tensor]:
        """Keys and values, each (sentences * heads, length, d_head), of the memory, (padded rows, d_model)."""
        k, v = self.split(self.keys_values(memory), sentences, length).flatten(1, 2)
        return k, v

    def step(self, x: Tensor, cache: PackedCache, layer: int) -> Tensor:
        """One more position of every row, (padded rows, d_model) -> the same shape."""
        (q,) = self.split(self.queries(self.residual.before(x)), cache.sentences, cache.width)
        return self.close(q, *cache.memory[layer], cache.bias, x)


def _scaled(attention: MultiHeadAttention, parts: int) -> Product:
    """The maps to queries (and keys and values, if 3 parts), with queries divided by sqrt(d_head)."""
    d_model = attention.qkv.in_features
    scale = torch.ones(parts * d_model)
    scale[:d_model] = 1 / math.sqrt(d_model // attention.heads)
    weight, bias = attention.qkv.weight[: parts * d_model], attention.qkv.bias
    return Product(weight * scale[:, None], None if bias is None else bias[: parts * d_model] * scale)


class PackedTransformer:
    """`start` and `step` of a model as it is now: later changes of its weights are not seen."""

    def __init__(self, model: Transformer) -> None:
        self.model = model
        encoder, decoder = cast("list[EncoderLayer]", model.encoder), cast("list[DecoderLayer]", model.decoder)
        self.encoder = [
            (
                _SelfAttention(layer.attention, layer.attention_residual),
                _FeedForward(layer.feed_forward, layer.feed_forward_residual),
            )
            for layer in encoder
        ]
        self.decoder = [
            (
                _SelfAttention(layer.attention, layer.attention_residual),
                _MemoryAttention(layer.memory_attention, layer.memory_attention_residual),
                _FeedForward(layer.feed_forward, layer.feed_forward_residual),
            )
            for layer in decoder
        ]
        self.output = Product(model.output.weight, model.output.bias)
        self.embedding = model.target_embedding.weight.detach()
        no_token = torch.zeros(1, model.settings.max_length, model.settings.d_model)
        positions = torch.arange(model.settings.max_length)
        self.positions = model.target_positions(no_token, positions)[0].detach()  # (max_length, d_model)

    def start(self, source: Tensor) -> PackedCache:
        """Encode source ids, (sentences, source), and prepare to decode one hypothesis of each."""
        settings, (sentences, length) = self.model.settings, source.shape
        mask, positions = padding_mask(source, self.model.source_pad), torch.arange(length)
        bias = None
        if mask is not None:
            bias = torch.zeros(mask.shape).masked_fill_(~mask, LOWEST).repeat(1, settings.heads, 1, 1).flatten(0, 1)
        x = self.model.embed_source(source, positions)
        x, turn = pad_rows(x.flatten(0, 1)), self._turn(0, length)
        for attention, feed_forward in self.encoder:
            x = feed_forward(attention.whole(x, (sentences, length), bias, turn))
        memory = self.model.encoder_norm(x)
        keys_values = [attention.read(memory, sentences, length) for _, attention, _ in self.decoder]
        return PackedCache(sentences, keys_values, bias)

    def step(self, tokens: Tensor, cache: PackedCache) -> Tensor:
        """Feed one more token to every row, (rows,); the logits of the next, (rows, target vocabulary)."""
        scale, position = math.sqrt(self.embedding.shape[1]), cache.length
        cache.advance()
        x = pad_rows(F.embedding(tokens, self.embedding).mul_(scale).add_(self.positions[position]))
        turn = self._turn(position, 1)
        for number, (attention, memory_attention, feed_forward) in enumerate(self.decoder):
            x = attention.step(x, cache, number, turn)
            x = feed_forward(memory_attention.step(x, cache, number))
        return self.output(self.model.decoder_norm(x))[: len(tokens)]

    def _turn(self, start: int, length: int) -> Tensor | None:
        settings = self.model.settings
        if settings.positions != "rotary":
            return None
        return turns(torch.arange(start, start + length), settings.d_model // settings.heads)
