"""Variable-length batches: sentences of many lengths concatenated into one sequence, with almost no padding.

Layers that process each token separately see one long sequence; only attention needs to know where sentences begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.model.masks import causal_mask
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
