"""Whether the loss depends on every parameter, and has a gradient for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypedDict

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.doctor.findings.finding import Finding, Severity
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.differences import SAME_SHAPE, PredictionDifference, measure_difference
from dragoman.doctor.model.parameters import describe_groups, group_by_module, perturb, skipped_layers
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, NamedParameters, Probe

ROUNDING = 1e-7  # of the largest gradient; correct models that change the predictions as much have at least 1e-5
MIN_ROUTING_EFFECT = 0.01  # relative difference; biases of keys have no gradient but rounding, and no effect
MANY_ROWS, MANY_IDS = 16, 32  # of a batch that should reach every expert of a mixture
OPTIONAL = re.compile(r"(^|[._])(experts?|pooler)([._\d]|$)")
"""Names of modules that correct translators may leave unused: a router may choose no token for an expert, and the last
layer of a pretrained encoder may be meant for classification."""

_Kind = Literal["stopped", "skipped", "unused", "optional"]


class _Options(TypedDict, total=False):
    severity: Severity
    cause: str
    fix: str


_EFFECTS: dict[_Kind, str] = {
    "stopped": "have no gradient, although they change the predictions",
    **dict.fromkeys(("skipped", "unused", "optional"), "have no effect on the predictions"),
}
_KINDS: dict[_Kind, _Options] = {
    "stopped": {},
    "skipped": {
        "cause": "only the last layer of a stack is used: each layer gets the input of the stack instead of the output "
        "of the layer before it",
        "fix": "pass the output of each layer to the next one: for layer in self.layers: x = layer(x)",
    },
    "unused": {
        "severity": "warning",
        "cause": "the model creates layers that forward does not use, or calls another layer by mistake",
        "fix": "call every layer that the model creates, or remove the layer",
    },
    "optional": {
        "severity": "note",
        "cause": "the router chose these experts for no token of random sentences, or translation does not need this "
        "part of a pretrained model",
        "fix": "nothing needs to be done, unless some experts receive no tokens in training either",
    },
}
"""What is special about each kind; the rest is usual for the code."""


def check_no_gradient(probe: Probe) -> Iterator[Finding]:
    """Find parameters, except frozen ones, that the loss of a batch has no gradient for."""
    trainable = tuple((name, tensor) for name, tensor in probe.model.parameters if tensor.requires_grad)
    if not trainable:
        yield make_finding(
            "no-gradient",
            "all parameters are frozen (requires_grad is False), so gradients cannot be checked",
            {"parameters": [], "of": 0},
            severity="note",
            cause="the model was frozen or loaded for translation only",
            fix="if it should learn, set requires_grad to True before training",
        )
        return
    missing = _without_gradient(probe, trainable, (4, SOURCE_LENGTH, TARGET_LENGTH + 1))
    if missing:
        source_length, target_length = (min(MANY_IDS, probe.max_lengths[side]) for side in ("source", "target"))
        names = {name for name, _ in missing}
        many = _without_gradient(probe, trainable, (MANY_ROWS, source_length, target_length))
        missing = tuple((name, tensor) for name, tensor in many if name in names)
    if missing:
        yield from _report(probe, missing, trainable)


def _without_gradient(probe: Probe, parameters: NamedParameters, shape: tuple[int, int, int]) -> NamedParameters:
    """The parameters that the loss of a batch with this many rows, source ids and target ids has no gradient for.

    A gradient may consist of rounding: one that is tiny, although the parameter changes the predictions.
    """
    rows, source_length, target_length = shape
    source, target = probe.random_sources(rows, source_length), probe.random_targets(rows, target_length)
    gradients = compute_gradients(next_token_loss(probe, source, target), [tensor for _, tensor in parameters])
    sizes = [0.0 if gradient is None else float(gradient.to_dense().float().norm()) for gradient in gradients]

    def is_rounding(size: float, tensor: Tensor) -> bool:
        if size > ROUNDING * max(sizes):
            return False
        return measure_effect(probe, [tensor], source, target).relative > MIN_ROUTING_EFFECT

    pairs = zip(parameters, sizes, strict=True)
    return tuple((name, tensor) for (name, tensor), size in pairs if size == 0 or is_rounding(size, tensor))


def _report(probe: Probe, missing: NamedParameters, trainable: NamedParameters) -> Iterator[Finding]:
    groups = group_by_module([name for name, _ in missing], [name for name, _ in trainable])
    kinds = _classify(probe, groups, dict(missing), [name for name, _ in trainable])
    for kind, options in _KINDS.items():
        modules = {module: names for module, names in groups.items() if kinds[module] == kind}
        names = [name for names in modules.values() for name in names]
        if names:
            yield make_finding(
                "no-gradient",
                f"{len(names)} of {len(trainable)} parameters {_EFFECTS[kind]}: {describe_groups(modules)}",
                {"parameters": names, "of": len(trainable)},
                **options,
            )


def _classify(
    probe: Probe, groups: Mapping[str, Sequence[str]], tensors: Mapping[str, Tensor], all_names: Sequence[str]
) -> dict[str, _Kind]:
    """Why the parameters of each module have no gradient."""
    source, target = probe.random_sources(4, SOURCE_LENGTH), probe.random_targets(4, TARGET_LENGTH)

    def have_effect(names: Sequence[str]) -> bool:
        return SAME_SHAPE.exceeded_by(measure_effect(probe, [tensors[name] for name in names], source, target))

    any_effect = have_effect(list(tensors))
    kinds: dict[str, _Kind] = {}
    for module, names in groups.items():
        if any_effect and have_effect(names):
            kinds[module] = "stopped"
        else:
            kinds[module] = "optional" if OPTIONAL.search(module) else "unused"
    unused = [module for module, kind in kinds.items() if kind == "unused"]
    return kinds | dict.fromkeys(skipped_layers(unused, all_names), "skipped")


def measure_effect(probe: Probe, tensors: Sequence[Tensor], source: Tensor, target: Tensor) -> PredictionDifference:
    """The effect of other values of some parameters on the predictions for ids; the parameters are restored."""
    initial = [tensor.detach().clone() for tensor in tensors]
    before = probe.predict(source, target)
    try:
        perturb(tensors, probe.generator)
        return measure_difference(before, probe.predict(source, target))
    finally:
        assign(tensors, initial)


@torch.no_grad()
def assign(parameters: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    """Overwrite parameters in place."""
    for parameter, value in zip(parameters, values, strict=True):
        parameter.copy_(value)


@torch.enable_grad()
def next_token_loss(probe: Probe, source: Tensor, target: Tensor) -> Tensor:
    """Mean cross-entropy of each token of the target after the first, in nats."""
    logits = probe.call(source, target[:, :-1])
    return F.cross_entropy(logits.float().flatten(0, 1), target[:, 1:].flatten().to(logits.device))


def compute_gradients(loss: Tensor, parameters: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
    """The gradient of the loss for each parameter; None if the loss does not depend on it."""
    if not loss.requires_grad:
        return (None,) * len(parameters)
    return torch.autograd.grad(loss, parameters, allow_unused=True)
