"""Batches without any padding, for a GPU: one call of attention for all sentences of a batch.

All decisions about shapes are made on the CPU, when the batch is made; the program never waits for the GPU. Attention
is computed by torch's kernels for sequences of different lengths. torch.nn.attention.varlen calls the same kernel, but
cannot drop attention weights, and computes in half precision only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.dataset.batch import Batch, UnpaddedPairs
from dragoman.kernels.operators import has_flash_attention
from dragoman.model.attention import FusedAttention
from dragoman.model.masks import causal_mask
from dragoman.model.transformer import Transformer


@dataclass(frozen=True)
class UnpaddedMask:
    """Each sentence's queries may attend to its own keys; if causal, to those at the same and earlier positions.

    Shapes: `query_offsets` and `key_offsets` (sentences + 1,), int32. The queries of sentence i are
    query_offsets[i] : query_offsets[i + 1], and so on.
    """

    query_offsets: Tensor
    key_offsets: Tensor
    longest_query: int
    longest_key: int
    causal: bool

    def dense(self) -> Tensor:
        """The same as one boolean mask, (queries, keys)."""
        queries, keys = self.query_offsets.tolist(), self.key_offsets.tolist()
        dense = torch.zeros(queries[-1], keys[-1], dtype=torch.bool)
        for query, query_end, key, key_end in zip(queries, queries[1:], keys, keys[1:], strict=False):
            allowed = torch.ones(query_end - query, key_end - key, dtype=torch.bool)
            dense[query:query_end, key:key_end] = allowed.tril() if self.causal else allowed
        return dense


@dataclass(frozen=True)
class UnpaddedBatch:
    """All groups of a batch in one sequence.

    Shapes: `source` (2, source tokens) and `target` (3, target tokens), see `UnpaddedPairs`.
    """

    source: Tensor
    target: Tensor
    source_mask: UnpaddedMask
    target_mask: UnpaddedMask
    memory_mask: UnpaddedMask

    @classmethod
    def join(cls, groups: Sequence[Batch]) -> UnpaddedBatch | None:
        """The groups of a batch, or None if they are available with padding only or have no target tokens."""
        pairs = [group.unpadded for group in groups if group.unpadded is not None]
        if len(pairs) < len(groups) or not any(group.target_tokens for group in groups):
            return None
        source, longest_source = _offsets(pairs, "source_lengths"), max(group.source.shape[1] for group in groups)
        target, longest_target = _offsets(pairs, "target_lengths"), max(group.target_input.shape[1] for group in groups)
        return cls(
            source=torch.cat([each.source for each in pairs], dim=1),
            target=torch.cat([each.target for each in pairs], dim=1),
            source_mask=UnpaddedMask(source, source, longest_source, longest_source, causal=False),
            target_mask=UnpaddedMask(target, target, longest_target, longest_target, causal=True),
            memory_mask=UnpaddedMask(target, source, longest_target, longest_source, causal=False),
        )

    @property
    def target_output(self) -> Tensor:
        """The ids to predict, (target tokens,)."""
        return self.target[1]


def _offsets(pairs: Sequence[UnpaddedPairs], name: str) -> Tensor:
    lengths = torch.cat([getattr(each, name) for each in pairs])  # (sentences,)
    return F.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0))


def unpadded_hidden(model: Transformer, batch: UnpaddedBatch) -> Tensor:
    """`Transformer.hidden` of all sentences at once, with attention that accepts an `UnpaddedMask`.

    Returns:
        Hidden states, (target tokens, d_model).
    """
    (source, source_positions), (target, _, target_positions) = batch.source, batch.target
    memory = model.encode(source[None], batch.source_mask, source_positions)
    return model.decode(target[None], memory, batch.target_mask, batch.memory_mask, target_positions).squeeze(0)


FLASH_TYPES, FLASH_D_HEAD = (torch.bfloat16, torch.float16), 192
"""Data types and the largest d_head of FlashAttention (Dao 2023); with larger ones, some GPUs have no gradient."""

ALIGNMENT = 8
"""The kernels require that d_head is a multiple of this; others are filled up with zeros."""


class UnpaddedAttention(FusedAttention):
    """torch's fused kernels, called once for all sentences of a batch."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Any = None, rotation: Tensor | None = None) -> Tensor:
        """As `ScaledDotProductAttention.forward`; the mask may be an `UnpaddedMask`, with tensors of batch size 1."""
        if not isinstance(mask, UnpaddedMask):
            return super().forward(q, k, v, mask, rotation)
        assert self.record is None, "attention of batches without padding is not recorded"
        q, k, v = (each.squeeze(0).transpose(0, 1) for each in (q, k, v))  # (tokens, heads, d_head)
        if rotation is not None:
            q, k = _rotate(q, rotation), _rotate(k, rotation)
        dropout = self.dropout.p if self.training else 0.0
        return unpadded_attention(q, k, v, mask, dropout).transpose(0, 1)[None]


