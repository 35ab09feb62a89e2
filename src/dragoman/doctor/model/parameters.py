"""The parameters of an examined model: how they are passed, named in messages, and whether they were trained."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.doctor.model.probe import NamedParameters
from dragoman.errors import UserError, counted

SHOWN_NAMES = 5  # modules in a message
MIN_GAIN = 0.5  # mean of a vector that can be the gain of a norm; biases are smaller


def named_parameters(parameters: Any) -> NamedParameters:
    """The names and tensors of a model's parameters.

    Raises:
        UserError: Something else was passed, such as ``model.parameters()``.
    """
    if parameters is None:
        return ()
    if isinstance(parameters, nn.Module) or callable(parameters) or not isinstance(parameters, Iterable):
        raise _not_named(f"an object of type {type(parameters).__name__}")
    pairs = tuple(parameters.items() if isinstance(parameters, Mapping) else parameters)
    for pair in pairs:
        if isinstance(pair, Tensor):
            raise _not_named("tensors without names, as from model.parameters()")
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Tensor)):
            raise _not_named(f"objects of type {type(pair).__name__}")
    if pairs and isinstance(parameters, Mapping) and not any(tensor.requires_grad for _, tensor in pairs):
        raise _not_named("tensors without gradients, as from model.state_dict()")
    return tuple((str(name), tensor) for name, tensor in pairs)


def _not_named(given: str) -> UserError:
    return UserError(f"parameters: expected pairs of names and tensors, not {given}; pass model.named_parameters()")


def looks_untrained(parameters: NamedParameters) -> bool:
    """Whether the gains of the norms, or most gains and biases, have their initial values, which training changes.

    The gain of a norm is a vector of ones, or a single one, and its bias zero. Linear layers of torch start with random
    biases, so that a model with few norms may have few vectors of equal numbers.
    """
    vectors = [tensor.detach() for _, tensor in parameters if tensor.dim() == 1]
    gains = [tensor for tensor in vectors if float(tensor.float().mean()) > MIN_GAIN]
    initial_gains = sum(bool((tensor == 1).all()) for tensor in gains)
    longer = [tensor for tensor in vectors if len(tensor) > 1]
    constant = sum(bool((tensor == tensor[0]).all()) for tensor in longer)
    return 2 * initial_gains > len(gains) or 2 * constant > len(longer)


def group_by_module(names: Sequence[str], all_names: Sequence[str]) -> dict[str, list[str]]:
    """Names of parameters by the largest module whose parameters are all among them.

    Args:
        names: Names to group.
        all_names: Names of all parameters of the model.
    """
    totals = _count_by_module(all_names)
    counts = _count_by_module(names)
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        complete = (module for module in _modules_of(name) if counts[module] == totals[module])
        groups[next(complete, name)].append(name)
    return groups


def describe_groups(groups: Mapping[str, Sequence[str]]) -> str:
    """Groups of parameters in a message: modules that differ only in numbers, such as layers, are one entry."""
    merged: dict[str, list[str]] = defaultdict(list)
    for module in groups:
        merged[re.sub(r"\d+", "*", module)].append(module)
    entries = []
    for pattern, modules in merged.items():
        label = pattern if len(modules) > 1 else modules[0]
        names = [name for module in modules for name in groups[module]]
        entries.append(names[0] if len(names) == 1 else f"{label} ({counted(len(names), 'parameter')})")
    return list_names(entries)


def list_names(names: Iterable[str]) -> str:
    """The first names in a message, and the number of others."""
    shown = list(names)
    more = len(shown) - SHOWN_NAMES
    return ", ".join(shown[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def skipped_layers(groups: Iterable[str], all_names: Sequence[str]) -> set[str]:
    """The modules among `groups` that are all elements of a list except its last one.

    This is what remains if each layer of a stack gets the same input and only the output of the last one is used.

    Args:
        groups: Modules without an effect.
        all_names: Names of all parameters of the model.
    """
    lists: dict[str, set[int]] = defaultdict(set)
    for name in all_names:
        for module in _modules_of(name):
            parent, _, number = module.rpartition(".")
            if number.isdecimal():
                lists[parent].add(int(number))
    unused = set(groups)
    skipped = ({f"{parent}.{number}" for number in numbers - {max(numbers)}} for parent, numbers in lists.items())
    return {module for modules in skipped if modules <= unused for module in modules}


def _count_by_module(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for name in names:
        for module in _modules_of(name):
            counts[module] += 1
    return counts


def _modules_of(name: str) -> list[str]:
    """The modules that contain a parameter, the outermost first, without the model itself."""
    parts = name.split(".")
    return [".".join(parts[:depth]) for depth in range(1, len(parts))]


def perturb(tensors: Sequence[Tensor], generator: torch.Generator) -> None:
    """Add random numbers with standard deviation 1 in place."""
    with torch.no_grad():
        for tensor in tensors:
            tensor.add_(torch.randn(tensor.shape, generator=generator).to(tensor))
