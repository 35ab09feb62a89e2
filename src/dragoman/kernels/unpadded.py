"""Batches without any padding, for a GPU: one call of attention for all sentences of a batch.

All decisions about shapes are made on the CPU, when the batch is made; the program never waits for the GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.dataset.batch import Batch, UnpaddedPairs
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