def unpadded_attention(q: Tensor, k: Tensor, v: Tensor, mask: UnpaddedMask, dropout: float = 0.0) -> Tensor:
    """Attention of every sentence to its own keys.

    Args:
        q: Queries of all sentences, (queries, heads, d_head).
        k: Keys, (keys, heads, d_head).
        v: Values, (keys, heads, d_head).
        mask: Which tokens belong together.
        dropout: Probability of dropping an attention weight.

    Returns:
        (queries, heads, d_head).
    """
    if q.device.type == "cpu":
        return plain_unpadded_attention(q, k, v, mask, dropout)
    return _attention_of_aligned_heads(q, k, v, mask, dropout)


def _attention_of_aligned_heads(q: Tensor, k: Tensor, v: Tensor, mask: UnpaddedMask, dropout: float) -> Tensor:
    """`unpadded_attention` by the kernel that fits the data type, d_head and the GPU."""
    d_head = q.shape[-1]
    if missing := -d_head % ALIGNMENT:
        q = q * ((d_head + missing) / d_head) ** 0.5  # the kernels divide the scores by the root of the larger d_head
        q, k, v = (F.pad(each, (0, missing)) for each in (q, k, v))
    fits = q.dtype in FLASH_TYPES and d_head <= FLASH_D_HEAD
    attend = _flash_attention if fits and has_flash_attention(q.device) else _efficient_attention
    mixed = attend(q, k, v, mask, dropout)
    return mixed[..., :d_head] if missing else mixed


def _flash_attention(q: Tensor, k: Tensor, v: Tensor, mask: UnpaddedMask, dropout: float) -> Tensor:
    offsets = mask.query_offsets, mask.key_offsets, mask.longest_query, mask.longest_key
    mixed: Tensor = torch.ops.aten._flash_attention_forward(q, k, v, *offsets, dropout, mask.causal, False)[0]
    return mixed


def _efficient_attention(q: Tensor, k: Tensor, v: Tensor, mask: UnpaddedMask, dropout: float) -> Tensor:
    offsets = mask.query_offsets, mask.key_offsets, mask.longest_query, mask.longest_key
    rows = q[None], k[None], v[None]  # (1, tokens, heads, d_head) each
    causal = int(mask.causal)  # of the types of masks, 0 is none and 1 is causal
    save = torch.is_grad_enabled()  # the logarithms of the sums, for the backward pass
    mixed: Tensor = torch.ops.aten._efficient_attention_forward(*rows, None, *offsets, dropout, causal, save)[0]
    return mixed.squeeze(0)  # the gradient of mixed[0] would be copied


def plain_unpadded_attention(q: Tensor, k: Tensor, v: Tensor, mask: UnpaddedMask, dropout: float = 0.0) -> Tensor:
    """The same as `unpadded_attention`, sentence by sentence, on any device."""
    queries, keys, mixed = mask.query_offsets.tolist(), mask.key_offsets.tolist(), []
    for query, query_end, key, key_end in zip(queries, queries[1:], keys, keys[1:], strict=False):
        parts = q[query:query_end], k[key:key_end], v[key:key_end]
        one_q, one_k, one_v = (part.transpose(0, 1) for part in parts)  # (heads, length, d_head) each
        allowed = causal_mask(query_end - query, q.device) if mask.causal else None
        attended = F.scaled_dot_product_attention(one_q, one_k, one_v, allowed, dropout)
        mixed.append(attended.transpose(0, 1))
    return torch.cat(mixed)


def _rotate(x: Tensor, rotation: Tensor) -> Tensor:
    """`dragoman.model.positions.rotate` of (tokens, heads, d_head), as a product of complex numbers: few operations."""
    pairs = torch.view_as_complex(x.to(rotation.dtype).view(*x.shape[:-1], -1, 2))  # (tokens, heads, d_head / 2)
    rotated = pairs * torch.view_as_complex(rotation)[:, None]
    return torch.view_as_real(rotated).flatten(-2).to(x.dtype)
