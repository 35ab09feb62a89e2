"""Which sentences go together: batches of like length under a budget of tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


def plan_epoch(
    source_lengths: Indices,
    target_lengths: Indices,
    batch_tokens: int,
    seed: int,
    epoch: int,
    batch_sentences: int | None = None,
) -> list[Indices]:
    """Batches of one epoch: every pair once, in an order that depends on seed and epoch alone.

    Sorting by the longer side, and then by how much longer it is, leaves almost no padding; ties are
    shuffled, so that batches differ between epochs, and so is the order of the batches.

    Args:
        source_lengths: Source tokens of each pair, eos included, (pairs,).
        target_lengths: Target tokens of each pair, eos included, (pairs,).
        batch_tokens: Most tokens a side of a batch may have, padding included. A longer sentence
            makes a batch of its own.
        seed: Seed of the run.
        epoch: Number of the epoch, from 0.
        batch_sentences: Most sentences of a batch, if given.

    Returns:
        Indices of the pairs of each batch.
    """
    generator = np.random.Generator(np.random.PCG64([seed, epoch]))
    longest, difference = np.maximum(source_lengths, target_lengths), source_lengths - target_lengths
    difference = np.where(longest % 2, difference, -difference)  # up and down in turn: no jump at the next length
    order = np.lexsort((generator.permutation(len(longest)), difference, longest))
    batches = cut(source_lengths, target_lengths, order, batch_tokens, batch_sentences)
    return [batches[index] for index in generator.permutation(len(batches))]


def cut(
    source_lengths: Indices,
    target_lengths: Indices,
    order: Indices,
    batch_tokens: int,
    batch_sentences: int | None = None,
) -> list[Indices]:
    """Cut an order of sentences into runs whose padded sides each hold at most batch_tokens (and batch_sentences)."""
    longest = np.maximum(source_lengths, target_lengths)[order].tolist()
    most = batch_sentences or len(longest)
    batches, start, width = [], 0, 0
    for position, length in enumerate(longest):
        width = max(width, length)
        sentences = position + 1 - start
        if position > start and (width * sentences > batch_tokens or sentences > most):
            batches.append(order[start:position])
            start, width = position, length
    if len(order) > start:
        batches.append(order[start:])
    return batches
