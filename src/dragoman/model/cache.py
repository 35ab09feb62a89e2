"""Keys and values kept while decoding, so that each step computes one position only."""

from __future__ import annotations

import torch
from torch import Tensor

ROOM = 16  # tokens for which a packed cache has more room where there was too little
LOWEST = torch.finfo(torch.float32).min  # a bias that masks; -inf in a whole row would be NaN


class LayerCache:
    """Keys and values of one decoder layer.

    Shapes: `own_keys` and `own_values` (rows, heads, time, d_head), None before the first step;
    `memory_keys` and `memory_values` (sentences, heads, source, d_head). The rows of a sentence, its
    hypotheses, lie together and share its memory.
    """

    def __init__(self, memory_keys: Tensor, memory_values: Tensor) -> None:
        self.memory_keys = memory_keys
        self.memory_values = memory_values
        self.own_keys: Tensor | None = None
        self.own_values: Tensor | None = None

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append keys and values of new positions, each (rows, heads, new, d_head); all so far."""
        if self.own_keys is None or self.own_values is None:
            self.own_keys, self.own_values = keys, values
        else:
            self.own_keys = torch.cat((self.own_keys, keys), dim=2)
            self.own_values = torch.cat((self.own_values, values), dim=2)
        return self.own_keys, self.own_values


class KVCache:
    """What the decoder remembers of a batch of hypotheses."""

    def __init__(self, layers: list[LayerCache], memory_mask: Tensor | None) -> None:
        self.layers = layers
        self.memory_mask = memory_mask  # (sentences, 1, 1, source) or None
        self.length = 0  # positions decoded so far

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be taken twice), and these sentences (None: all).

        Args:
            rows: Indices of rows to keep, (new rows,); new rows / new sentences hypotheses a sentence.
            sentences: Indices of sentences to keep, (new sentences,).
        """
        for layer in self.layers:
            if layer.own_keys is not None and layer.own_values is not None:
                layer.own_keys = layer.own_keys.index_select(0, rows)
                layer.own_values = layer.own_values.index_select(0, rows)
            if sentences is not None:
                layer.memory_keys = layer.memory_keys.index_select(0, sentences)
                layer.memory_values = layer.memory_values.index_select(0, sentences)
        if sentences is not None and self.memory_mask is not None:
            self.memory_mask = self.memory_mask.index_select(0, sentences)


class PackedCache:
    """What the decoder of a `PackedTransformer` remembers of a batch of hypotheses.

    Those of a sentence share its slots, one for each token that any of them has taken, and a bias says which of them
    each hypothesis continues: so the order of hypotheses changes without moving anything.

    Args:
        sentences: How many; at first each has one hypothesis.
        memory: Keys and values of the sources for each layer, each (sentences * heads, source, d_head).
        bias: Added to the scores of the memory, (sentences * heads, 1, source): 0, or LOWEST for padding; None for 0.
    """

    def __init__(self, sentences: int, memory: list[tuple[Tensor, Tensor]], bias: Tensor | None) -> None:
        self.sentences, self.memory, self.bias = sentences, memory, bias
        both, _, d_head = memory[0][0].shape
        self.heads = both // sentences
        self.width = 1  # hypotheses of each sentence
        self.length = 0  # tokens of each hypothesis
        self.slots = 0  # of each sentence
        self.own = torch.empty(len(memory), 2, both, ROOM, d_head)
        self.seen: Tensor | None = None  # (sentences, width, slots), 0 or LOWEST; None if all see all
        self.own_bias: Tensor | None = None  # the same for every head, (sentences * heads, width, slots)

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be taken twice), and these sentences (None: all)."""
        assert self.seen is not None or self.width == 1, "hypotheses that differ do not see all"
        if sentences is not None:
            self.sentences = len(sentences)
            heads = (sentences[:, None] * self.heads + torch.arange(self.heads)).flatten()  # (sentences * heads,)
            self.memory = [(k.index_select(0, heads), v.index_select(0, heads)) for k, v in self.memory]
            self.bias = None if self.bias is None else self.bias.index_select(0, heads)
            kept, self.own = self.own, self._empty(self.slots + ROOM)
            torch.index_select(kept[..., : self.slots, :], 2, heads, out=self.own[..., : self.slots, :])
        self.width = len(rows) // max(1, self.sentences)
        if self.seen is not None:
            self.seen = self.seen.flatten(0, 1)[rows].view(self.sentences, self.width, self.slots)

    def advance(self) -> None:
        """Make room for one more token of each row, which sees itself."""
        self.length, self.slots = self.length + 1, self.slots + self.width
        if self.slots > self.own.shape[3]:
            kept, self.own = self.own, self._empty(self.slots + ROOM * self.width)
            self.own[..., : kept.shape[3], :] = kept
        if self.width == 1 and self.seen is None:
            return
        size = self.sentences, self.width
        itself = torch.full((self.width, self.width), LOWEST).fill_diagonal_(0.0).expand(*size, self.width)
        earlier = torch.zeros(*size, self.slots - self.width) if self.seen is None else self.seen
        self.seen = torch.cat((earlier, itself), dim=2)
        self.own_bias = self.seen[:, None].expand(-1, self.heads, -1, -1).flatten(0, 1)

    def extend(self, layer: int, new: Tensor) -> tuple[Tensor, Tensor]:
        """Fill the last slots of a layer, (2, sentences, heads, width, d_head); keys and values of all its slots."""
        own = self.own[layer]
        own.view(2, self.sentences, self.heads, *own.shape[2:])[..., self.slots - self.width : self.slots, :] = new
        k, v = own[:, :, : self.slots].unbind(0)
        return k, v

    def _empty(self, room: int) -> Tensor:
        layers, both, _, _, d_head = self.own.shape
        return self.own.new_empty(layers, both, self.sentences * self.heads, room, d_head)
