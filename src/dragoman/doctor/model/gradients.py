"""Whether the loss depends on every parameter, and whether a model can learn."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypedDict

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.doctor.findings.finding import Finding, Severity
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.probe import (
    SAME_SHAPE,
    SOURCE_LENGTH,
    TARGET_LENGTH,
    NamedParameters,
    PredictionDifference,
    Probe,
    describe_groups,
    group_by_module,
    measure_difference,
    perturb,
    skipped_layers,
)
from dragoman.errors import UserError
from dragoman.system.user_code import blamed

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


def check_training_fails(probe: Probe) -> Iterator[Finding]:
    """Compute a gradient; a model that fails then may still translate, and so may a function without gradients."""
    trainable = [tensor for _, tensor in probe.model.parameters if tensor.requires_grad]
    if not trainable:
        return
    source, target = probe.random_sources(2, SOURCE_LENGTH), probe.random_targets(2, TARGET_LENGTH + 1)
    try:
        loss = next_token_loss(probe, source, target)
        compute_gradients(loss, trainable)
        probe.without_gradients = not loss.requires_grad and not probe.model.parameters_given
    except UserError as error:
        probe.without_gradients = True
        yield make_finding(
            "no-gradient",
            f"the model translates, but cannot be trained: {error}",
            {"parameters": [name for name, _ in probe.model.parameters], "of": len(probe.model.parameters)},
            cause="an operation changes a tensor in place that the gradient needs (x += y, masked_fill_, "
            "scores[mask] = -inf, or a loop that assigns to the rows of a tensor)",
            fix="use operations that return a new tensor: x = x + y, scores = scores.masked_fill(mask, -inf)",
        )


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
    with torch.backends.cudnn.flags(enabled=False):  # its recurrent layers have no gradient in evaluation mode
        logits = probe.call(source, target[:, :-1])
    return F.cross_entropy(logits.float().flatten(0, 1), target[:, 1:].flatten().to(logits.device))


def compute_gradients(loss: Tensor, parameters: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
    """The gradient of the loss for each parameter; None if the loss does not depend on it.

    Raises:
        UserError: The gradient cannot be computed.
    """
    if not loss.requires_grad:
        return (None,) * len(parameters)
    with blamed("the gradient cannot be computed"):
        return torch.autograd.grad(loss, parameters, allow_unused=True)


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


ATTEMPTS = ((3e-3, 200), (5e-4, 200), (1e-2, 200))
"""Learning rates and their steps: deep models need a low one, and small ones with scaled logits a high one."""

WARMUP_STEPS = 20
MAX_GRADIENT_NORM = 1.0
GOAL = 0.33  # of the loss of guessing


def check_cannot_overfit(probe: Probe) -> Iterator[Finding]:
    """Train on two sentences with Adam; the parameters are restored afterwards."""
    guessing = math.log(probe.model.vocabulary_size)
    trial = _Trial(probe, goal=GOAL * guessing)
    lowest_loss, steps = math.inf, 0
    for learning_rate, max_steps in ATTEMPTS:
        loss, taken = trial.run(learning_rate, max_steps)
        lowest_loss, steps = min(lowest_loss, loss), steps + taken
        if lowest_loss <= trial.goal:
            return
    yield make_finding(
        "cannot-overfit",
        f"after {steps} training steps on two short sentences the loss is still {lowest_loss:.2f} nats; "
        f"uniform guessing gives {guessing:.2f}",
        {"loss": lowest_loss, "guessing": guessing, "steps": steps},
    )


class _Trial:
    """A short training on two sentences, until the loss reaches a goal."""

    def __init__(self, probe: Probe, goal: float) -> None:
        self.probe, self.goal = probe, goal
        self.parameters = [tensor for _, tensor in probe.model.parameters if tensor.requires_grad]
        self.source = probe.random_sources(2, SOURCE_LENGTH)
        self.target = probe.random_targets(2, TARGET_LENGTH)

    def run(self, learning_rate: float, max_steps: int) -> tuple[float, int]:
        """Train, then restore the parameters. Returns the lowest loss and the number of steps."""
        initial = [tensor.detach().clone() for tensor in self.parameters]
        try:
            return self._train(learning_rate, max_steps)
        finally:
            assign(self.parameters, initial)

    def _train(self, learning_rate: float, max_steps: int) -> tuple[float, int]:
        masters = [tensor.detach().float().clone() for tensor in self.parameters]  # updated in float32
        optimizer = torch.optim.Adam(masters, betas=(0.9, 0.98))
        lowest_loss = math.inf
        for step in range(max_steps):
            loss = next_token_loss(self.probe, self.source, self.target)
            lowest_loss = min(lowest_loss, float(loss.detach()))
            if lowest_loss <= self.goal or not loss.requires_grad:
                return lowest_loss, step
            for master, gradient in zip(masters, compute_gradients(loss, self.parameters), strict=True):
                master.grad = None if gradient is None else gradient.float()
            torch.nn.utils.clip_grad_norm_(masters, MAX_GRADIENT_NORM)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate * min(1.0, (step + 1) / WARMUP_STEPS)
            optimizer.step()
            assign(self.parameters, masters)
        return lowest_loss, max_steps


PADDED_ROWS = 3
PADDING = 2  # ids of padding at the end of a source


def check_pad_embedding(probe: Probe) -> Iterator[Finding]:
    """Replace the row of padding in the embeddings by that of a word; only the prediction of padding may change.

    An output projection has such rows, too; the row of padding affects nothing but the prediction of padding. If the
    row of a word that does not occur has another effect, the rows are not those of ids but of positions.
    """
    pad_id, absent = probe.model.pad_id, int(torch.minimum(probe.words[0], probe.source_words[0]))
    sizes = {probe.model.source_vocabulary_size, probe.model.vocabulary_size}
    parameters = probe.model.parameters
    tables = [tensor for _, tensor in parameters if tensor.dim() == 2 and tensor.shape[0] in sizes]
    if not tables or pad_id in (probe.model.bos_id, probe.model.eos_id):
        return
    source = probe.pad(probe.random_sources(PADDED_ROWS, SOURCE_LENGTH - PADDING), SOURCE_LENGTH)
    target = probe.random_targets(PADDED_ROWS, TARGET_LENGTH)
    source[source == absent], target[target == absent] = probe.source_words[-1], probe.words[-1]
    leak = _effect_of_row(probe, tables, pad_id, (source, target))
    if SAME_SHAPE.exceeded_by(leak) and not SAME_SHAPE.exceeded_by(
        _effect_of_row(probe, tables, absent, (source, target))
    ):
        yield make_finding(
            "source-padding-leak",
            "changing the embedding of padding changes the predictions for a padded source by up to "
            f"{leak.probability:.2g} in probability",
            {"probability": leak.probability, "relative": leak.relative},
        )


def _effect_of_row(probe: Probe, tables: list[Tensor], row: int, ids: tuple[Tensor, Tensor]) -> PredictionDifference:
    """The effect of the numbers of another word in a row on the predictions of all other ids; the row is restored."""
    word = int(torch.minimum(probe.words[-1], probe.source_words[-1]))
    rows = [table.detach()[row] for table in tables]
    initial = [numbers.clone() for numbers in rows]
    before = probe.predict(*ids, without=row)
    try:
        assign(rows, [table.detach()[word] for table in tables])
        return measure_difference(before, probe.predict(*ids, without=row))
    finally:
        assign(rows, initial)


ABSENT_ROWS, MAX_ABSENT = 2, 8


def check_shared_embedding(probe: Probe) -> Iterator[Finding]:
    """Look at rows of words that do not occur: if they change the predictions, all of them are used as output."""
    source, target = probe.random_sources(ABSENT_ROWS, SOURCE_LENGTH), probe.random_targets(ABSENT_ROWS, TARGET_LENGTH)
    occurring = torch.isin(probe.words, torch.cat([source.flatten(), target.flatten()]))
    absent = probe.words[~occurring][:MAX_ABSENT].tolist()
    tables = [
        (name, tensor)
        for name, tensor in probe.model.parameters
        if tensor.requires_grad and tensor.dim() == 2 and tensor.shape[0] == probe.model.vocabulary_size
    ]
    if not tables or not absent:
        return
    gradients = compute_gradients(next_token_loss(probe, source, target), [tensor for _, tensor in tables])
    stopped = [
        name
        for (name, tensor), gradient in zip(tables, gradients, strict=True)
        if gradient is not None
        and gradient.to_dense().any()
        and not gradient.to_dense()[absent].any()
        and SAME_SHAPE.exceeded_by(measure_effect(probe, [tensor.detach()[word] for word in absent], source, target))
    ]
    if stopped:
        yield make_finding(
            "no-gradient",
            f"the rows of words that do not occur have no gradient, although they change the predictions: "
            f"{', '.join(stopped)}",
            {"parameters": stopped, "of": len(probe.model.parameters)},
            severity="warning",
            cause="the output projection uses embedding.weight.data, a detached copy of the embeddings, or "
            "nn.Parameter(embedding.weight), which makes another parameter; the embeddings are trained only as "
            "embeddings of the input",
            fix="project with the parameter itself: torch.nn.functional.linear(x, embedding.weight)",
        )


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
    groups = group_by_module(list(zeros), [name for name, _ in probe.model.parameters])
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
    zeros = {name: tensor.detach() for name, tensor in probe.model.parameters if not tensor.any()}
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
    others = {other for other, _ in probe.model.parameters} - {name}
    before = set(_with_gradient(probe, others))
    signs = torch.randint(2, zero.shape, generator=probe.generator) * 2 - 1
    zero.copy_(SIZE * signs)
    if zero.numel() == 1 or set(_with_gradient(probe, others)) - before:
        return True
    return zero.dim() != 1  # no parameter was hidden, but a matrix may still hide inputs; a vector is a bias


def _with_gradient(probe: Probe, names: Iterable[str]) -> list[str]:
    """The parameters among those with these names that the loss has a gradient for; all if it has none for any."""
    tensors = {name: tensor for name, tensor in probe.model.parameters if name in set(names) and tensor.requires_grad}
    if not tensors:
        return []
    source, target = probe.random_sources(4, SOURCE_LENGTH), probe.random_targets(4, TARGET_LENGTH + 1)
    loss = next_token_loss(probe, source, target)
    if not loss.requires_grad:  # forward is called without gradients
        return list(tensors)
    gradients = compute_gradients(loss, list(tensors.values()))
    pairs = zip(tensors, gradients, strict=True)
    return [name for name, gradient in pairs if gradient is not None and gradient.to_dense().any()]
