"""Whether the model creates parameters while it computes, which no optimizer ever updates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.probe import Probe


def check_created_in_forward(probe: Probe, source: Tensor, target: Tensor) -> Iterator[Finding]:
    """Call the model twice, after an earlier call has initialized lazy modules, and record new parameters."""
    with torch.random.fork_rng(), torch.no_grad():
        first, second = _created_by_call(probe, source, target), _created_by_call(probe, source, target)
    if not second:
        return
    equal = len(first) == len(second) and all(torch.equal(a, b) for (_, a), (_, b) in zip(first, second, strict=True))
    modules = Counter(module for module, _ in second)
    listed = ", ".join(f"{module} ({count} in each call)" for module, count in modules.most_common())
    consequence = "they always keep their initial values" if equal else "their values are random in each call"
    yield make_finding(
        "created-in-forward",
        f"forward creates parameters of {listed}, which no optimizer updates; {consequence}",
        {"modules": dict(modules), "random": not equal},
        severity="warning" if equal else "error",
    )


def _created_by_call(probe: Probe, source: Tensor, target: Tensor) -> list[tuple[str, Tensor]]:
    """The parameters that a call of the model creates, each with the class of its module."""
    created: list[tuple[str, Tensor]] = []

    def record(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        if parameter is not None and parameter.requires_grad:
            created.append((type(module).__name__, parameter))

    hook = register_module_parameter_registration_hook(record)
    try:
        probe.call(source, target)
    finally:
        hook.remove()
    return created
