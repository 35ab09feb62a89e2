"""A cache of keys and values in which few of them move when hypotheses are reordered or sentences are finished."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

MIN_KEYS = 16
"""Fewer keys are padded to this many: for 12, torch's softmax takes ten times as long, and its products up to four."""

SPARE_SLOTS = 16
"""Unused slots per hypothesis that are allocated whenever a cache is enlarged."""

LOWEST = torch.finfo(torch.float32).min
"""A bias that masks a key; the softmax of a row of -inf would be NaN."""

_FIRST_SLOTS = torch.full((MIN_KEYS, MIN_KEYS), LOWEST).triu_(1)
"""Row n is the bias that shows the first n + 1 keys."""


class SlotCache:
    """Keys and values of all decoder layers, for a batch of hypotheses.

    The hypotheses of a sentence share its slots. There is one slot for each token of any of them, and a bias
    determines which slots each hypothesis sees. Reordering hypotheses changes only this bias.

    Args:
        memory: Keys and values of the source, (layers, 2, sentences, heads, keys, d_head); each sentence starts with
            one hypothesis.
        bias: Added to the scores of the memory, (sentences * heads, 1, keys): 0, or LOWEST for padding; or None.
    """

    def __init__(self, memory: Tensor, bias: Tensor | None) -> None:
        self.memory, self.bias = memory, bias
        _, _, self.sentences, self.heads, _, _ = memory.shape
        self.width = 1  # hypotheses of each sentence
        self.length = 0  # tokens of each hypothesis
        self.slots = 0  # of each sentence
        # Zeros, because slots without a token are multiplied by 0, and memory may contain NaN.
        self.own = self._empty(MIN_KEYS).zero_()  # (layers, 2, sentences, heads, slots and spare ones, d_head)
        self.visible: Tensor | None = None  # (sentences, width, slots), 0 or LOWEST; None if all slots are visible
        self.own_bias: Tensor | None = None  # (sentences * heads, or 1, width, keys), the same for every head; or None

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be repeated), and these sentences (None: all)."""
        assert self.visible is not None or self.width == 1, "several hypotheses do not see all slots"
        if sentences is not None:
            self._select_sentences(sentences)
        self.width = len(rows) // max(1, self.sentences)
        if self.visible is not None:
            self.visible = self.visible.flatten(0, 1)[rows].view(self.sentences, self.width, self.slots)

    def _select_sentences(self, sentences: Tensor) -> None:
        self.memory, self.own = _select(self.memory, sentences, 2), _select(self.own, sentences, 2)
        if self.bias is not None:
            self.bias = _select(self.bias.view(self.sentences, self.heads, 1, -1), sentences, 0).flatten(0, 1)
        self.sentences = len(sentences)

    def advance(self) -> None:
        """Add a slot for the next token of each row; only that row sees it."""
        self.length, self.slots = self.length + 1, self.slots + self.width
        if self.slots > self.own.shape[4]:
            kept, self.own = self.own, self._empty(self.slots + SPARE_SLOTS * self.width)
            self.own[..., : kept.shape[4], :] = kept
        if self.width == 1 and self.visible is None:
            self.own_bias = _FIRST_SLOTS[self.slots - 1, None, None] if self.slots < MIN_KEYS else None
            return
        size = self.sentences, self.width
        itself = torch.full((self.width, self.width), LOWEST).fill_diagonal_(0.0).expand(*size, self.width)
        earlier = torch.zeros(*size, self.slots - self.width) if self.visible is None else self.visible
        self.visible = torch.cat((earlier, itself), dim=2)
        self.own_bias = pad_bias(self.visible)[:, None].expand(-1, self.heads, -1, -1).flatten(0, 1)

    def extend(self, layer: int, new: Tensor) -> Tensor:
        """Fill the newest slots of a layer, (2, sentences, heads, width, d_head); returns all its keys and values.

        These have the shape (2, sentences * heads, keys, d_head), with zeros in slots that are not used yet.
        """
        own = self.own[layer]
        own[..., self.slots - self.width : self.slots, :] = new
        return own[..., : max(self.slots, MIN_KEYS), :].flatten(1, 2)

    def _empty(self, slots: int) -> Tensor:
        layers, _, _, heads, _, d_head = self.memory.shape
        return self.memory.new_empty(layers, 2, self.sentences, heads, slots, d_head)


def pad_keys(keys_values: Tensor) -> Tensor:
    """(…, keys, d_head) -> the same with at least `MIN_KEYS` keys; those added are zeros, which a bias must hide."""
    missing = MIN_KEYS - keys_values.shape[-2]
    return F.pad(keys_values, (0, 0, 0, missing)) if missing > 0 else keys_values


def pad_bias(bias: Tensor) -> Tensor:
    """(…, keys) -> the same for at least `MIN_KEYS` keys; those added are hidden."""
    missing = MIN_KEYS - bias.shape[-1]
    return F.pad(bias, (0, missing), value=LOWEST) if missing > 0 else bias


def _select(x: Tensor, sentences: Tensor, dim: int) -> Tensor:
    """Some sentences of x, in this order. If the last ones fill the places of others, x changes and no others move."""
    places = torch.arange(len(sentences))
    moved = sentences != places
    places, origins = places[moved], sentences[moved]
    if len(origins) and int(origins.min()) < len(sentences):  # they are in another order, or some are repeated
        return x.index_select(dim, sentences)
    x.index_copy_(dim, places, x.index_select(dim, origins))
    return x.narrow(dim, 0, len(sentences))
