"""The encoder-decoder Transformer (Vaswani et al. 2017): ids in, logits out."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.model.cache import KVCache, LayerCache
from dragoman.model.layers import DecoderLayer, EncoderLayer
from dragoman.model.masks import causal_mask, padding_mask
from dragoman.model.positions import POSITIONS, Positions
from dragoman.settings import Model


class Transformer(nn.Module):
    """An encoder over the source, and a decoder that predicts each next target token.

    Args:
        settings: Sizes and variants.
        source_size: Size of the source vocabulary.
        target_size: Size of the target vocabulary.
        source_pad: Id of padding in the source.
    """

    def __init__(self, settings: Model, source_size: int, target_size: int, source_pad: int) -> None:
        super().__init__()
        self.settings = settings
        self.source_pad = source_pad
        d_model, positions = settings.d_model, POSITIONS[settings.positions]
        self.source_embedding = nn.Embedding(source_size, d_model)
        self.target_embedding = nn.Embedding(target_size, d_model)
        self.source_positions = positions(settings.max_length, d_model, settings.heads)
        self.target_positions = positions(settings.max_length, d_model, settings.heads)
        self.dropout = nn.Dropout(settings.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(settings) for _ in range(settings.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(settings) for _ in range(settings.decoder_layers))
        final_norm = partial(nn.LayerNorm, d_model, settings.norm_epsilon) if settings.final_norm else nn.Identity
        self.encoder_norm, self.decoder_norm = final_norm(), final_norm()
        self.output = nn.Linear(d_model, target_size, bias=settings.output_bias)
        if settings.tie == "all":
            assert source_size == target_size, "one vocabulary is shared"
            self.source_embedding.weight = self.target_embedding.weight
        if settings.tie != "none":
            self.output.weight = self.target_embedding.weight
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw initial weights: matrices Xavier-uniform, embeddings as the settings say, biases zero."""
        for name, parameter in self.named_parameters():
            if name.endswith("qkv.weight") and self.settings.qkv_init == "separate":  # three matrices stored as one
                for matrix in parameter.chunk(3):
                    nn.init.xavier_uniform_(matrix)
            elif self._is_embedding(name) and self.settings.embedding_init != "xavier":
                nn.init.normal_(parameter, std=self.settings.d_model**-0.5)
            elif parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def _is_embedding(self, name: str) -> bool:
        return "embedding" in name or "positions" in name or (name == "output.weight" and self.settings.tie == "none")

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits of each next token, teacher-forced.

        Args:
            source: Ids, each sentence ended by eos and padded, (batch, source), int64.
            target: Ids, each sentence starting with bos and padded, (batch, target), int64.

        Returns:
            Logits, (batch, target, target vocabulary).
        """
        return self.output(self.hidden(source, target))

    def hidden(self, source: Tensor, target: Tensor) -> Tensor:
        """The decoder's output before the projection to logits, (batch, target, d_model)."""
        mask = causal_mask(target.shape[1], target.device)  # padding comes last, so no real token sees it
        memory_mask = padding_mask(source, self.source_pad)
        return self.decode(target, self.memory(source), mask, memory_mask, _positions(target))

    def memory(self, source: Tensor) -> Tensor:
        """The encoder's output, (batch, source, d_model), for ids (batch, source)."""
        return self.encode(source, padding_mask(source, self.source_pad), _positions(source))

    def encode(self, source: Tensor, mask: Any, positions: Tensor) -> Tensor:
        """The encoder's output, (batch, source, d_model), for ids (batch, source) at positions (source,)."""
        x, rotation = self.embed_source(source, positions), self.source_positions.rotation(positions)
        for layer in self.encoder:
            x = layer(x, mask, rotation)
        return self.encoder_norm(x)

    def decode(self, target: Tensor, memory: Tensor, mask: Any, memory_mask: Any, positions: Tensor) -> Tensor:
        """The decoder's output, (batch, target, d_model), for ids (batch, target) at positions (target,).

        Args:
            target: Ids, (batch, target).
            memory: The encoder's output, (batch, source, d_model).
            mask: What each target position may attend to in the target; passed on to the attention.
            memory_mask: What each target position may attend to in the memory.
            positions: Positions in the sentence, (target,).
        """
        x, rotation = self.embed_target(target, positions), self.target_positions.rotation(positions)
        for layer in self.decoder:
            x = layer(x, memory, mask, memory_mask, rotation)
        return self.decoder_norm(x)

    def start(self, source: Tensor) -> KVCache:
        """Encode source ids, (sentences, source), and prepare to decode one hypothesis of each."""
        memory = self.memory(source)
        layers = [LayerCache(*layer.memory_attention.keys_values(memory)) for layer in self.decoder_layers]
        return KVCache(layers, padding_mask(source, self.source_pad))

    def step(self, tokens: Tensor, cache: KVCache) -> Tensor:
        """Feed one token to every row, (rows,); returns the logits of the next token, (rows, target vocabulary)."""
        return self.output(self.step_hidden(tokens, cache))

    def step_hidden(self, tokens: Tensor, cache: KVCache) -> Tensor:
        """The decoder's output for one more token of every row, (rows, d_model)."""
        position = torch.arange(cache.length, cache.length + 1, device=tokens.device)
        x, rotation = self.embed_target(tokens[:, None], position), self.target_positions.rotation(position)
        for layer, layer_cache in zip(self.decoder_layers, cache.layers, strict=True):
            x = layer.step(x, layer_cache, cache.memory_mask, rotation)  # (rows, 1, d_model)
        cache.length += 1
        return self.decoder_norm(x[:, 0])

    @property
    def encoder_layers(self) -> list[EncoderLayer]:
        """The layers of the encoder, first to last."""
        return [layer for layer in self.encoder if isinstance(layer, EncoderLayer)]

    @property
    def decoder_layers(self) -> list[DecoderLayer]:
        """The layers of the decoder, first to last."""
        return [layer for layer in self.decoder if isinstance(layer, DecoderLayer)]

    def embed_source(self, ids: Tensor, positions: Tensor) -> Tensor:
        """The encoder's input, (batch, length, d_model), for ids (batch, length) at positions (length,)."""
        return self._embed(self.source_embedding, self.source_positions, ids, positions)

    def embed_target(self, ids: Tensor, positions: Tensor) -> Tensor:
        """The decoder's input, (batch, length, d_model), for ids (batch, length) at positions (length,)."""
        return self._embed(self.target_embedding, self.target_positions, ids, positions)

    def _embed(self, embedding: nn.Embedding, add: Positions, ids: Tensor, positions: Tensor) -> Tensor:
        x = F.embedding(ids, embedding.weight) * math.sqrt(self.settings.d_model)  # (batch, length, d_model)
        return self.dropout(add(x, positions))


def _positions(ids: Tensor) -> Tensor:
    """Positions of ids (batch, length) in their sentences: 0, 1, …, (length,)."""
    return torch.arange(ids.shape[1], device=ids.device)


def parameter_counts(model: nn.Module) -> dict[str, int]:
    """Number of parameters by part, and in total; a shared matrix counts once, where it is first used."""
    counts: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        part = name.split(".")[0]
        counts[part] = counts.get(part, 0) + parameter.numel()
    return {**counts, "total": sum(counts.values())}
