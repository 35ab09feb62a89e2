"""Variable-length batches: sentences of many lengths concatenated into one sequence, with almost no padding.

Layers that process each token separately see one long sequence; only attention needs to know where sentences begin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from dragoman.kernels.dropout import keep_scale
from dragoman.kernels.operators import softmax_backward
from dragoman.model.attention import FusedAttention, ScaledDotProductAttention
from dragoman.model.masks import causal_mask
from dragoman.model.positions import rotate
from dragoman.model.transformer import Transformer

Shapes = tuple[tuple[int, int], ...]
"""(rows, length) of each group: the number of sentences, and the length to which all of them are padded."""

TOKENS_MULTIPLE = 64
"""Concatenated batches are padded to a multiple of this, because oneDNN compiles a kernel for each new size."""


@dataclass(frozen=True)
class VarlenMask:
    """What the sentences of a concatenated batch may attend to: each to its own keys only.

    The sequence consists of the groups in order, each of its rows in order. `masks` has a mask for each group,
    (rows or 1, query or 1, key), or None if every query may attend to every key.
    """

    queries: Shapes
    keys: Shapes
    masks: tuple[Tensor | None, ...]

    def split(self, q: Tensor, k: Tensor, v: Tensor) -> list[tuple[Tensor, Tensor, Tensor, Tensor | None]]:
        """Queries, keys and values of each group, each (heads, rows, length, d_head), and its mask.

        Args:
            q: Queries of all groups and padded tokens, (1, heads, tokens, d_head).
            k: Keys of all groups and padded tokens.
            v: Values of all groups and padded tokens.
        """
        groups = (_split(q, self.queries), _split(k, self.keys), _split(v, self.keys))
        return list(zip(*groups, self.masks, strict=True))

    def dense(self, queries: int, keys: int) -> Tensor:
        """The same as one boolean mask over all tokens, (queries, keys); padded tokens attend to nothing."""
        dense = torch.zeros(queries, keys, dtype=torch.bool)
        query = key = 0
        for (rows, q_length), (_, k_length), mask in zip(self.queries, self.keys, self.masks, strict=True):
            allowed = torch.ones(rows, q_length, k_length, dtype=torch.bool)
            for row in allowed if mask is None else allowed & mask:
                dense[query : query + q_length, key : key + k_length] = row
                query, key = query + q_length, key + k_length
        return dense


def _split(x: Tensor, shapes: Shapes) -> list[Tensor]:
    heads, d_head = x.shape[1], x.shape[3]
    groups = torch.split(x[0, :, : tokens_of(shapes)], [rows * length for rows, length in shapes], dim=1)
    return [group.view(heads, *shape, d_head) for group, shape in zip(groups, shapes, strict=True)]


def tokens_of(shapes: Shapes) -> int:
    """Tokens of all groups."""
    return sum(rows * length for rows, length in shapes)


def shapes_of(groups: Sequence[Tensor]) -> Shapes:
    """(rows, length) of each group of ids."""
    return tuple((group.shape[0], group.shape[1]) for group in groups)


def padding_masks(queries: Sequence[Tensor], keys: Sequence[Tensor], pad: int) -> VarlenMask:
    """Every query of a sentence may attend to its keys that are not padding; ids, (rows, length) per group."""
    real = [(group != pad)[:, None, :] for group in keys]  # (rows, 1, key) each
    return VarlenMask(shapes_of(queries), shapes_of(keys), tuple(None if bool(each.all()) else each for each in real))


def causal_masks(groups: Sequence[Tensor]) -> VarlenMask:
    """Every position of a sentence sees itself and those before it; ids, (rows, length) per group."""
    shapes = shapes_of(groups)
    return VarlenMask(shapes, shapes, tuple(causal_mask(length, groups[0].device) for _, length in shapes))


def concatenate(groups: Sequence[Tensor], pad: int) -> tuple[Tensor, Tensor]:
    """Ids of all groups, each (rows, length), as one padded sequence, (1, tokens), and their positions, (tokens,)."""
    positions = [torch.arange(group.shape[1], device=group.device).repeat(group.shape[0]) for group in groups]
    ids = torch.cat([group.flatten() for group in groups])  # (tokens,)
    missing = -len(ids) % TOKENS_MULTIPLE
    return F.pad(ids, (0, missing), value=pad)[None], F.pad(torch.cat(positions), (0, missing))


def concatenate_vectors(groups: Sequence[Tensor]) -> Tensor:
    """Vectors of all groups, each (rows, length, d_model), in the order of `concatenate`, (tokens, d_model)."""
    vectors = torch.cat([group.flatten(0, 1) for group in groups])  # (tokens, d_model)
    return F.pad(vectors, (0, 0, 0, -len(vectors) % TOKENS_MULTIPLE))


def varlen_hidden(model: Transformer, sources: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
    """`Transformer.hidden` of several groups at once, with attention that accepts a `VarlenMask`.

    Args:
        model: The model.
        sources: Source ids of each group, (rows, source).
        targets: Target ids of each group, (rows, target).

    Returns:
        Hidden states in the order of `concatenate`, (tokens, d_model); those of padded tokens mean nothing.
    """
    source, source_positions = concatenate(sources, model.source_pad)
    target, target_positions = concatenate(targets, pad=0)
    memory = model.encode(source, padding_masks(sources, sources, model.source_pad), source_positions)
    memory_mask = padding_masks(targets, sources, model.source_pad)
    return model.decode(target, memory, causal_masks(targets), memory_mask, target_positions)[0]


def plain_hidden(model: Transformer, sources: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
    """The same as `varlen_hidden`, computed group by group, for any model."""
    groups = zip(sources, targets, strict=True)
    return concatenate_vectors([model.hidden(source, target) for source, target in groups])


MIN_KEYS = 16
"""torch's softmax of fewer numbers is slow: that of 12 takes ten times as long as that of 16."""

