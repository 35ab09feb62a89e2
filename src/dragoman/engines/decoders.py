"""Decoders, which predict one token at a time: besides `Transformer`, with its growing cache, three others.

`PreallocatedDecoder` is faster on a GPU. `PrefixDecoder` has no cache. `EnsembleDecoder` averages the probabilities of
several decoders (Sutskever et al. 2014, section 3.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.model.cache import KVCache, LayerCache
from dragoman.model.transformer import Transformer
from dragoman.search.hypothesis import Decoder
from dragoman.search.log_probabilities import mean_log_probabilities

SPARE_POSITIONS = 32
"""Positions by which a cache is enlarged."""

BIAS_MULTIPLE = 16
"""The rows of a bias must start at multiples of this, or torch's fused attention copies it."""


class PreallocatedCache(KVCache):
    """Keys and values of all decoder layers in one tensor each for the target and the source.

    Shapes: `own` (layers, 2, rows, heads, positions, d_head), of which the first `length` positions are filled;
    `memory` (layers, 2, sentences, heads, source, d_head); `bias` (sentences, 1, 1, source rounded up), 0 or the lowest
    number for padding, or None without padding.

    Args:
        memory: Keys and values of the source.
        padding: Which source tokens are padding, (sentences, source), or None if there is no padding.
    """

    memory_mask: Tensor | None  # type: ignore[assignment]  # added to the scores of the memory

    def __init__(self, memory: Tensor, padding: Tensor | None) -> None:
        layers, _, sentences, heads, self.source, d_head = memory.shape
        self.memory, self.own = memory, memory.new_empty(layers, 2, sentences, heads, SPARE_POSITIONS, d_head)
        self.bias = None if padding is None else self._bias(padding)
        super().__init__([_PreallocatedLayer(self, layer) for layer in range(layers)], memory)
        self._share_memory()

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be repeated), and these sentences (None: all)."""
        self.own = self.own.index_select(2, rows)
        if sentences is not None:
            self.memory = self.memory.index_select(2, sentences)
            self.bias = None if self.bias is None else self.bias.index_select(0, sentences)
            self._share_memory()

    def reserve(self) -> None:
        """Make room for the next position."""
        if self.length == self.own.shape[4]:
            self.own = F.pad(self.own, (0, 0, 0, SPARE_POSITIONS))

    def _share_memory(self) -> None:
        for layer, (keys, values) in zip(self.layers, self.memory, strict=True):
            layer.memory_keys, layer.memory_values = keys, values
        self.memory_mask = None if self.bias is None else self.bias[..., : self.source]

    def _bias(self, padding: Tensor) -> Tensor:
        lowest = torch.finfo(self.memory.dtype).min  # the softmax of a row of -inf would be NaN
        bias = torch.zeros(padding.shape, dtype=self.memory.dtype, device=padding.device).masked_fill(padding, lowest)
        return F.pad(bias, (0, -self.source % BIAS_MULTIPLE))[:, None, None]


class _PreallocatedLayer(LayerCache):
    """Keys and values of one layer, which are views of those of all layers."""

    def __init__(self, cache: PreallocatedCache, layer: int) -> None:
        super().__init__(*cache.memory[layer])
        self.cache, self.layer = cache, layer

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Write keys and values of one position, each (rows, heads, 1, d_head); returns those of all positions."""
        own, position = self.cache.own[self.layer], self.cache.length
        own[0, :, :, position : position + 1] = keys
        own[1, :, :, position : position + 1] = values
        own_keys, own_values = own[:, :, :, : position + 1]
        return own_keys, own_values


class PreallocatedDecoder:
    """Decodes with a model whose weights may have half precision."""

    def __init__(self, model: Transformer) -> None:
        self.model = model

    def start(self, source: Tensor) -> PreallocatedCache:
        """Encode source ids, (sentences, source), and prepare to decode one hypothesis of each."""
        memory = self.model.memory(source)
        layers = [torch.stack(layer.memory_attention.keys_values(memory)) for layer in self.model.decoder_layers]
        padding = source == self.model.source_pad  # (sentences, source)
        return PreallocatedCache(torch.stack(layers), padding if bool(padding.any()) else None)

    def step(self, tokens: Tensor, cache: PreallocatedCache) -> Tensor:
        """Feed one token to every row, (rows,); returns the logits of the next token, (rows, vocabulary), float32."""
        cache.reserve()
        hidden = self.model.step_hidden(tokens, cache)  # (rows, d_model)
        weight, bias = self.model.output.weight, self.model.output.bias
        if hidden.dtype == torch.float32 or hidden.device.type != "cuda":
            return F.linear(hidden, weight, bias).float()
        logits = torch.mm(hidden, weight.t(), out_dtype=torch.float32)  # bfloat16 would round logits to 8 bits
        return logits if bias is None else logits + bias


class PrefixCache:
    """The sources, (sentences, source), and all tokens fed so far, (rows, time), of a batch of hypotheses."""

    def __init__(self, source: Tensor) -> None:
        self.source = source
        self.prefix = torch.empty(len(source), 0, dtype=torch.int64, device=source.device)

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be repeated), and these sentences (None: all)."""
        self.prefix = self.prefix.index_select(0, rows)
        if sentences is not None:
            self.source = self.source.index_select(0, sentences)


class PrefixDecoder:
    """A decoder that stores the tokens instead of keys and values."""

    def __init__(self, model: Transformer) -> None:
        self.model = model

    def start(self, source: Tensor) -> PrefixCache:
        """Prepare to decode one hypothesis of each sentence, (sentences, source)."""
        return PrefixCache(source)

    def step(self, tokens: Tensor, cache: PrefixCache) -> Tensor:
        """Feed one token to every row, (rows,); returns the logits of the next token, (rows, target vocabulary)."""
        cache.prefix = torch.cat((cache.prefix, tokens[:, None]), dim=1)  # (rows, time)
        sources = cache.source.repeat_interleave(len(tokens) // max(1, len(cache.source)), dim=0)
        logits: Tensor = self.model.output(self.model.hidden(sources, cache.prefix)[:, -1])
        return logits


class EnsembleCache:
    """The caches of all members."""

    def __init__(self, caches: Sequence[Any]) -> None:
        self.caches = caches

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be repeated), and these sentences (None: all)."""
        for cache in self.caches:
            cache.select(rows, sentences)


class EnsembleDecoder:
    """Several decoders with one target vocabulary."""

    def __init__(self, decoders: Sequence[Decoder]) -> None:
        self.decoders = decoders

    def start(self, source: Tensor) -> EnsembleCache:
        """Prepare to decode one hypothesis of each sentence, (sentences, source)."""
        return EnsembleCache([decoder.start(source) for decoder in self.decoders])

    def step(self, tokens: Tensor, cache: EnsembleCache) -> Tensor:
        """Feed one token to every row, (rows,); returns the logarithms of mean probabilities, (rows, vocabulary)."""
        logits = [decoder.step(tokens, each) for decoder, each in zip(self.decoders, cache.caches, strict=True)]
        return mean_log_probabilities(logits)
