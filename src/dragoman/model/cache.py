"""Keys and values of earlier positions, kept so that each decoding step computes only one position."""

from __future__ import annotations

import torch
from torch import Tensor


class LayerCache:
    """Keys and values of one decoder layer.

    Shapes: `self_keys` and `self_values` (rows, heads, time, d_head), None before the first step;
    `memory_keys` and `memory_values` (sentences, heads, source, d_head). The rows of a sentence, its
    hypotheses, are adjacent and share its memory.
    """

    def __init__(self, memory_keys: Tensor, memory_values: Tensor) -> None:
        self.memory_keys = memory_keys
        self.memory_values = memory_values
        self.self_keys: Tensor | None = None
        self.self_values: Tensor | None = None

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append keys and values of new positions, each (rows, heads, new, d_head); returns those of all positions."""
        if self.self_keys is not None and self.self_values is not None:
            keys = torch.cat((self.self_keys, keys), dim=2)  # (rows, heads, time, d_head)
            values = torch.cat((self.self_values, values), dim=2)
        self.self_keys, self.self_values = keys, values
        return keys, values


class KVCache:
    """Keys and values of all decoder layers, for a batch of hypotheses."""

    def __init__(self, layers: list[LayerCache], memory_mask: Tensor) -> None:
        self.layers = layers
        self.memory_mask = memory_mask  # (sentences, 1, 1, source)
        self.length = 0  # positions decoded so far

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be repeated), and these sentences (None: all).

        Args:
            rows: Indices of rows to keep, (new rows,); new rows / new sentences hypotheses per sentence.
            sentences: Indices of sentences to keep, (new sentences,).
        """
        for layer in self.layers:
            if layer.self_keys is not None and layer.self_values is not None:
                layer.self_keys = layer.self_keys.index_select(0, rows)
                layer.self_values = layer.self_values.index_select(0, rows)
            if sentences is not None:
                layer.memory_keys = layer.memory_keys.index_select(0, sentences)
                layer.memory_values = layer.memory_values.index_select(0, sentences)
        if sentences is not None:
            self.memory_mask = self.memory_mask.index_select(0, sentences)
