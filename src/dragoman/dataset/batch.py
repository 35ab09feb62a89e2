"""A batch: padded tensors of source and target ids, and moving several to a GPU in one copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.dataset.token_store import PairStore
from dragoman.text.vocabulary import Vocabulary

Sentence = NDArray[np.integer[Any]] | Sequence[int]
Transform = Callable[[Sentence], Sentence]
"""Replaces the ids of a sentence, for example by BPE-dropout."""


@dataclass(frozen=True)
class ChangedPairs:
    """Sentence pairs that are not those of the store; without bos and eos."""

    source: Sequence[Sentence]
    target: Sequence[Sentence]


@dataclass(frozen=True)
class UnpaddedPairs:
    """The sentence pairs of a batch without padding, one after another, int64.

    Shapes: `source` (2, source tokens), ids and positions in the sentence; `target` (3, target tokens), ids of input
    and output, and positions; `source_lengths` and `target_lengths` (batch,).
    """

    source: Tensor
    target: Tensor
    source_lengths: Tensor
    target_lengths: Tensor


@dataclass(frozen=True)
class Batch:
    """Sentence pairs as padded int64 ids.

    Shapes: `source` (batch, source), each sentence followed by eos; `target_input` (batch, target), each sentence
    preceded by bos; `target_output` (batch, target), the same sentences shifted by one and followed by eos.
    """

    source: Tensor
    target_input: Tensor
    target_output: Tensor
    source_tokens: int  # without padding
    target_tokens: int  # without padding
    unpadded: UnpaddedPairs | None = None  # the same pairs, for kernels that need no padding

    @property
    def padded_tokens(self) -> int:
        """Tokens of source and target, padding included."""
        return self.source.numel() + self.target_output.numel()

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device."""
        return Batch(
            self.source.to(device, non_blocking=True),
            self.target_input.to(device, non_blocking=True),
            self.target_output.to(device, non_blocking=True),
            self.source_tokens,
            self.target_tokens,
        )


def unpad(batch: Batch, source_pad: int, target_pad: int) -> Batch:
    """The same batch with its pairs without padding, given the ids of padding; on a CPU."""
    source_real, target_real = batch.source != source_pad, batch.target_output != target_pad
    unpadded = UnpaddedPairs(
        source=torch.stack((batch.source[source_real], source_real.nonzero()[:, 1])),
        target=torch.stack(
            (batch.target_input[target_real], batch.target_output[target_real], target_real.nonzero()[:, 1])
        ),
        source_lengths=source_real.sum(1),
        target_lengths=target_real.sum(1),
    )
    return replace(batch, unpadded=unpadded)


def take_rows(batch: Batch, rows: slice, source_pad: int, target_pad: int) -> Batch:
    """Some sentences of a batch, with no more padding than they need.

    If there are none, a single token whose target is padding: it has no loss, but the same parts of the model compute
    it, as several processes must do at the same time.
    """
    source, target_input, target_output = batch.source[rows], batch.target_input[rows], batch.target_output[rows]
    if not len(source):
        target_output = batch.target_output[:1, :1].clone().fill_(target_pad)
        return Batch(batch.source[:1, :1], batch.target_input[:1, :1], target_output, 0, 0)
    source_lengths, target_lengths = (source != source_pad).sum(1), (target_output != target_pad).sum(1)  # (rows,) each
    longest = int(target_lengths.max())
    return Batch(
        source[:, : int(source_lengths.max())],
        target_input[:, :longest],
        target_output[:, :longest],
        int(source_lengths.sum()),
        int(target_lengths.sum()),
    )


def pad(sentences: Sequence[Sentence], *, first: int | None, last: int | None, pad: int) -> Tensor:
    """Stack sentences into one int64 tensor, (sentences, longest), adding a first and a last id to each if given."""
    extra = (first is not None) + (last is not None)
    rows = np.full((len(sentences), max(map(len, sentences)) + extra), pad, dtype=np.int64)
    start = int(first is not None)
    for row, sentence in zip(rows, sentences, strict=True):
        row[start : start + len(sentence)] = sentence
        if first is not None:
            row[0] = first
        if last is not None:
            row[start + len(sentence)] = last
    return torch.from_numpy(rows)


def no_transform(sentence: Sentence) -> Sentence:
    """Return the sentence unchanged."""
    return sentence


def make_batch(
    pairs: PairStore | ChangedPairs,
    indices: NDArray[np.int64],
    source: Vocabulary,
    target: Vocabulary,
    transforms: Sequence[Transform] = (no_transform, no_transform),
) -> Batch:
    """Collate the pairs with these indices into a batch.

    Args:
        pairs: All pairs.
        indices: Which of them, (batch,).
        source: Vocabulary with the special ids of the source.
        target: Vocabulary with the special ids of the target.
        transforms: Applied to each source and each target sentence.
    """
    sources = [transforms[0](pairs.source[index]) for index in indices]
    targets = [transforms[1](pairs.target[index]) for index in indices]
    return Batch(
        source=pad(sources, first=None, last=source.eos, pad=source.pad),
        target_input=pad(targets, first=target.bos, last=None, pad=target.pad),
        target_output=pad(targets, first=None, last=target.eos, pad=target.pad),
        source_tokens=sum(map(len, sources)) + len(sources),
        target_tokens=sum(map(len, targets)) + len(targets),
    )


PADDED = ("source", "target_input", "target_output")
UNPADDED = ("source", "target", "source_lengths", "target_lengths")


class StagedBatch:
    """The groups of a batch in one block of memory, ready to be copied to a device.

    Args:
        groups: Groups of sentences, on the CPU, each with its pairs without padding.
        pin: Whether to pin the memory, which a GPU needs to copy it while the program continues.
    """

    def __init__(self, groups: Sequence[Batch], pin: bool) -> None:
        self.groups = groups
        tensors = [tensor for group in groups for tensor in _tensors(group)]
        self.shapes = [tensor.shape for tensor in tensors]
        self.memory = torch.empty(sum(shape.numel() for shape in self.shapes), dtype=torch.int64, pin_memory=pin)
        if tensors:
            torch.cat([tensor.flatten() for tensor in tensors], out=self.memory)

    def to(self, device: torch.device) -> list[Batch]:
        """The groups on a device; all their tensors are views of one copy."""
        moved = self.memory.to(device, non_blocking=True)
        parts = iter(torch.split(moved, [shape.numel() for shape in self.shapes]))
        tensors = (part.view(shape) for part, shape in zip(parts, self.shapes, strict=True))
        batches = []
        for group in self.groups:
            padded: dict[str, Any] = {name: next(tensors) for name in PADDED}
            unpadded = UnpaddedPairs(**{name: next(tensors) for name in UNPADDED})
            batches.append(replace(group, **padded, unpadded=unpadded))
        return batches


def _tensors(group: Batch) -> list[Tensor]:
    assert group.unpadded is not None
    return [*(getattr(group, name) for name in PADDED), *(getattr(group.unpadded, name) for name in UNPADDED)]
