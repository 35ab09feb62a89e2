"""Whether the loss depends on every parameter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, NamedParameters, Probe

SHOWN_PARAMETERS = 5  # names in the message


def looks_untrained(parameters: NamedParameters) -> bool:
    """Whether most gains and biases have their initial values: vectors of equal numbers, which training changes."""
    vectors = [tensor for _, tensor in parameters if tensor.dim() == 1 and len(tensor) > 1]
    constant = [bool((tensor == tensor[0]).all()) for tensor in vectors]
    return bool(vectors) and sum(constant) > len(constant) / 2


def check_no_gradient(probe: Probe) -> Iterator[Finding]:
    """Find parameters, except frozen ones, that the loss of a batch has no gradient for."""
    parameters = probe.model.parameters
    source, target = probe.random_sources(4, SOURCE_LENGTH), probe.random_targets(4, TARGET_LENGTH + 1)
    trainable = [(name, tensor) for name, tensor in parameters if tensor.requires_grad] or list(parameters)
    gradients = compute_gradients(next_token_loss(probe, source, target), [tensor for _, tensor in trainable])
    missing = [
        name for (name, _), gradient in zip(trainable, gradients, strict=True) if gradient is None or not gradient.any()
    ]
    if missing:
        names = ", ".join(missing[:SHOWN_PARAMETERS])
        if len(missing) > SHOWN_PARAMETERS:
            names += f" and {len(missing) - SHOWN_PARAMETERS} more"
        yield make_finding(
            "no-gradient",
            f"the loss has no gradient for {len(missing)} of {len(trainable)} parameters: {names}",
            {"parameters": missing, "of": len(trainable)},
        )


@torch.enable_grad()
def next_token_loss(probe: Probe, source: Tensor, target: Tensor) -> Tensor:
    """Mean cross-entropy of each token of the target after the first, in nats."""
    logits = probe.call(source, target[:, :-1])
    return F.cross_entropy(logits.float().flatten(0, 1), target[:, 1:].flatten().to(logits.device))


def compute_gradients(loss: Tensor, parameters: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
    """The gradient of the loss for each parameter; None if the loss does not depend on it."""
    if not loss.requires_grad or not all(parameter.requires_grad for parameter in parameters):
        return (None,) * len(parameters)
    return torch.autograd.grad(loss, parameters, allow_unused=True)
