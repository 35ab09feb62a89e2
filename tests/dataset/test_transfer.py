"""Batches copied at once are the same batches, with and without padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from dragoman.dataset.batch import Batch, StagedBatch, make_batch, unpad

if TYPE_CHECKING:
    from dragoman.dataset.prepare import Dataset


@pytest.fixture
def groups(prepared: Dataset) -> list[Batch]:
    """Two groups of sentences of different lengths, with padding, and one of a single sentence."""
    source, target = prepared.source.vocabulary, prepared.target.vocabulary
    batches = [make_batch(prepared.train, np.array(each), source, target) for each in ([0, 1, 2], [7, 3], [4])]
    return [unpad(batch, source.pad, target.pad) for batch in batches]


def test_pairs_without_padding_are_the_real_tokens_in_order(groups: list[Batch], prepared: Dataset) -> None:
    for batch in groups:
        pairs = batch.unpadded
        assert pairs is not None
        source_real = batch.source != prepared.source.vocabulary.pad
        target_real = batch.target_output != prepared.target.vocabulary.pad
        assert pairs.source.shape == (2, batch.source_tokens)
        assert pairs.target.shape == (3, batch.target_tokens)
        assert pairs.source[0].tolist() == [
            id for row in batch.source.tolist() for id in row if id != prepared.source.vocabulary.pad
        ]
        assert torch.equal(pairs.source_lengths, source_real.sum(1))
        assert torch.equal(pairs.target_lengths, target_real.sum(1))
        for row, (length, end) in enumerate(
            zip(pairs.target_lengths.tolist(), pairs.target_lengths.cumsum(0).tolist(), strict=True)
        ):
            inputs, outputs, positions = pairs.target[:, end - length : end]
            assert torch.equal(inputs, batch.target_input[row, :length])
            assert torch.equal(outputs, batch.target_output[row, :length])
            assert positions.tolist() == list(range(length))


def test_copied_groups_are_the_same_groups_in_one_block(groups: list[Batch]) -> None:
    copied = StagedBatch(groups, pin=False).to(torch.device("cpu"))
    assert len(copied) == len(groups)
    storages = set()
    for ours, theirs in zip(copied, groups, strict=True):
        assert (ours.source_tokens, ours.target_tokens) == (theirs.source_tokens, theirs.target_tokens)
        assert ours.unpadded is not None
        assert theirs.unpadded is not None
        for name in ("source", "target_input", "target_output"):
            assert torch.equal(getattr(ours, name), getattr(theirs, name))
            storages.add(getattr(ours, name).untyped_storage().data_ptr())
        for name in ("source", "target", "source_lengths", "target_lengths"):
            assert torch.equal(getattr(ours.unpadded, name), getattr(theirs.unpadded, name))
            storages.add(getattr(ours.unpadded, name).untyped_storage().data_ptr())
    assert len(storages) == 1


def test_a_share_without_groups_can_be_copied() -> None:
    assert StagedBatch([], pin=False).to(torch.device("cpu")) == []