MIN_PADDED = 512
"""With fewer scores, adding keys takes longer than it saves."""


class FusedVarlenAttention(FusedAttention):
    """torch's fused kernel, called once for each group of sentences of one length."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Any = None, rotation: Tensor | None = None) -> Tensor:
        """As `ScaledDotProductAttention.forward`; the mask may be a `VarlenMask`."""
        if not isinstance(mask, VarlenMask):
            return super().forward(q, k, v, mask, rotation)
        if rotation is not None:
            q, k = rotate(q, rotation), rotate(k, rotation)
        groups = [super(FusedVarlenAttention, self).forward(*group).flatten(1, 2) for group in mask.split(q, k, v)]
        mixed = torch.cat(groups, dim=1)[None]
        return F.pad(mixed, (0, 0, 0, q.shape[2] - mixed.shape[2]))  # (1, heads, tokens, d_head)


class VarlenAttention(ScaledDotProductAttention):
    """Attention on a CPU, in float32 at least: in bfloat16 oneDNN would compile a kernel for each new shape."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Any = None, rotation: Tensor | None = None) -> Tensor:
        """As `ScaledDotProductAttention.forward`; the mask may be a `VarlenMask`."""
        overwrites = not (torch.is_grad_enabled() or self.training or self.record)  # nobody needs the scores again
        is_dense = not isinstance(mask, VarlenMask)
        if overwrites and is_dense and q.dtype == k.dtype == v.dtype == torch.float32:
            if rotation is not None:
                q, k = rotate(q, rotation), rotate(k, rotation)
            return attention_in_place(q, k, v, mask)
        with torch.autocast("cpu", enabled=False):
            if isinstance(mask, VarlenMask):
                assert self.record is None, "attention of concatenated batches is not recorded"
                return varlen_attention(q, k, v, mask, rotation, self.dropout.p if self.training else 0.0)
            wide = torch.promote_types(q.dtype, torch.float32)
            return super().forward(q.to(wide), k.to(wide), v.to(wide), mask, rotation).to(v.dtype)


