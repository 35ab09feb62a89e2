"""Whether the model can learn: every parameter has a gradient, and one small batch can be learnt by heart."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.doctor.findings.explanations import found
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.model.leaks import SOURCE, TARGET
from dragoman.doctor.model.probe import Probe

RATES = ((3e-3, 100), (5e-4, 200))  # learning rates to try, and their steps
LEARNT = 0.33  # of the loss of guessing


def looks_fresh(parameters: tuple[tuple[str, Tensor], ...]) -> bool:
    """Whether gains and biases are as initialised: most are all ones or all zeros, which training changes."""
    vectors = [tensor for _, tensor in parameters if tensor.dim() == 1 and len(tensor) > 1]
    constant = [bool((tensor == tensor[0]).all()) for tensor in vectors]
    return bool(vectors) and sum(constant) > len(constant) / 2


def no_gradient(probe: Probe) -> Iterator[Finding]:
    """Which parameters, frozen ones apart, the loss of one batch does not reach."""
    parameters = probe.subject.parameters
    source, target = probe.source(4, SOURCE), probe.target(4, TARGET + 1)
    learning = [(name, tensor) for name, tensor in parameters if tensor.requires_grad] or list(parameters)
    with torch.enable_grad():
        loss = _loss(probe, source, target)
    reached = {name for (name, _), gradient in zip(learning, _gradients(loss, learning), strict=True) if _any(gradient)}
    missing = [name for name, _ in learning if name not in reached]
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        yield found(
            "no-gradient",
            f"the loss does not reach {len(missing)} of {len(learning)} parameters: {shown}",
            parameters=missing,
            of=len(learning),
        )


def cannot_overfit(probe: Probe) -> Iterator[Finding]:
    """Learn two sentences by heart with Adam; the parameters are put back."""
    learning = [(name, tensor) for name, tensor in probe.subject.parameters if tensor.requires_grad]
    source, target = probe.source(2, SOURCE), probe.target(2, TARGET)
    before = [tensor.detach().clone() for _, tensor in learning]
    goal = LEARNT * math.log(probe.subject.vocabulary_size)
    best, steps = math.inf, 0
    for rate, limit in RATES:
        try:
            loss, taken = _learn(probe, learning, source, target, rate, limit, goal)
        finally:
            _put(learning, before)
        best, steps = min(best, loss), steps + taken
        if best <= goal:
            return
    yield found(
        "cannot-overfit",
        f"after {steps} steps on two short sentences the loss is still {best:.2f} nats; guessing has "
        f"{goal / LEARNT:.2f}",
        loss=best,
        guessing=goal / LEARNT,
        steps=steps,
    )


def _learn(
    probe: Probe,
    learning: list[tuple[str, Tensor]],
    source: Tensor,
    target: Tensor,
    rate: float,
    limit: int,
    goal: float,
) -> tuple[float, int]:
    """The lowest loss of some steps of Adam on copies in float32, and the steps taken until the goal."""
    masters = [tensor.detach().float().clone() for _, tensor in learning]
    optimizer = torch.optim.Adam(masters, betas=(0.9, 0.98))
    best = math.inf
    for step in range(limit):
        with torch.enable_grad():
            loss = _loss(probe, source, target)
        best = min(best, float(loss.detach()))
        if best <= goal or not loss.requires_grad:
            return best, step
        for master, gradient in zip(masters, _gradients(loss, learning), strict=True):
            master.grad = None if gradient is None else gradient.float()
        torch.nn.utils.clip_grad_norm_(masters, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 20)
        optimizer.step()
        _put(learning, masters)
    return best, limit


def _loss(probe: Probe, source: Tensor, target: Tensor) -> Tensor:
    """Mean loss of each next token, in nats."""
    raw = probe.raw(source, target[:, :-1])
    return F.cross_entropy(raw.float().flatten(0, 1), target[:, 1:].flatten().to(raw.device))


def _gradients(loss: Tensor, learning: list[tuple[str, Tensor]]) -> tuple[Tensor | None, ...]:
    tensors = [tensor for _, tensor in learning]
    if not loss.requires_grad or not all(tensor.requires_grad for tensor in tensors):
        return (None,) * len(tensors)
    return torch.autograd.grad(loss, tensors, allow_unused=True)


def _any(gradient: Tensor | None) -> bool:
    return gradient is not None and bool(gradient.any())


@torch.no_grad()
def _put(learning: list[tuple[str, Tensor]], values: list[Tensor]) -> None:
    for (_, tensor), value in zip(learning, values, strict=True):
        tensor.copy_(value)
