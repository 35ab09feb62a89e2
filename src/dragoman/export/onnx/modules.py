"""The two modules that become ONNX files; all their inputs and outputs are tensors."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from dragoman.model.cache import KVCache, LayerCache
from dragoman.model.transformer import Transformer


class Encoder(nn.Module):
    """Encodes source sentences, and computes the keys and values that the decoder attends to."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Encode ids, (batch, source).

        Returns:
            Keys and values of the memory, (layers, batch, heads, source, d_head) each, and its mask, (batch, source).
        """
        cache = self.model.start(source)
        keys = torch.stack([layer.memory_keys for layer in cache.layers])
        values = torch.stack([layer.memory_values for layer in cache.layers])
        return keys, values, cache.memory_mask[:, 0, 0]


class DecoderStep(nn.Module):
    """Feeds one more token to every sentence."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        tokens: Tensor,
        keys: Tensor,
        values: Tensor,
        memory_keys: Tensor,
        memory_values: Tensor,
        memory_mask: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Feed tokens, (batch,).

        Args:
            tokens: The last token of each sentence, (batch,).
            keys: Keys of the earlier tokens, (layers, batch, heads, time, d_head).
            values: Values of the earlier tokens, (layers, batch, heads, time, d_head).
            memory_keys: Output of the encoder, (layers, batch, heads, source, d_head).
            memory_values: Output of the encoder, (layers, batch, heads, source, d_head).
            memory_mask: Output of the encoder, (batch, source).

        Returns:
            Logits of the next tokens, (batch, vocabulary), and keys and values of all tokens,
            (layers, batch, heads, time + 1, d_head) each.
        """
        layers = [LayerCache(*memory) for memory in zip(memory_keys, memory_values, strict=True)]
        for layer, layer_keys, layer_values in zip(layers, keys, values, strict=True):
            layer.extend(layer_keys, layer_values)
        cache = KVCache(layers, memory_mask[:, None, None])
        cache.length = keys.shape[3]
        logits = self.model.step(tokens, cache)
        return logits, _stack(layer.self_keys for layer in layers), _stack(layer.self_values for layer in layers)


def _stack(tensors: Iterable[Tensor | None]) -> Tensor:
    """The tensors of all layers as one, (layers, batch, heads, time, d_head)."""
    return torch.stack([tensor for tensor in tensors if tensor is not None])
