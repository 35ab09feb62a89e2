"""Masks: boolean, True = may attend, broadcastable to (batch, heads, query, key); or blocks of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class Blocks:
    """A block-diagonal mask over sentences laid end to end: each attends within itself only.

    Sentences of one length are a block: `queries` and `keys` say how many (rows) and how long each
    block's are, as (rows, length); `masks` what a block's queries may attend to, (rows or 1, query or 1,
    key), None for everything. With sentences of all lengths in one batch and no padding between, a
    batch of b * length cells costs as much as the sentences have tokens.
    """

    queries: tuple[tuple[int, int], ...]
    keys: tuple[tuple[int, int], ...]
    masks: tuple[Tensor | None, ...]

    def split(self, q: Tensor, k: Tensor, v: Tensor) -> list[tuple[Tensor, Tensor, Tensor, Tensor | None]]:
        """Queries, keys and values of each block, each (heads, rows, length, d_head), and its mask.

        Args:
            q: Queries, (1, heads, cells, d_head), rows * length cells of each block, and filler that is left out.
            k: Keys, likewise.
            v: Values, likewise.
        """
        parts = (_unpack(q, self.queries), _unpack(k, self.keys), _unpack(v, self.keys))
        return list(zip(*parts, self.masks, strict=True))


def _unpack(x: Tensor, shapes: Sequence[tuple[int, int]]) -> list[Tensor]:
    heads, _, d_head = x.shape[1:]
    parts = torch.split(
        x[0, :, : cells(shapes)], [rows * length for rows, length in shapes], dim=1
    )  # (heads, rows * length, d_head) each
    return [part.view(heads, *shape, d_head) for part, shape in zip(parts, shapes, strict=True)]


Mask = Tensor | Blocks | None

CELLS = 64
"""Packed batches are filled up to a multiple of this: on a CPU each new size of a product is compiled first."""


def cells(shapes: Sequence[tuple[int, int]]) -> int:
    """Cells of all blocks of these shapes, (rows, length) each."""
    return sum(rows * length for rows, length in shapes)


def padding_mask(ids: Tensor, pad: int) -> Tensor | None:
    """Which keys are real tokens, (batch, 1, 1, length); None if all are, which is cheaper."""
    real = ids != pad  # (batch, length)
    return None if bool(real.all()) else real[:, None, None, :]


def causal_mask(length: int, device: torch.device) -> Tensor:
    """Each position sees itself and what came before, (length, length)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def shapes_of(blocks: Sequence[Tensor]) -> tuple[tuple[int, int], ...]:
    """(rows, length) of each block of ids."""
    return tuple((block.shape[0], block.shape[1]) for block in blocks)


def padding_blocks(queries: Sequence[Tensor], keys: Sequence[Tensor], pad: int) -> Blocks:
    """Every query of a sentence may attend to its keys that are no padding; ids (rows, length) a block."""
    masks = [padding_mask(block, pad) for block in keys]
    return Blocks(shapes_of(queries), shapes_of(keys), tuple(None if mask is None else mask[:, 0] for mask in masks))


def causal_blocks(ids: Sequence[Tensor]) -> Blocks:
    """Every position of a sentence sees itself and what came before; ids (rows, length) a block."""
    shapes = shapes_of(ids)
    return Blocks(shapes, shapes, tuple(causal_mask(length, ids[0].device) for _, length in shapes))


def positions_of(ids: Tensor) -> Tensor:
    """Places in the sentence of ids, (batch, length): 0, 1, …, (length,)."""
    return torch.arange(ids.shape[1], device=ids.device)


def pack_vectors(blocks: Sequence[Tensor]) -> Tensor:
    """Blocks of vectors, each (rows, length, d_model), laid end to end and filled up like ids, (cells, d_model)."""
    laid = torch.cat([block.flatten(0, 1) for block in blocks])
    return F.pad(laid, (0, 0, 0, -len(laid) % CELLS))


def pack(blocks: Sequence[Tensor], filler: int) -> tuple[Tensor, Tensor]:
    """Blocks of ids, each (rows, length), laid end to end and filled up, (1, cells), and their positions, (cells,)."""
    positions = [torch.arange(block.shape[1], device=block.device).repeat(block.shape[0]) for block in blocks]
    missing = -cells(shapes_of(blocks)) % CELLS
    ids = F.pad(torch.cat([block.flatten() for block in blocks]), (0, missing), value=filler)
    return ids[None], F.pad(torch.cat(positions), (0, missing))
