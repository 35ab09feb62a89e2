"""Attention within blocks of sentences laid end to end, made for a CPU."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from dragoman.kernels.dropout import keep_scale
from dragoman.model.masks import Blocks, cells


class _BlockAttention(torch.autograd.Function):
    """softmax(QK^T / sqrt(d_head)) V of each block, in float32 at least, with its gradient.

    The products are small: what surrounds them would take longer than they do. So every block is
    copied once, to where its products need it, and written back once. Scores are kept transposed,
    (rows * heads, key, query): on a CPU torch's softmax over the last dimension is slow for sentences
    of less than 16 tokens, and over the one before it is not. In bfloat16 each new shape of a product
    would be compiled first.
    """

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, blocks: Blocks, turn: Tensor | None, dropout: float
    ) -> Tensor:
        dtype = torch.promote_types(v.dtype, torch.float32)
        ctx.blocks, ctx.turn, ctx.scale = blocks, turn, 1 / math.sqrt(q.shape[-1])
        ctx.dtypes = (q.dtype, k.dtype, v.dtype)
        ctx.cells = (q.shape[2], k.shape[2], v.shape[2])
        mixed, saved, query, key = _empty(q.shape[1:], v.dtype, cells(blocks.queries)), [], 0, 0
        for (rows, queries), (_, keys), mask in zip(blocks.queries, blocks.keys, blocks.masks, strict=True):
            q_block = _take(q, query, rows, queries, dtype)  # (rows * heads, query, d_head)
            k_block = _take(k, key, rows, keys, dtype)  # (rows * heads, key, d_head)
            v_block = _take(v, key, rows, keys, dtype)  # (rows * heads, key, d_head)
            if turn is not None:
                _turn(q_block, turn)
                _turn(k_block, turn)
            scores = _product(k_block, q_block.mT, ctx.scale)  # (rows * heads, key, query)
            if mask is not None:
                scores.view(rows, -1, keys, queries).masked_fill_(~mask.mT.unsqueeze(-3), -math.inf)
            weights = scores.softmax(dim=1)
            kept = keep_scale(weights, dropout) if dropout else None
            dropped = weights if kept is None else weights * kept
            _put(mixed, query, rows, torch.bmm(dropped.mT, v_block))
            saved += [q_block, k_block, v_block, weights, weights.new_empty(0) if kept is None else kept]
            query, key = query + rows * queries, key + rows * keys
        ctx.save_for_backward(*saved)
        return mixed.transpose(0, 1)[None]

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        blocks, scale = ctx.blocks, ctx.scale
        ends = [cells(blocks.queries), cells(blocks.keys), cells(blocks.keys)]
        heads, d_head = gradients[0].shape[1], gradients[0].shape[3]
        d_q, d_k, d_v = (
            _empty((heads, size, d_head), dtype, end)
            for size, dtype, end in zip(ctx.cells, ctx.dtypes, ends, strict=True)
        )
        query, key = 0, 0
        for index, ((rows, queries), (_, keys)) in enumerate(zip(blocks.queries, blocks.keys, strict=True)):
            q, k, v, weights, kept = ctx.saved_tensors[5 * index : 5 * index + 5]
            d_mixed = _take(gradients[0], query, rows, queries, weights.dtype)  # (rows * heads, query, d_head)
            d_weights = torch.bmm(v, d_mixed.mT)  # (rows * heads, key, query)
            if kept.numel():
                d_weights *= kept
                dropped = weights * kept
            else:
                dropped = weights
            d_scores = torch.ops.aten._softmax_backward_data(d_weights, weights, 1, weights.dtype)
            d_q_block, d_k_block = _product(d_scores.mT, k, scale), _product(d_scores, q, scale)
            if ctx.turn is not None:
                _turn(d_q_block, ctx.turn.conj())
                _turn(d_k_block, ctx.turn.conj())
            _put(d_q, query, rows, d_q_block)
            _put(d_k, key, rows, d_k_block)
            _put(d_v, key, rows, torch.bmm(dropped, d_mixed))
            query, key = query + rows * queries, key + rows * keys
        return (*(x.transpose(0, 1)[None] for x in (d_q, d_k, d_v)), None, None, None)


def _empty(shape: Any, dtype: torch.dtype, end: int) -> Tensor:
    """Room for (heads, cells, d_head) as (cells, heads, d_head), zero from cell `end` on."""
    heads, size, d_head = shape
    room = torch.empty(size, heads, d_head, dtype=dtype)
    room[end:] = 0.0
    return room


def _take(x: Tensor, start: int, rows: int, length: int, dtype: torch.dtype) -> Tensor:
    """A block of x, (1, heads, cells, d_head), as (rows * heads, length, d_head)."""
    heads, d_head = x.shape[1], x.shape[3]
    block = torch.empty(rows, heads, length, d_head, dtype=dtype)
    block.copy_(x[0, :, start : start + rows * length].view(heads, rows, length, d_head).transpose(0, 1))
    return block.view(rows * heads, length, d_head)


def _put(room: Tensor, start: int, rows: int, block: Tensor) -> None:
    """Write a block, (rows * heads, length, d_head), to its cells of (cells, heads, d_head)."""
    heads, d_head = room.shape[1:]
    length = block.shape[1]
    cells_of_block = room[start : start + rows * length].view(rows, length, heads, d_head)
    cells_of_block.copy_(block.view(rows, heads, length, d_head).transpose(1, 2))


def _turn(block: Tensor, turn: Tensor) -> None:
    """Rotate the pairs of a block, (rows * heads, length, d_head), in place, by the first of the turns."""
    torch.view_as_complex(block.view(*block.shape[:-1], -1, 2)).mul_(turn[: block.shape[1]])


def _product(a: Tensor, b: Tensor, scale: float) -> Tensor:
    return torch.baddbmm(a.new_empty(1, 1, 1), a, b, beta=0, alpha=scale)


def attend_blocks(q: Tensor, k: Tensor, v: Tensor, blocks: Blocks, turn: Tensor | None, dropout: float) -> Tensor:
    """Attention of every sentence to its own keys, on a CPU.

    Args:
        q: Queries, (1, heads, cells, d_head), with filler after the blocks.
        k: Keys, likewise.
        v: Values, likewise.
        blocks: Which cells belong together.
        turn: By what to rotate queries and keys, (longest sentence, d_head / 2), or None.
        dropout: Dropout on the attention weights; 0 unless training.

    Returns:
        (1, heads, cells of q, d_head), zero where the filler is.
    """
    with torch.autocast("cpu", enabled=False):
        mixed: Tensor = _BlockAttention.apply(q, k, v, blocks, turn, dropout)  # type: ignore[no-untyped-call]
    return mixed
