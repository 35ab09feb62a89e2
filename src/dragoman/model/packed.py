"""Translating on a CPU in float32 with weights laid out for it: Transformer.start and step, two or three times as fast.

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

from dragoman.model.attention import MultiHeadAttention
from dragoman.model.layers import ACTIVATIONS, DecoderLayer, EncoderLayer, FeedForward, Residual
from dragoman.model.masks import padding_mask
from dragoman.model.positions import rotate, turns
from dragoman.model.products import ONEDNN
from dragoman.model.transformer import Transformer

TYPICAL_ROWS = 64  # that a product is laid out for
ROOM = 16  # tokens for which there is more room where there was too little
LOWEST = torch.finfo(torch.float32).min  # not -inf, which in a whole row would be NaN

_linear = torch.ops.mkldnn._linear_pointwise


def can_pack(model: Transformer) -> bool:
    """Whether this machine can translate so with this model."""
    ours = model.settings.implementation == "dragoman"
    weights = (weight.dtype == torch.float32 and weight.device.type == "cpu" for weight in model.parameters())
    return ONEDNN and ours and all(weights)


def padded(rows: int) -> int:
    """Rows to compute in their place: of few different numbers, for oneDNN compiles a product for each."""
    for limit, multiple in ((8, 1), (256, 8), (1024, 16)):
        if rows <= limit:
            return -(-rows // multiple) * multiple
    return -(-rows // 128) * 128


def pad_rows(x: Tensor) -> Tensor:
    """(rows, size) -> (padded(rows), size)."""
    more = padded(len(x)) - len(x)
    return F.pad(x, (0, 0, 0, more)) if more else x


class Product:
    """x weight^T + bias, for a weight (out, in) and a bias (out,) or None."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), TYPICAL_ROWS)
        self._bias = None if bias is None else bias.detach()

    def __call__(self, x: Tensor, activation: str = "none") -> Tensor:
        """(rows, in) -> (rows, out)."""
        product: Tensor = _linear(x, self._weight, self._bias, activation, [], "")
        return product

    def added(self, x: Tensor, residual: Tensor) -> Tensor:
        """The product of x, (rows, in), added to the residual, (rows, out)."""
        total: Tensor = _linear.binary(x, residual, self._weight, self._bias, "add")
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


class _SelfAttention:
    def __init__(self, attention: MultiHeadAttention, residual: Residual) -> None:
        self.heads, self.residual = attention.heads, _Residual(residual)
        self.qkv = _scaled(attention, 3)
        self.output = Product(attention.output.weight, attention.output.bias)

    def step(self, x: Tensor, cache: PackedCache, layer: int, turn: Tensor | None) -> Tensor:
        """One more position of every row, (padded rows, d_model) -> the same shape."""
        qkv = self.qkv(self.residual.before(x))[: cache.rows].view(cache.sentences, -1, 3, self.heads, cache.d_head)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)  # each (sentences, heads, hypotheses, d_head)
        if turn is not None:
            q, k = rotate(q, turn), rotate(k, turn)
        mixed = _attend(q, *cache.extend(layer, k, v), cache.own_bias)
        return self.residual.after(self.output.added(pad_rows(mixed), x))

    def whole(self, x: Tensor, size: tuple[int, int], bias: Tensor | None, turn: Tensor | None) -> Tensor:
        """All positions of so many sentences of one length, (padded rows, d_model) -> the same shape."""
        sentences, length = size
        qkv = self.qkv(self.residual.before(x))[: sentences * length].view(sentences, length, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)  # each (sentences, heads, length, d_head)
        if turn is not None:
            q, k = rotate(q, turn), rotate(k, turn)
        mixed = _attend(q, k.contiguous(), v.contiguous(), bias)
        return self.residual.after(self.output.added(pad_rows(mixed), x))


class _MemoryAttention:
    def __init__(self, attention: MultiHeadAttention, residual: Residual) -> None:
        self.heads, self.residual = attention.heads, _Residual(residual)
        d_model = attention.qkv.in_features
        self.queries = _scaled(attention, 1)
        bias = attention.qkv.bias
        self.keys_values = Product(attention.qkv.weight[d_model:], None if bias is None else bias[d_model:])
        self.output = Product(attention.output.weight, attention.output.bias)

    def read(self, memory: Tensor, sentences: int, length: int) -> tuple[Tensor, Tensor]:
        """Keys and values, each (sentences, heads, length, d_head), of the memory, (padded rows, d_model)."""
        both = self.keys_values(memory)[: sentences * length].view(sentences, length, 2, self.heads, -1)
        k, v = both.permute(2, 0, 3, 1, 4).contiguous().unbind(0)
        return k, v

    def step(self, x: Tensor, cache: PackedCache, layer: int) -> Tensor:
        """One more position of every row, (padded rows, d_model) -> the same shape."""
        q = self.queries(self.residual.before(x))[: cache.rows].view(cache.sentences, -1, self.heads, cache.d_head)
        mixed = _attend(q.transpose(1, 2), *cache.memory[layer], cache.bias)
        return self.residual.after(self.output.added(pad_rows(mixed), x))


def _attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
    """softmax(q k^T + bias) v.

    Args:
        q: Queries, (batch, heads, target, d_head).
        k: Keys, (batch, heads, source, d_head).
        v: Values, (batch, heads, source, d_head).
        bias: For every head, (batch, heads, target or 1, source), or None.

    Returns:
        (batch * target, d_model).
    """
    batch, heads, target, d_head = q.shape
    q, k, v = (each.reshape(batch * heads, -1, d_head) for each in (q, k, v))
    if bias is None:
        scores = torch.bmm(q, k.transpose(1, 2))
    else:
        scores = torch.baddbmm(bias.flatten(0, 1), q, k.transpose(1, 2))
    mixed = torch.bmm(scores.softmax(dim=-1), v).view(batch, heads, target, d_head)
    return mixed.transpose(1, 2).reshape(batch * target, -1)


