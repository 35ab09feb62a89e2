"""A cache of keys and values in which reordering hypotheses copies no keys and values."""

from __future__ import annotations

import torch
from torch import Tensor

SPARE_SLOTS = 16
"""Unused slots per hypothesis that are allocated whenever a cache is enlarged."""

LOWEST = torch.finfo(torch.float32).min
"""A bias that masks a key; the softmax of a row of -inf would be NaN."""


class SlotCache:
    """Keys and values of all decoder layers, for a batch of hypotheses.

    The hypotheses of a sentence share its slots. There is one slot for each token of any of them, and a bias
    determines which slots each hypothesis sees. Reordering hypotheses changes only this bias.

    Args:
        sentences: Number of sentences; each starts with one hypothesis.
        memory: Keys and values of the source for each layer, each (sentences * heads, source, d_head).
        bias: Added to the scores of the memory, (sentences * heads, 1, source): 0, or LOWEST for padding; or None.
    """

    def __init__(self, sentences: int, memory: list[tuple[Tensor, Tensor]], bias: Tensor | None) -> None:
        self.sentences, self.memory, self.bias = sentences, memory, bias
        sentence_heads, _, d_head = memory[0][0].shape
        self.heads = sentence_heads // sentences
        self.width = 1  # hypotheses of each sentence
        self.length = 0  # tokens of each hypothesis
        self.slots = 0  # of each sentence
        self.own = torch.empty(len(memory), 2, sentence_heads, SPARE_SLOTS, d_head)
        self.visible: Tensor | None = None  # (sentences, width, slots), 0 or LOWEST; None if all slots are visible
        self.own_bias: Tensor | None = None  # the same for every head, (sentences * heads, width, slots)

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be repeated), and these sentences (None: all)."""
        assert self.visible is not None or self.width == 1, "several hypotheses do not see all slots"
        if sentences is not None:
            self._select_sentences(sentences)
        self.width = len(rows) // max(1, self.sentences)
        if self.visible is not None:
            self.visible = self.visible.flatten(0, 1)[rows].view(self.sentences, self.width, self.slots)

    def _select_sentences(self, sentences: Tensor) -> None:
        self.sentences = len(sentences)
        heads = (sentences[:, None] * self.heads + torch.arange(self.heads)).flatten()  # (sentences * heads,)
        self.memory = [(k.index_select(0, heads), v.index_select(0, heads)) for k, v in self.memory]
        self.bias = None if self.bias is None else self.bias.index_select(0, heads)
        kept, self.own = self.own, self._empty(self.slots + SPARE_SLOTS)
        torch.index_select(kept[..., : self.slots, :], 2, heads, out=self.own[..., : self.slots, :])

    def advance(self) -> None:
        """Add a slot for the next token of each row; only that row sees it."""
        self.length, self.slots = self.length + 1, self.slots + self.width
        if self.slots > self.own.shape[3]:
            kept, self.own = self.own, self._empty(self.slots + SPARE_SLOTS * self.width)
            self.own[..., : kept.shape[3], :] = kept
        if self.width == 1 and self.visible is None:
            return
        size = self.sentences, self.width
        itself = torch.full((self.width, self.width), LOWEST).fill_diagonal_(0.0).expand(*size, self.width)
        earlier = torch.zeros(*size, self.slots - self.width) if self.visible is None else self.visible
        self.visible = torch.cat((earlier, itself), dim=2)
        self.own_bias = self.visible[:, None].expand(-1, self.heads, -1, -1).flatten(0, 1)

    def extend(self, layer: int, new: Tensor) -> tuple[Tensor, Tensor]:
        """Fill the newest slots of a layer, (2, sentences, heads, width, d_head); returns all its keys and values."""
        own = self.own[layer]
        own.view(2, self.sentences, self.heads, *own.shape[2:])[..., self.slots - self.width : self.slots, :] = new
        k, v = own[:, :, : self.slots].unbind(0)
        return k, v

    def _empty(self, slots: int) -> Tensor:
        layers, _, _, _, d_head = self.own.shape
        return self.own.new_empty(layers, 2, self.sentences * self.heads, slots, d_head)
