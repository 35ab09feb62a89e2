"""A Transformer that translates on a CPU with prepacked weights, up to twice as fast as the model itself."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.engines.cpu.cache import LOWEST, MIN_KEYS, SlotCache, pad_bias
from dragoman.engines.cpu.layers import PrepackedFeedForward, PrepackedMemoryAttention, PrepackedSelfAttention
from dragoman.engines.cpu.linear import Linear, PrepackedLinear, pad_rows
from dragoman.model.transformer import Transformer


class PrepackedDecoder:
    """`start` and `step` of a model with its current weights; after changes to the model, make another one."""

    def __init__(self, model: Transformer, linear: type[Linear] = PrepackedLinear) -> None:
        self.model = model
        self.encoder = [
            (
                PrepackedSelfAttention(layer.attention, layer.attention_residual, linear),
                PrepackedFeedForward(layer.feed_forward, layer.feed_forward_residual, linear),
            )
            for layer in model.encoder_layers
        ]
        self.decoder = [
            (
                PrepackedSelfAttention(layer.attention, layer.attention_residual, linear),
                PrepackedMemoryAttention(layer.memory_attention, layer.memory_attention_residual, linear),
                PrepackedFeedForward(layer.feed_forward, layer.feed_forward_residual, linear),
            )
            for layer in model.decoder_layers
        ]
        self.linear = linear(model.output.weight, model.output.bias)
        self.embedding = model.target_embedding.weight.detach()
        zeros = torch.zeros(1, model.settings.max_length, model.settings.d_model)
        positions = torch.arange(model.settings.max_length)
        self.positions = model.target_positions(zeros, positions)[0].detach()  # (max_length, d_model)
        self.rotation = _complex_rotation(model, positions)

    def start(self, source: Tensor) -> SlotCache:
        """Encode source ids, (sentences, source), and prepare to decode one hypothesis of each."""
        sentences, length = source.shape
        bias, positions = self._padding_bias(source), torch.arange(length)
        x = pad_rows(self.model.embed_source(source, positions).flatten(0, 1))
        rotation = None if self.rotation is None else self.rotation[:length]
        for attention, feed_forward in self.encoder:
            x = feed_forward(attention.forward(x, (sentences, length), bias, rotation))
        x = self.model.encoder_norm(x)
        settings, keys = self.model.settings, max(length, MIN_KEYS)
        size = len(self.decoder), 2, sentences, settings.heads, keys, settings.d_model // settings.heads
        memory = torch.zeros(size)
        for keys_values, (_, memory_attention, _) in zip(memory, self.decoder, strict=True):
            keys_values[..., :length, :] = memory_attention.project_memory(x, sentences, length)
        return SlotCache(memory, bias)

    def step(self, tokens: Tensor, cache: SlotCache) -> Tensor:
        """Feed one token to every row, (rows,); returns the logits of the next token, (rows, target vocabulary)."""
        return self.linear(self._padded_hidden(tokens, cache))[: len(tokens)]

    def step_hidden(self, tokens: Tensor, cache: SlotCache) -> Tensor:
        """The decoder's output for one more token of every row, (rows, d_model)."""
        return self._padded_hidden(tokens, cache)[: len(tokens)]

    def output(self, hidden: Tensor) -> Tensor:
        """The logits of outputs of the decoder, (rows, target vocabulary) for (rows, d_model)."""
        return self.linear(pad_rows(hidden))[: len(hidden)]

    def _padded_hidden(self, tokens: Tensor, cache: SlotCache) -> Tensor:
        scale, position = math.sqrt(self.embedding.shape[1]), cache.length
        cache.advance()
        x = pad_rows(F.embedding(tokens, self.embedding).mul_(scale).add_(self.positions[position]))
        rotation = None if self.rotation is None else self.rotation[position : position + 1]
        for layer, (attention, memory_attention, feed_forward) in enumerate(self.decoder):
            x = attention.step(x, cache, layer, rotation)
            x = feed_forward(memory_attention.step(x, cache, layer))
        hidden: Tensor = self.model.decoder_norm(x)
        return hidden

    def _padding_bias(self, source: Tensor) -> Tensor | None:
        """The bias added to the scores of source tokens, (sentences * heads, 1, keys); None without padding."""
        padding = source == self.model.source_pad  # (sentences, source)
        if source.shape[1] >= MIN_KEYS and not bool(padding.any()):
            return None
        bias = pad_bias(torch.zeros(padding.shape).masked_fill_(padding, LOWEST))  # (sentences, keys)
        return bias[:, None, None].repeat(1, self.model.settings.heads, 1, 1).flatten(0, 1)


def _complex_rotation(model: Transformer, positions: Tensor) -> Tensor | None:
    """The factors of all pairs of queries and keys, (positions, d_model), or None if positions are not rotary."""
    rotation = model.target_positions.rotation(positions)  # (positions, d_head / 2, 2) or None
    return None if rotation is None else torch.view_as_complex(rotation).repeat(1, 2 * model.settings.heads)