def _scaled(attention: MultiHeadAttention, parts: int) -> Product:
    """The maps to queries (and keys and values, if 3 parts), with queries divided by sqrt(d_head)."""
    d_model = attention.qkv.in_features
    scale = torch.ones(parts * d_model)
    scale[:d_model] = 1 / math.sqrt(d_model // attention.heads)
    weight, bias = attention.qkv.weight[: parts * d_model], attention.qkv.bias
    return Product(weight * scale[:, None], None if bias is None else bias[: parts * d_model] * scale)


class PackedCache:
    """Keys and values of a batch of hypotheses.

    Those of a sentence share its slots, one for each token that any of them has taken, and a bias says which of them
    each hypothesis continues: so the order of hypotheses changes without moving anything.

    Args:
        memory: Keys and values of the sources for each layer, each (sentences, heads, source, d_head).
        bias: Added to the scores of the memory, (sentences, heads, 1, source): 0, or LOWEST for padding; None for 0.
    """

    def __init__(self, memory: list[tuple[Tensor, Tensor]], bias: Tensor | None) -> None:
        self.memory, self.bias = memory, bias
        self.sentences, heads, _, self.d_head = memory[0][0].shape
        self.rows = self.sentences
        self.length = 0  # tokens of each row
        self.slots = 0  # that are filled
        self.own = torch.empty(len(memory), 2, self.sentences, heads, ROOM, self.d_head)
        self.seen: Tensor | None = None  # (sentences, hypotheses, slots), 0 or LOWEST; None: all are seen
        self.own_bias: Tensor | None = None  # the same for every head, (sentences, heads, hypotheses, slots)

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be taken twice), and these sentences (None: all)."""
        before, self.rows = self.rows // max(1, self.sentences), len(rows)
        if sentences is not None:
            self.sentences = len(sentences)
            self.memory = [(k.index_select(0, sentences), v.index_select(0, sentences)) for k, v in self.memory]
            self.bias = None if self.bias is None else self.bias.index_select(0, sentences)
            kept, self.own = self.own, self._empty(self.slots + ROOM)
            torch.index_select(kept[..., : self.slots, :], 2, sentences, out=self.own[..., : self.slots, :])
        if self.seen is not None:
            width = len(rows) // max(1, self.sentences)
            self.seen = self.seen.flatten(0, 1)[rows].view(self.sentences, width, self.slots)
        else:
            assert before == 1 or not self.slots, "hypotheses that differ do not see all"

    def advance(self) -> None:
        """Make room for one more token of each row, which sees itself."""
        width = self.rows // self.sentences
        self.length += 1
        self.slots += width
        if self.slots > self.own.shape[4]:
            kept, self.own = self.own, self._empty(self.slots + ROOM * width)
            self.own[..., : kept.shape[4], :] = kept
        if width == 1 and self.seen is None:
            return
        itself = torch.full((width, width), LOWEST).fill_diagonal_(0.0).expand(self.sentences, width, width)
        earlier = torch.zeros(self.sentences, width, self.slots - width) if self.seen is None else self.seen
        self.seen = torch.cat((earlier, itself), dim=2)
        self.own_bias = self.seen[:, None].repeat(1, self.own.shape[3], 1, 1)

    def extend(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Fill the last slots of a layer, each (sentences, heads, hypotheses, d_head); keys and values of all."""
        keys, values = self.own[layer, :, :, :, : self.slots].unbind(0)
        keys[:, :, self.slots - k.shape[2] :] = k
        values[:, :, self.slots - k.shape[2] :] = v
        return keys, values

    def _empty(self, room: int) -> Tensor:
        layers, both, _, heads, _, d_head = self.own.shape
        return self.own.new_empty(layers, both, self.sentences, heads, room, d_head)


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

    def start(self, source: Tensor) -> PackedCache:
        """Encode source ids, (sentences, source), and prepare to decode one hypothesis of each."""
        settings, (sentences, length) = self.model.settings, source.shape
        mask, positions = padding_mask(source, self.model.source_pad), torch.arange(length)
        bias = None
        if mask is not None:
            bias = torch.zeros(mask.shape).masked_fill_(~mask, LOWEST).repeat(1, settings.heads, 1, 1)
        x = self.model.embed_source(source, positions)
        x, turn = pad_rows(x.flatten(0, 1)), self._turn(positions)
        for attention, feed_forward in self.encoder:
            x = feed_forward(attention.whole(x, (sentences, length), bias, turn))
        memory = self.model.encoder_norm(x)
        return PackedCache([attention.read(memory, sentences, length) for _, attention, _ in self.decoder], bias)

    def step(self, tokens: Tensor, cache: PackedCache) -> Tensor:
        """Feed one more token to every row, (rows,); the logits of the next, (rows, target vocabulary)."""
        position = torch.tensor([cache.length])
        cache.advance()
        x, turn = pad_rows(self.model.embed_target(tokens[:, None], position)[:, 0]), self._turn(position)
        for number, (attention, memory_attention, feed_forward) in enumerate(self.decoder):
            x = attention.step(x, cache, number, turn)
            x = feed_forward(memory_attention.step(x, cache, number))
        return self.output(self.model.decoder_norm(x))[: len(tokens)]

    def _turn(self, positions: Tensor) -> Tensor | None:
        settings = self.model.settings
        return turns(positions, settings.d_model // settings.heads) if settings.positions == "rotary" else None