def attention_in_place(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Attention without gradients, in half of the operations, which dominate a decoding step.

    Arguments and result are those of `ScaledDotProductAttention.forward`.
    """
    sentences, heads, queries, d_head = q.shape
    scores = _scaled_bmm(q.flatten(0, 1), k.flatten(0, 1).mT, 1 / math.sqrt(d_head))  # (rows * heads, query, key)
    lowest, keys = torch.finfo(scores.dtype).min, scores.shape[2]
    if mask is not None:
        scores.view(sentences, heads, queries, keys).masked_fill_(~mask, lowest)
    if keys < MIN_KEYS and scores.numel() >= MIN_PADDED:
        weights = F.pad(scores, (0, MIN_KEYS - keys), value=lowest).softmax(dim=-1)[..., :keys]
    else:
        weights = scores.softmax(dim=-1)
    return torch.bmm(weights, v.flatten(0, 1)).view(sentences, heads, queries, d_head)


def varlen_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: VarlenMask, rotation: Tensor | None = None, dropout: float = 0.0
) -> Tensor:
    """Attention of every sentence to its own keys, on a CPU.

    Args:
        q: Queries of all groups, then of padded tokens, (1, heads, tokens, d_head).
        k: Keys, in the same order.
        v: Values, in the same order.
        mask: Which tokens belong together.
        rotation: Rotary frequencies of queries and keys, (tokens, d_head / 2, 2), or None.
        dropout: Probability of dropping an attention weight.

    Returns:
        (1, heads, tokens of q, d_head), zero for padded tokens.
    """
    mixed: Tensor = _VarlenAttention.apply(q, k, v, mask, rotation, dropout)  # type: ignore[no-untyped-call]
    return mixed


class _VarlenAttention(torch.autograd.Function):
    """softmax(QK^T / sqrt(d_head)) V of each group, and its gradient.

    The matrix products are small, so preparing them takes longer than computing them. Therefore every group is copied
    into contiguous memory once and written back once. Scores are stored transposed, (rows * heads, key, query),
    because on a CPU torch's softmax over the last dimension is slow for sentences with fewer than 16 tokens.
    """

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: VarlenMask, rotation: Tensor | None, dropout: float
    ) -> Tensor:
        dtype = torch.promote_types(v.dtype, torch.float32)
        ctx.mask, ctx.scale, ctx.rotation = mask, 1 / math.sqrt(q.shape[-1]), _complex(rotation)
        ctx.dtypes, ctx.tokens = (q.dtype, k.dtype, v.dtype), (q.shape[2], k.shape[2], v.shape[2])
        mixed, saved, query, key = _empty(q.shape[1:], v.dtype, tokens_of(mask.queries)), [], 0, 0
        for (rows, queries), (_, keys), allowed in zip(mask.queries, mask.keys, mask.masks, strict=True):
            q_group = _rotated(_take(q, query, rows, queries, dtype), ctx.rotation, query)
            k_group = _rotated(_take(k, key, rows, keys, dtype), ctx.rotation, key)
            v_group = _take(v, key, rows, keys, dtype)  # (rows * heads, key, d_head)
            scores = _scaled_bmm(k_group, q_group.mT, ctx.scale)  # (rows * heads, key, query)
            if allowed is not None:
                scores.view(rows, -1, keys, queries).masked_fill_(~allowed.mT.unsqueeze(-3), -math.inf)
            weights = scores.softmax(dim=1)
            keep = keep_scale(weights, dropout) if dropout else weights.new_empty(0)
            dropped = weights * keep if dropout else weights
            _put(mixed, query, rows, torch.bmm(dropped.mT, v_group))
            saved += [q_group, k_group, v_group, weights, keep]
            query, key = query + rows * queries, key + rows * keys
        ctx.save_for_backward(*saved)
        return mixed.transpose(0, 1)[None]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        mask, rotation, (d_mixed_all,) = ctx.mask, None if ctx.rotation is None else ctx.rotation.conj(), gradients
        d_q, d_k, d_v = _empty_gradients(ctx, d_mixed_all)
        query = key = 0
        for index, ((rows, queries), (_, keys)) in enumerate(zip(mask.queries, mask.keys, strict=True)):
            q, k, v, weights, keep = ctx.saved_tensors[5 * index : 5 * index + 5]
            d_mixed = _take(d_mixed_all, query, rows, queries, weights.dtype)  # (rows * heads, query, d_head)
            d_weights = torch.bmm(v, d_mixed.mT)  # (rows * heads, key, query)
            if keep.numel():
                d_weights *= keep
                _put(d_v, key, rows, torch.bmm(weights * keep, d_mixed))
            else:
                _put(d_v, key, rows, torch.bmm(weights, d_mixed))
            d_scores = softmax_backward(d_weights, weights, dim=1)
            _put(d_q, query, rows, _rotated(_scaled_bmm(d_scores.mT, k, ctx.scale), rotation, query))
            _put(d_k, key, rows, _rotated(_scaled_bmm(d_scores, q, ctx.scale), rotation, key))
            query, key = query + rows * queries, key + rows * keys
        return (*(x.transpose(0, 1)[None] for x in (d_q, d_k, d_v)), None, None, None)


def _complex(rotation: Tensor | None) -> Tensor | None:
    """Rotary frequencies as complex numbers, (tokens, d_head / 2)."""
    return None if rotation is None else torch.view_as_complex(rotation.contiguous())


def _rotated(group: Tensor, rotation: Tensor | None, start: int) -> Tensor:
    """A group, (rows * heads, length, d_head), whose first token is at `start`, rotated in place."""
    if rotation is not None:
        pairs = torch.view_as_complex(group.view(*group.shape[:-1], -1, 2))  # (rows * heads, length, d_head / 2)
        pairs.mul_(rotation[start : start + group.shape[1]])  # every row starts at the same position
    return group


def _empty(shape: Any, dtype: torch.dtype, end: int) -> Tensor:
    """Memory for (heads, tokens, d_head) as (tokens, heads, d_head), zero from token `end` on."""
    heads, tokens, d_head = shape
    memory = torch.empty(tokens, heads, d_head, dtype=dtype)
    memory[end:] = 0.0
    return memory


def _empty_gradients(ctx: Any, d_mixed: Tensor) -> list[Tensor]:
    """Memory for the gradients of queries, keys and values."""
    heads, d_head = d_mixed.shape[1], d_mixed.shape[3]
    ends = (ctx.mask.queries, ctx.mask.keys, ctx.mask.keys)
    return [
        _empty((heads, tokens, d_head), dtype, tokens_of(shapes))
        for tokens, dtype, shapes in zip(ctx.tokens, ctx.dtypes, ends, strict=True)
    ]


def _take(x: Tensor, start: int, rows: int, length: int, dtype: torch.dtype) -> Tensor:
    """A group of x, (1, heads, tokens, d_head), copied to (rows * heads, length, d_head)."""
    heads, d_head = x.shape[1], x.shape[3]
    group = torch.empty(rows, heads, length, d_head, dtype=dtype)
    group.copy_(x[0, :, start : start + rows * length].view(heads, rows, length, d_head).transpose(0, 1))
    return group.view(rows * heads, length, d_head)


def _put(memory: Tensor, start: int, rows: int, group: Tensor) -> None:
    """Copy a group, (rows * heads, length, d_head), to its tokens of (tokens, heads, d_head)."""
    heads, d_head = memory.shape[1:]
    length = group.shape[1]
    tokens = memory[start : start + rows * length].view(rows, length, heads, d_head)
    tokens.copy_(group.view(rows, heads, length, d_head).transpose(1, 2))


def _scaled_bmm(a: Tensor, b: Tensor, scale: float) -> Tensor:
    return torch.baddbmm(a.new_empty(1, 1, 1), a, b, beta=0, alpha=scale)
