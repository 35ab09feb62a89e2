"""Whether the model uses layers that are not registered, as those in a plain Python list."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.attributes import plain_modules
from dragoman.doctor.model.probe import Probe
from dragoman.errors import counted


def check_unregistered_layers(probe: Probe, source: Tensor, target: Tensor) -> Iterator[Finding]:
    """Record which modules in plain attributes a call uses; only those that could be trained count."""
    given = {id(tensor) for _, tensor in probe.model.parameters}
    found = {
        name: used
        for name, modules in plain_modules(probe.model.forward).items()
        if (used := [module for module in _used(probe, modules, source, target) if _is_trainable(module, given)])
    }
    if found:
        listed = ", ".join(
            f"{name} ({counted(len(modules), type(modules[0]).__name__)})" for name, modules in found.items()
        )
        training = any(module.training for modules in found.values() for module in modules)
        yield make_finding(
            "unregistered-layers",
            f"the model uses layers that it has not registered: {listed}"
            + ("; they are in training mode, so their dropout is active" if training else ""),
            {"attributes": list(found), "training": training},
        )


def _used(probe: Probe, modules: list[nn.Module], source: Tensor, target: Tensor) -> list[nn.Module]:
    """The modules that a call of the model calls."""
    called: list[nn.Module] = []
    hooks = [module.register_forward_pre_hook(lambda module, _: called.append(module)) for module in modules]
    try:
        with torch.no_grad():
            probe.call(source, target)
    finally:
        for hook in hooks:
            hook.remove()
    return [module for module in modules if module in called]


def _is_trainable(module: nn.Module, given: set[int]) -> bool:
    """Whether a module has parameters that could be trained, but are not among the given ones."""
    return any(tensor.requires_grad and id(tensor) not in given for tensor in module.parameters())
