"""Parameters that are zero at the start, such as gates, which hide what they will let through after the first steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.attributes import modules_of
from dragoman.doctor.model.gradients import compute_gradients, next_token_loss
from dragoman.doctor.model.parameters import describe_groups, group_by_module
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, NamedParameters, Probe

HIDDEN = {"source-ignored", "target-ignored", "position-blind", "no-gradient"}
"""Codes of findings that something has no effect."""

SIZE = 0.3  # of the numbers that replace zeros


def look_behind_zeros(probe: Probe, check: Callable[[bool], Iterable[Finding]]) -> Iterator[Finding]:
    """Make checks; if something has no effect, make them again with other numbers instead of zeros.

    If that explains a finding, the second results about effects are reported, with a note. Zeros may also hide leaks.

    Args:
        probe: Calls the model.
        check: Makes the checks, given whether zeros were replaced.
    """
    first = list(check(False))
    if not _hidden(first):
        yield from first
        return
    with _other_numbers(probe) as zeros:
        second = list(check(True)) if zeros else first
    if _hidden(first) <= _hidden(second):
        yield from first
        return
    codes = {finding.code for finding in first}
    yield from (finding for finding in first if finding.code not in HIDDEN)
    yield from (finding for finding in second if finding.code in HIDDEN or finding.code not in codes)
    groups = group_by_module(list(zeros), [name for name, _ in _parameters(probe)])
    yield make_finding(
        "zero-at-start",
        "some parameters are zero and hide parts of the model; checks of their effect used random numbers instead: "
        f"{describe_groups(groups)}",
        {"parameters": list(zeros)},
    )


def _hidden(findings: Iterable[Finding]) -> set[tuple[str, ...]]:
    """The findings that something has no effect, each with what it is about."""
    return {
        (finding.code, str(finding.measured.get("side")), *finding.measured.get("parameters", ()))
        for finding in findings
        if finding.code in HIDDEN and not (finding.code == "no-gradient" and finding.severity == "note")
    }


@contextmanager
def _other_numbers(probe: Probe) -> Iterator[Mapping[str, Tensor]]:
    """A context in which small random numbers replace the zeros that hide something, by the names of parameters.

    A zero behind another one has a gradient only after that one has changed.
    """
    zeros = {name: tensor.detach() for name, tensor in _parameters(probe) if not tensor.any()}
    changed: dict[str, Tensor] = {}
    additive: set[str] = set()
    try:
        while names := _with_gradient(probe, zeros.keys() - changed.keys() - additive):
            for name in names:
                changed[name] = zeros[name]  # before the model is called, which may fail
                if not _hides(probe, name, zeros[name]):
                    changed.pop(name).zero_()
                    additive.add(name)
        yield changed
    finally:
        for tensor in changed.values():
            tensor.zero_()


def _hides(probe: Probe, name: str, zero: Tensor) -> bool:
    """Replace a zero parameter by random numbers; returns whether it multiplies something.

    Without it, the parameters that it multiplies have no gradient. A bias hides nothing. A single number may also
    multiply something without parameters, such as sinusoidal positions.
    """
    others = {other for other, _ in _parameters(probe)} - {name}
    before = set(_with_gradient(probe, others))
    signs = torch.randint(2, zero.shape, generator=probe.generator) * 2 - 1
    zero.copy_(SIZE * signs)
    if zero.numel() == 1 or set(_with_gradient(probe, others)) - before:
        return True
    # No parameter was hidden, or there are no gradients. A matrix may still hide inputs; a vector is a bias.
    return before == others and zero.dim() != 1


def _with_gradient(probe: Probe, names: Iterable[str]) -> list[str]:
    """The parameters among those with these names that the loss has a gradient for; all if it has none for any."""
    tensors = {name: tensor for name, tensor in _parameters(probe) if name in set(names) and tensor.requires_grad}
    if not tensors:
        return []
    source, target = probe.random_sources(4, SOURCE_LENGTH), probe.random_targets(4, TARGET_LENGTH + 1)
    loss = next_token_loss(probe, source, target)
    if not loss.requires_grad:  # forward is called without gradients
        return list(tensors)
    gradients = compute_gradients(loss, list(tensors.values()))
    pairs = zip(tensors, gradients, strict=True)
    return [name for name, gradient in pairs if gradient is not None and gradient.to_dense().any()]


def _parameters(probe: Probe) -> NamedParameters:
    """The parameters that were passed, or those of the model if it can be found."""
    models = modules_of(probe.model.forward)
    return probe.model.parameters or tuple(pair for model in models for pair in model.named_parameters())
