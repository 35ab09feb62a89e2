"""Whether an activation function is missing between two linear layers, which together compute one linear function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from torch import Tensor

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.gradients import next_token_loss
from dragoman.doctor.model.parameters import describe_groups
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, Probe

RESHAPES = ("ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0", "CloneBackward0", "AliasBackward0")
"""Operations that only rearrange the numbers between two linear layers."""


def check_missing_activation(probe: Probe) -> Iterator[Finding]:
    """Find pairs of linear layers, the first of which makes its input wider, with nothing in between.

    Narrow pairs are intended: they are factorizations of a large matrix, such as LoRA. So are layers whose output has
    several uses, such as a projection of the embeddings to the width of the model.
    """
    source, target = probe.random_sources(2, SOURCE_LENGTH), probe.random_targets(2, TARGET_LENGTH + 1)
    names = {id(tensor): name for name, tensor in probe.model.parameters}
    found: dict[str, list[str]] = {}
    operations = list(_operations(next_token_loss(probe, source, target).grad_fn))
    uses = Counter(parent for node in operations for parent, _ in node.next_functions)
    for node in operations:
        second, first = _linear_weight(node), _linear_weight(_input_operation(node, uses))
        widens = first is not None and first.shape[0] > first.shape[1]
        if second is not None and first is not None and widens and {id(first), id(second)} <= names.keys():
            found[names[id(second)].removesuffix(".weight")] = [names[id(second)]]
    if found:
        yield make_finding(
            "missing-activation",
            f"no activation function before {len(found)} of the linear layers, whose input is the output of another "
            f"one: {describe_groups(found)}",
            {"layers": list(found)},
        )


def _operations(root: Any) -> Iterator[Any]:
    """All operations of a computation graph, each once."""
    stack, seen = [root], {None}
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield node
            stack.extend(parent for parent, _ in node.next_functions)


def _linear_weight(node: Any) -> Tensor | None:
    """The weight of a linear layer, (output, input), if an operation is its matrix product."""
    if node is None or node.name() not in ("AddmmBackward0", "MmBackward0"):
        return None
    transpose = node.next_functions[-1][0]
    if transpose is None or transpose.name() != "TBackward0":
        return None
    weight = getattr(transpose.next_functions[0][0], "variable", None)
    return weight if isinstance(weight, Tensor) else None


def _input_operation(node: Any, uses: Counter[Any]) -> Any:
    """The operation that computes the input of a matrix product, changes of shape aside; None if it has other uses."""
    if _linear_weight(node) is None:
        return None
    node = node.next_functions[-2][0]
    while node is not None and node.name() in RESHAPES and uses[node] == 1:
        node = node.next_functions[0][0]
    return node if uses[node] == 1 else None
