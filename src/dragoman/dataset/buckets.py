"""Batches of sentences of similar length, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Integers = NDArray[np.integer[Any]]

WEIGHTS_STREAM = 2  # distinguishes these random numbers from those of the order of an epoch, and of augmentation


@dataclass(frozen=True, eq=False)
class Plan:
    """Batches as slices of one order, stored in arrays: a Python object per pair would take too much memory.

    Shapes: `order` (pairs,); `firsts` and `ends` (batches,). Batch i is order[firsts[i] : ends[i]].
    """

    order: Integers
    firsts: Indices
    ends: Indices

    def __len__(self) -> int:
        return len(self.firsts)

    def __getitem__(self, index: int) -> Indices:
        """Indices of the pairs of a batch, (batch,)."""
        return self.order[self.firsts[index] : self.ends[index]].astype(np.int64)

    def __iter__(self) -> Iterator[Indices]:
        return (self[index] for index in range(len(self)))


def plan_epoch(
    source_lengths: Integers,
    target_lengths: Integers,
    batch_tokens: int,
    seed: int,
    epoch: int,
    batch_sentences: int | None = None,
) -> Plan:
    """Plan the batches of one epoch: every pair once, in an order that depends only on seed and epoch.

    Pairs are sorted by their longer side, then by the difference of the sides, which leaves almost no padding. Ties
    are shuffled, so that batches differ between epochs, and so is the order of the batches.

    Args:
        source_lengths: Source tokens of each pair, eos included, (pairs,).
        target_lengths: Target tokens of each pair, eos included, (pairs,).
        batch_tokens: Maximum number of tokens of each side of a batch, padding included. A longer sentence
            forms a batch by itself.
        seed: Seed of the run.
        epoch: Number of the epoch, from 0.
        batch_sentences: Maximum number of sentences of a batch, if given.
    """
    generator = np.random.Generator(np.random.PCG64([seed, epoch]))
    longest, difference = np.maximum(source_lengths, target_lengths), source_lengths - target_lengths
    np.negative(difference, out=difference, where=longest % 2 == 0)  # alternate: no jump at the next length
    order = _sort(_inverse(generator.permutation(len(longest))), difference, longest)
    plan = split_into_batches(source_lengths, target_lengths, order, batch_tokens, batch_sentences)
    shuffled = generator.permutation(len(plan))
    return Plan(order, plan.firsts[shuffled], plan.ends[shuffled])


def draw_pairs(weights: NDArray[np.float32], seed: int, epoch: int) -> Indices:
    """Indices of the pairs of an epoch, in ascending order: each as often as its weight says, on average.

    A pair of weight 2 occurs twice in each epoch; one of weight 0.25 in one of each four epochs, which depends on the
    seed.

    Args:
        weights: How often each pair is seen in an epoch, (pairs,).
        seed: Seed of the run.
        epoch: Number of the epoch, from 0.
    """
    generator = np.random.Generator(np.random.PCG64([seed, 0, WEIGHTS_STREAM]))
    start = generator.integers(2**32, size=len(weights), dtype=np.uint32) / 2**32  # exact sums for integer weights
    before, after = (np.floor(weights.astype(np.float64) * count + start) for count in (epoch, epoch + 1))
    return np.repeat(np.arange(len(weights)), (after - before).astype(np.int64))


def split_into_batches(
    source_lengths: Integers,
    target_lengths: Integers,
    order: Integers,
    batch_tokens: int,
    batch_sentences: int | None = None,
) -> Plan:
    """Cut an order of sentences into consecutive batches within the limits.

    Args:
        source_lengths: Source tokens of each pair, eos included, (pairs,).
        target_lengths: Target tokens of each pair, eos included, (pairs,).
        order: Indices of the pairs, (pairs,).
        batch_tokens: Maximum number of tokens of each side of a batch, padding included. A longer sentence
            forms a batch by itself.
        batch_sentences: Maximum number of sentences of a batch, if given.
    """
    longest = np.maximum(source_lengths, target_lengths)[order]
    most = batch_sentences or max(1, len(longest))
    changes = np.flatnonzero(np.diff(longest)) + 1
    firsts: list[int] = []
    width = 0
    # Each iteration cuts a run of sentences of equal length at once; the last batch before it may continue into it.
    for start, end in zip([0, *changes.tolist()], [*changes.tolist(), len(longest)], strict=True):
        length = int(longest[start]) if end else 0
        width = max(width, length)
        if firsts:
            start = max(start, firsts[-1] + max(1, min(batch_tokens // width, most)))
        if start < end:
            firsts.extend(range(start, end, max(1, min(batch_tokens // length, most))))
            width = length
    found = np.array(firsts, dtype=np.int64)
    return Plan(order, found, np.append(found, len(longest))[1:])


def _inverse(permutation: Indices) -> NDArray[np.int32]:
    """The inverse of a permutation."""
    assert len(permutation) < 2**31, "int32 indices take half the memory"
    inverse = np.empty(len(permutation), dtype=np.int32)
    inverse[permutation] = np.arange(len(permutation), dtype=np.int32)
    return inverse


def _sort(order: NDArray[np.int32], *keys: Integers) -> NDArray[np.int32]:
    """Sort an order by the last key, ties by the key before, and so on: a stable numpy.lexsort, but faster.

    NumPy sorts 16-bit integers in linear time, and sentence lengths fit into 16 bits.
    """
    for key in keys:
        low = int(key.min(initial=0))
        small = int(key.max(initial=0)) - low < 2**16
        ranks = (key - low).astype(np.uint16) if small else key
        order = order[np.argsort(ranks[order], kind="stable")]
    return order
