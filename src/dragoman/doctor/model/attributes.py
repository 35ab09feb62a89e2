"""What the modules of a model keep in plain attributes, which torch neither trains nor moves nor saves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

import torch
from torch import Tensor, nn

from dragoman.doctor.model.probe import Forward

_OWN_ATTRIBUTES = frozenset(vars(nn.Module()))  # the registries of nn.Module itself


def plain_modules(forward: Forward) -> dict[str, list[nn.Module]]:
    """Modules in plain attributes, such as lists, that are not registered anywhere, by class and attribute."""
    registered = {id(module) for root in modules_of(forward) for module in root.modules()}
    found = {name: list(filter(_can_record_calls, values)) for name, values in _attributes(forward)}
    return {name: modules for name, modules in found.items() if modules and registered.isdisjoint(map(id, modules))}


def plain_tensors(forward: Forward) -> list[str]:
    """Attributes, by class and name, that hold tensors that are neither parameters nor buffers."""
    return [name for name, values in _attributes(forward) if any(map(_is_plain_tensor, values))]


def _can_record_calls(value: Any) -> TypeGuard[nn.Module]:
    """Whether a value is a module that takes hooks: those of TorchScript, which traced models keep, do not."""
    return isinstance(value, nn.Module) and not isinstance(value, torch.jit.ScriptModule)


def _is_plain_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) and not isinstance(value, nn.Parameter)


def _attributes(forward: Forward) -> Iterator[tuple[str, list[Any]]]:
    """The plain attributes of all modules, by class and name, and what they contain."""
    for root in modules_of(forward):
        for module in root.modules():
            for name, value in vars(module).items():
                if name not in _OWN_ATTRIBUTES:
                    yield f"{type(module).__name__}.{name}", list(_elements(value))


def _elements(value: Any) -> Iterator[Any]:
    """The elements of nested lists, tuples and dictionaries."""
    if isinstance(value, list | tuple | Mapping):
        for element in value.values() if isinstance(value, Mapping) else value:
            yield from _elements(element)
    else:
        yield value


def modules_of(forward: Forward) -> list[nn.Module]:
    """The model, or the models that a function uses, which may have decorators such as torch.no_grad()."""
    function = inspect.unwrap(forward)
    values: list[Any] = [forward, getattr(forward, "__self__", None)]
    if inspect.isfunction(function):
        variables = inspect.getclosurevars(function)
        values += [*variables.nonlocals.values(), *variables.globals.values()]
    return [value for value in values if isinstance(value, nn.Module)]
