"""The first module at which two calls differ where they must not."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.doctor.model.probe import Probe, submodules_of
from dragoman.errors import UserError

Ids = tuple[Tensor, Tensor]
"""Source ids (batch, source) and target ids (batch, target)."""

ROUNDING = 1e-4  # of the largest number


@dataclass(frozen=True)
class _Event:
    """A module that has finished: the tensors that it received and returned."""

    name: str
    inputs: list[Tensor]
    outputs: list[Tensor]


@dataclass(frozen=True)
class Kept:
    """The part of tensors that must be equal in two calls.

    Attributes:
        size: The size of the dimension of which a part is kept; 0 for none.
        start: The first index that is kept.
        stop: The index after the last one.
    """

    size: int = 0
    start: int = 0
    stop: int = 0

    def of(self, one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
        """The kept parts of tensors of two calls; where sizes differ, only what both have."""
        if one.dim() != other.dim():
            return one, other
        for dimension, (length, its_length) in enumerate(zip(one.shape, other.shape, strict=True)):
            shorter = min(length, its_length)
            one, other = one.narrow(dimension, 0, shorter), other.narrow(dimension, 0, shorter)
        if self.size in one.shape:
            dimension = list(one.shape).index(self.size)
            length = self.stop - self.start
            one, other = (tensor.narrow(dimension, self.start, length) for tensor in (one, other))
        return one, other


ALL = Kept()


def first_difference(probe: Probe, one: Ids, other: Ids, kept: Kept = ALL) -> str | None:
    """The innermost module that receives equal numbers and returns different ones; None if there is none.

    Args:
        probe: Calls the model.
        one: Ids of one call.
        other: Ids of another one, which must not change the kept part.
        kept: The part of tensors that must be equal.
    """
    try:
        events, others = _events(probe, one), _events(probe, other)
    except UserError:
        return None
    if [event.name for event in events] != [event.name for event in others]:
        return None
    widths = {ids.shape[1] for ids in (*one, *other)}
    for first, second in zip(events, others, strict=True):
        scores = any(sum(size in widths for size in tensor.shape) > 1 for tensor in first.outputs)
        if not scores and _equal(first.inputs, second.inputs, kept) and not _equal(first.outputs, second.outputs, kept):
            return first.name
    return None


def _equal(tensors: list[Tensor], others: list[Tensor], kept: Kept) -> bool:
    if len(tensors) != len(others):
        return False
    return all(_same(*kept.of(tensor, other)) for tensor, other in zip(tensors, others, strict=True))


def _same(tensor: Tensor, other: Tensor) -> bool:
    if tensor.shape != other.shape:
        return False
    if not tensor.is_floating_point() or tensor.numel() == 0:
        return torch.equal(tensor, other)
    tensor, other = (torch.nan_to_num(each.detach().double(), neginf=0.0, posinf=0.0) for each in (tensor, other))
    return float((tensor - other).abs().max()) <= ROUNDING * max(float(tensor.abs().max()), 1e-6)


def _events(probe: Probe, ids: Ids) -> list[_Event]:
    """The modules of a call, in the order in which they finish."""
    found: list[_Event] = []

    def hook(name: str) -> Callable[..., None]:
        def record(module: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any], output: Any) -> None:
            found.append(_Event(name, list(_tensors((*inputs, *options.values()))), list(_tensors(output))))

        return record

    with ExitStack() as hooks:
        for name, module in submodules_of(probe.model.forward):
            if name and not isinstance(module, torch.jit.ScriptModule):
                hooks.callback(module.register_forward_hook(hook(name), with_kwargs=True).remove)
        with torch.set_grad_enabled(not probe.without_gradients):  # not the fast path of torch, which skips modules
            probe.call(*ids)
    return found


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [] if value.is_nested else [value.detach().clone()]
    if isinstance(value, tuple | list):
        return [tensor for element in value for tensor in _tensors(element)]
    if isinstance(value, dict):
        return _tensors(list(value.values()))
    return []
