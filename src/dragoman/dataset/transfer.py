"""Moving batches to a GPU: one copy for all tensors of a batch, during which the program continues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from dragoman.dataset.batch import Batch, UnpaddedPairs

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
