"""What the modules of a model show: how they are registered, what they keep, and what they compute in a call.

`note_structure` records one call. Its notes come from what modules and functions of torch compute, never from names.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.overrides import TorchFunctionMode

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.gradients import measure_effect
from dragoman.doctor.model.influence import NO_EFFECT, measure_batch_leak
from dragoman.doctor.model.probe import (
    SAME_SHAPE,
    SOURCE_LENGTH,
    TARGET_LENGTH,
    Forward,
    PredictionDifference,
    Probe,
    Tolerance,
    list_names,
    measure_difference,
    modules_of,
    plain_attributes,
    plain_modules,
    plain_tensors,
    submodules_of,
)
from dragoman.errors import UserError, counted


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


def check_kept_state(probe: Probe, source: Tensor, target: Tensor, tolerance: Tolerance) -> Iterator[Finding]:
    """Call the model twice with another call in between, without dropout and with fixed random numbers."""
    probe.without_dropout = probe.fixed_seed = True
    try:
        message = _describe_state(probe, source, target, tolerance)
    finally:
        probe.without_dropout = probe.fixed_seed = False
    if message:
        attributes = plain_tensors(probe.model.forward)
        kept = f"; tensors are kept in {', '.join(attributes)}" if attributes else ""
        yield make_finding("kept-state", f"{message}{kept}; nothing else was checked", {"attributes": attributes})


def _describe_state(probe: Probe, source: Tensor, target: Tensor, tolerance: Tolerance) -> str | None:
    """How the predictions depend on earlier calls; None if they do not."""
    other_source = probe.replace_words(source, probe.source_words)
    before, other = probe.predict(source, target), probe.predict(other_source, target)
    difference = measure_difference(before, probe.predict(source, target))
    if SAME_SHAPE.exceeded_by(difference):
        return (
            "after a call with another source, the same ids lead to predictions that differ by up to "
            f"{difference.probability:.2g} in probability"
        )
    if measure_difference(before, other).relative > NO_EFFECT:
        return None
    # the source has no effect: it is ignored, or replaced by that of an earlier call with as many sentences
    try:
        repeated = probe.predict(*(torch.cat([ids, ids[:1]]) for ids in (other_source, target)))[: len(source)]
    except UserError:
        return "the model uses the source of an earlier call, and fails for another number of sentences"
    used = tolerance.exceeded_by(measure_difference(other, repeated))
    return "the model uses the source of an earlier call with as many sentences" if used else None


CUT = TARGET_LENGTH // 2  # the first target position that is changed


def check_batch_statistics(probe: Probe) -> Iterator[Finding]:
    """Repeat the checks of leaks with batch normalization as in training: it then uses the statistics of the batch.

    It is an error if predictions depend on later target tokens. Only in an encoder, it is a warning.
    """
    norms = _norms_in_training(probe.model.forward)
    if not norms:
        return
    try:
        with _in_training_mode([norm for _, norm in norms]):
            batch, future = measure_batch_leak(probe), _measure_future_leak(probe)
    except UserError:  # the model fails in training mode, so that it cannot be trained with a leak
        return
    if not SAME_SHAPE.exceeded_by(batch):
        return
    leaks = SAME_SHAPE.exceeded_by(future)
    later = f" and on later target tokens (by up to {future.probability:.2g})" if leaks else ""
    classes = sorted({type(norm).__name__ for _, norm in norms})
    names = [name for name, _ in norms]
    yield make_finding(
        "batch-leak",
        f"in training, {' and '.join(classes)} uses statistics over all positions of the batch, so that predictions "
        f"depend on other sentences (by up to {batch.probability:.2g} in probability){later}: {list_names(names)}",
        {"probability": batch.probability, "relative": batch.relative, "modules": names, "future": leaks},
        severity="error" if leaks else "warning",
        cause="batch normalization computes its mean and variance over all positions of all sentences in training; in "
        "evaluation mode it uses stored averages, so that the leak disappears and translation differs from training",
        fix="use layer normalization (nn.LayerNorm), whose statistics are those of one position",
    )


def _norms_in_training(forward: Forward) -> list[tuple[str, nn.Module]]:
    """Batch normalization that train() switches from stored statistics to those of the batch, with names.

    It stays as it is in models that override train(), and usually if its parameters are frozen.
    """
    found: list[tuple[str, nn.Module]] = []
    for model in modules_of(forward):
        norms = [
            (name, module)
            for name, module in model.named_modules()
            if isinstance(module, _BatchNorm) and module.track_running_stats and not _is_frozen(module)
        ]
        if norms and not model.training:
            switched = _switched_by_train(model)
            found += [(name, module) for name, module in norms if module in switched]
    return found


def _is_frozen(module: nn.Module) -> bool:
    parameters = list(module.parameters())
    return bool(parameters) and not any(tensor.requires_grad for tensor in parameters)


def _switched_by_train(model: nn.Module) -> set[nn.Module]:
    """The modules of a model in evaluation mode that are in training mode after train(); the modes are restored."""
    modes = [(module, module.training) for module in model.modules()]
    model.train()
    switched = {module for module, training in modes if module.training and not training}
    model.eval()  # models that override train() may do more than set the modes
    for module, training in modes:
        module.training = training
    return switched


@contextmanager
def _in_training_mode(norms: Sequence[nn.Module]) -> Iterator[None]:
    """A context in which normalization is in training mode; its stored statistics are restored afterwards."""
    buffers = [(buffer, buffer.clone()) for norm in norms for buffer in norm.buffers()]
    for norm in norms:
        norm.training = True
    try:
        yield
    finally:
        for norm in norms:
            norm.training = False
        for buffer, value in buffers:
            buffer.copy_(value)


def _measure_future_leak(probe: Probe) -> PredictionDifference:
    """The effect of other target tokens in all sentences on the predictions before them."""
    source, target = probe.random_sources(4, SOURCE_LENGTH), probe.random_targets(4, TARGET_LENGTH)
    changed: Tensor = torch.cat([target[:, :CUT], probe.replace_words(target, probe.words)[:, CUT:]], dim=1)
    before, after = probe.predict(source, target), probe.predict(source, changed)
    return measure_difference(before[:, :CUT], after[:, :CUT])


PLACE = 1  # of the word in each sentence


def check_padding_index(probe: Probe) -> Iterator[Finding]:
    """Find embeddings whose padding_idx is the id of something else that they receive if a sentence contains it."""
    groups: dict[int, list[tuple[str, nn.Embedding]]] = defaultdict(list)
    for name, module in _trainable_embeddings(probe.model.forward):
        if module.padding_idx is not None and module.padding_idx != probe.model.pad_id:
            groups[module.padding_idx].append((name, module))
    for index, embeddings in groups.items():
        received = _received(probe, index, [module for _, module in embeddings])
        names = [name for name, module in embeddings if received[module]]
        if names:
            yield _finding(probe, index, names)


def _finding(probe: Probe, index: int, names: list[str]) -> Finding:
    pad_id = probe.model.pad_id
    return make_finding(
        "no-gradient",
        f"id {index} is not padding (pad_id = {pad_id}), but its embedding has no gradient as input, because of "
        f"padding_idx = {index} in {list_names(names)}",
        {"parameters": [f"{name}.weight" for name in names], "of": len(probe.model.parameters), "id": index},
        severity="warning",
        cause="padding_idx of nn.Embedding is another id than that of padding, so that the embedding of a word is "
        "never trained as input",
        fix=f"use nn.Embedding(…, padding_idx={pad_id}), or leave padding_idx out",
    )


def _trainable_embeddings(forward: Forward) -> list[tuple[str, nn.Embedding]]:
    """The embeddings of a model, with names, that are not frozen and that torch itself looks up."""
    return [
        (name, module)
        for model in modules_of(forward)
        for name, module in model.named_modules()
        if isinstance(module, nn.Embedding)
        and type(module).forward is nn.Embedding.forward
        and module.weight.requires_grad
    ]


def _received(probe: Probe, index: int, embeddings: list[nn.Embedding]) -> dict[nn.Embedding, bool]:
    """Whether each embedding receives an id because a source or target contains it.

    Embeddings of positions receive the same numbers for any words.
    """
    source, target = probe.random_sources(2, SOURCE_LENGTH), probe.random_targets(2, TARGET_LENGTH)
    other_source, other_target = source.clone(), target.clone()
    sizes = probe.model.source_vocabulary_size, probe.model.vocabulary_size
    sides = (source, other_source, probe.source_words), (target, other_target, probe.words)
    for (ids, others, words), size in zip(sides, sizes, strict=True):
        others[:, PLACE] = words[words != index][0]
        ids[:, PLACE] = index if index < size else others[0, PLACE]
    counts = _count_received(probe, index, embeddings, (source, target))
    other_counts = _count_received(probe, index, embeddings, (other_source, other_target))
    return {module: counts[module] > other_counts[module] for module in embeddings}


def _count_received(
    probe: Probe, index: int, embeddings: list[nn.Embedding], ids: tuple[Tensor, Tensor]
) -> Counter[nn.Embedding]:
    """How often each embedding receives an id in a call of the model."""
    counts: Counter[nn.Embedding] = Counter()

    def count(module: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
        (received,) = (*inputs, *options.values())
        assert isinstance(module, nn.Embedding)
        counts[module] += int((received == index).sum())

    hooks = [module.register_forward_pre_hook(count, with_kwargs=True) for module in embeddings]
    try:
        with torch.no_grad():
            probe.call(*ids)
    finally:
        for hook in hooks:
            hook.remove()
    return counts


# ---- notes on structure ----


def note_structure(probe: Probe, source: Tensor, target: Tensor, untrained: bool) -> Iterator[Finding]:
    """Record what a call computes, and note what a reader of the code would stop at."""
    record = _record(probe, source, target)
    if record is None:
        return
    yield from _note_norms(record)
    yield from _note_sharing(record)
    yield from _note_scale(record)
    yield from _note_softmax(record)
    yield from _note_heads(record)
    yield from _note_skipped(record)
    yield from _note_frequencies(probe, record)
    yield from _note_plain_tensors(probe, source, target)
    if untrained:
        yield from _note_drowned_positions(record)


@dataclass(frozen=True)
class _Call:
    """A call of a module: the tensors that it received, and what it returned."""

    module: nn.Module
    inputs: tuple[Tensor, ...]
    output: Any


_Numbers = tuple[int, int, int]
"""What identifies the numbers of a tensor, of any shape: where they are, how many, and how often they were changed."""


@dataclass(frozen=True)
class _Scores:
    """Attention scores before a softmax.

    Attributes:
        place: The module that computes them.
        factor: What the products of queries and keys are multiplied by.
        width: Numbers of a query.
        size: Root mean square of the numbers of queries before they are scaled.
        heads: How many heads the matrix of queries is used for.
        query: What the matrix of queries is multiplied by, and `key`: the same for keys.
    """

    place: str
    factor: float
    width: int
    size: float
    heads: int
    query: _Numbers | None
    key: _Numbers | None


class _Record:
    """What a call of a model computes."""

    def __init__(self, forward: Forward) -> None:
        self.names: dict[nn.Module, str] = {}
        self.parents: dict[nn.Module, set[tuple[nn.Module, str]]] = defaultdict(set)
        for name, module in submodules_of(forward):
            self.names.setdefault(module, name or type(module).__name__)
            for attribute, child in module._modules.items():
                if child is not None:
                    self.parents[child].add((module, attribute))
        self.lengths = {SOURCE_LENGTH, TARGET_LENGTH}  # of sequences; some models get padded ones
        self.calls: list[_Call] = []
        self.stack: list[nn.Module] = []
        self.scores: list[_Scores] = []
        self.wrong_softmax: dict[str, int] = {}  # modules, and the dimension of attention over which the softmax is
        self.angles: list[Tensor] = []
        self.sums: list[tuple[str, float, float]] = []  # module, size of embeddings of words, size of what is added

    @property
    def place(self) -> str:
        """The module that is being computed."""
        return self.names[self.stack[-1]] if self.stack else "the model"

    def calls_of(self, module: nn.Module) -> list[_Call]:
        """The calls of a module."""
        return [call for call in self.calls if call.module is module]


def _record(probe: Probe, source: Tensor, target: Tensor) -> _Record | None:
    """What one call of the model computes; None if no module is found, or if hooks disturb the model."""
    record = _Record(probe.model.forward)
    if not record.names:
        return None

    def enter(module: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
        record.stack.append(module)

    def leave(module: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any], output: Any) -> None:
        record.stack.pop()
        given = (each for each in (*inputs, *options.values()) if isinstance(each, Tensor))
        tensors = (each for each in given if not each.is_nested)
        record.calls.append(_Call(module, tuple(tensors), output))

    with ExitStack() as hooks:
        for module in record.names:
            if not isinstance(module, torch.jit.ScriptModule):
                hooks.callback(module.register_forward_pre_hook(enter, with_kwargs=True).remove)
                hooks.callback(module.register_forward_hook(leave, with_kwargs=True).remove)
        gradients = not probe.without_gradients  # they avoid the fast path of torch, which skips modules
        try:
            with _Arithmetic(record, (source, target)), torch.set_grad_enabled(gradients):
                probe.call(source, target)
        except UserError:
            return None
    return record


@dataclass
class _Fact:
    """What is known about a tensor: that it is a factor times something."""

    # "words": embeddings of words, "linear": the output of a linear layer, "scores": queries times keys, "weights": the
    # softmax of scores over another dimension than the last
    kind: str
    factor: float
    width: int = 0  # of the output of a linear layer, or of the queries of scores
    size: float = 0.0  # root mean square before it is multiplied
    heads: int = 1  # for which the linear layer is used
    given: _Numbers | None = None  # the input of the linear layer, of scores: that of queries
    key: _Numbers | None = None  # of scores: the input of the linear layer of keys
    place: str = ""  # of scores: the module that computes them


_SAME = frozenset(
    {
        "view",
        "reshape",
        "transpose",
        "permute",
        "contiguous",
        "split",
        "chunk",
        "unbind",
        "__getitem__",
        "unsqueeze",
        "squeeze",
        "expand",
        "repeat",
        "flatten",
        "unflatten",
        "clone",
        "to",
        "float",
        "swapaxes",
        "movedim",
        "select",
        "narrow",
        "view_as",
        "expand_as",
        "tensor_split",
        "masked_fill",
        "masked_fill_",
        "where",
        "type",
        "__get__",
        "repeat_interleave",
        "split_with_sizes",
        "swapdims",
        "moveaxis",
    }
)
"""Functions that move or hide numbers."""
_KEPT = frozenset({"dropout", "masked_fill", "masked_fill_", "contiguous", "clone", "to", "float", "nan_to_num"})
"""Functions after which attention weights have the same dimensions."""
_TIMES = frozenset({"mul", "mul_", "__mul__", "__rmul__", "__imul__", "multiply"})
_DIVIDE = frozenset({"div", "div_", "__truediv__", "__itruediv__", "true_divide", "divide", "__div__", "__idiv__"})
_ADD = frozenset({"add", "add_", "__add__", "__radd__", "__iadd__", "sub", "sub_", "__sub__", "__isub__"})
_PRODUCT = frozenset({"matmul", "__matmul__", "bmm"})


class _Arithmetic(TorchFunctionMode):
    """Follows the numbers of words, queries and keys through the functions of torch.

    A function that is not known ends the trace, so that nothing is noted about its result.
    """

    def __init__(self, record: _Record, ids: tuple[Tensor, Tensor]) -> None:
        super().__init__()
        self.record, self.ids = record, ids
        self.facts: dict[int, _Fact] = {}
        self.kept: list[Any] = []  # so that no other tensor gets the same id

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a function of torch, and note what is known about its result."""
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "einsum" and len(args) == 2 and isinstance(args[1], list | tuple):
            args = (args[0], *args[1])
        before = [self._fact(each) for each in args[:3]]
        self._look(name, func, args, kwargs, before)
        result = func(*args, **kwargs)
        fact = self._derive(name, func, args, kwargs, before, result)
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, Tensor):
                self.kept.append(tensor)
                if fact is not None:
                    self.facts[id(tensor)] = fact
                else:
                    self.facts.pop(id(tensor), None)
        return result

    def _fact(self, value: Any) -> _Fact | None:
        return self.facts.get(id(value)) if isinstance(value, Tensor) else None

    def _look(
        self, name: str, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], facts: list[_Fact | None]
    ) -> None:
        """Record scores before their softmax, sums of words and positions, and the angles of positions."""
        record = self.record
        if name in ("softmax", "exp") and facts and facts[0] is not None and facts[0].kind == "scores":
            self._record_scores(facts[0], 1.0)
        elif func is F.scaled_dot_product_attention and len(facts) > 1:
            width = args[0].shape[-1]
            product = self._scores(facts[0], facts[1], width)
            if product is not None:
                self._record_scores(product, kwargs.get("scale") or width**-0.5)
        elif name in _ADD and len(args) > 1:
            for words, other in ((0, 1), (1, 0)):
                fact = facts[words]
                is_words = fact is not None and fact.kind == "words" and facts[other] is None
                constant = isinstance(args[other], Tensor) and not args[other].requires_grad
                if is_words and constant and args[other].dim() > 1:
                    record.sums.append((record.place, _rms(args[words]), _rms(args[other])))
        elif name in ("sin", "cos") and args and isinstance(args[0], Tensor):
            record.angles.append(args[0].detach())

    def _derive(
        self,
        name: str,
        func: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        facts: list[_Fact | None],
        result: Any,
    ) -> _Fact | None:
        """What is known about the result of a function."""
        if func is F.linear:
            self.kept.append(args[0])
            heads = self._heads(args[0])
            return _Fact("linear", 1.0, result.shape[-1], _rms(result), heads, _numbers(args[0]))
        if func is F.embedding:
            ids = args[0] if args else kwargs["input"]
            self.record.lengths |= {size for size in ids.shape if size >= SOURCE_LENGTH}
            same = any(ids.shape in (own.shape, own.T.shape) and self._equal(ids, own) for own in self.ids)
            return _Fact("words", 1.0) if same else None
        fact = facts[0] if facts else None
        other = args[1] if len(args) > 1 else None
        if name == "einsum" and len(args) == 3:
            return self._scores(facts[1], facts[2], _contracted(args[0], args[1]))
        if fact is None:
            if name in _TIMES and len(args) > 1 and facts[1] is not None:
                return _multiplied(facts[1], args[0], 1)
            return None
        if fact.kind == "weights":
            if name in _PRODUCT and fact.width != args[0].dim() - 1:
                self.record.wrong_softmax[fact.place] = fact.width
            return fact if name in _KEPT else None
        if name == "softmax" and fact.kind == "scores":
            dimension = kwargs.get("dim", other)
            return _Fact("weights", 1.0, dimension % result.dim(), place=fact.place) if dimension is not None else None
        if name in _SAME:
            return fact
        if name in _TIMES:
            return _multiplied(fact, other, 1)
        if name in _DIVIDE:
            return _multiplied(fact, other, -1)
        if name in _PRODUCT:
            return self._scores(fact, facts[1], args[0].shape[-1])
        return fact if name in _ADD and fact.kind == "scores" else None

    def _heads(self, given: Tensor) -> int:
        """The heads in the input of a linear layer: (batch, length, heads, width) or (batch, heads, length, width)."""
        if given.dim() != 4:
            return 1
        first, second = given.shape[1:3]
        return first if second in self.record.lengths and first not in self.record.lengths else second

    def _scores(self, query: _Fact | None, key: _Fact | None, width: int) -> _Fact | None:
        if query is None or key is None or not query.kind == key.kind == "linear" or not width:
            return None
        heads = query.heads if width == query.width else 1  # otherwise, heads are split after the linear layer
        place = self.record.place
        return _Fact("scores", query.factor * key.factor, width, query.size, heads, query.given, key.given, place)

    def _record_scores(self, fact: _Fact, factor: float) -> None:
        self.record.scores.append(
            _Scores(fact.place, fact.factor * factor, fact.width, fact.size, fact.heads, fact.given, fact.key)
        )

    def _equal(self, ids: Tensor, own: Tensor) -> bool:
        ids = ids.detach().cpu()
        return (ids.shape == own.shape and torch.equal(ids, own)) or (
            ids.shape == own.T.shape and torch.equal(ids, own.T)
        )


def _multiplied(fact: _Fact, other: Any, power: int) -> _Fact | None:
    """A fact about a product or a quotient, if the other operand is one number."""
    try:
        number = float(other)
    except (TypeError, ValueError, RuntimeError):  # several numbers
        return None
    return None if number == 0 else replace(fact, factor=fact.factor * number**power)


def _contracted(equation: Any, operand: Tensor) -> int:
    """The size of the only letter of the first operand that the second one has, too, and the result does not."""
    if not isinstance(equation, str) or "->" not in equation or "." in equation:
        return 0
    inputs, output = equation.replace(" ", "").split("->")
    first, _, second = inputs.partition(",")
    letters = [letter for letter in first if letter in second and letter not in output]
    return operand.shape[first.index(letters[0])] if len(letters) == 1 else 0


def _numbers(tensor: Tensor) -> _Numbers:
    return tensor.data_ptr(), tensor.numel(), tensor._version


def _rms(tensor: Tensor) -> float:
    return float(tensor.detach().float().square().mean().sqrt())


NORM_RESIDUAL = 2e-3  # of the variance; a linear layer of random numbers leaves most of it


def _is_norm(call: _Call) -> bool:
    """Whether a module returns its input with mean 0 or not, size 1, and a gain and a bias for each element."""
    if not call.inputs or not isinstance(call.output, Tensor):
        return False
    x, y = call.inputs[0].detach().double(), call.output.detach().double()
    if x.shape != y.shape or x.dim() < 2 or x.shape[-1] < 4 or not x.is_floating_point():
        return False
    x, y = x.flatten(0, -2), y.flatten(0, -2)  # (positions, d_model)
    centered = x - x.mean(dim=-1, keepdim=True)
    for values in (centered, x):
        size = values.square().mean(dim=-1, keepdim=True).sqrt()
        if float(size.std() / size.mean().clamp_min(1e-9)) < 1e-3:
            continue  # the input has size 1 already, so that a norm looks like a gain
        z = values / size.clamp_min(1e-9)
        z, rest = z - z.mean(dim=0), y - y.mean(dim=0)
        gain = (z * rest).sum(dim=0) / z.square().sum(dim=0).clamp_min(1e-12)
        left = (rest - gain * z).square().sum() / rest.square().sum().clamp_min(1e-12)
        if float(rest.square().sum()) > 0 and float(left) < NORM_RESIDUAL:
            return True
    return False


def _norms(record: _Record) -> list[nn.Module]:
    """The modules that normalize, and contain no other modules."""
    called = dict.fromkeys(call.module for call in record.calls)
    return [
        module
        for module in called
        if not list(module.children()) and any(_is_norm(call) for call in record.calls_of(module)[:2])
    ]


def _note_norms(record: _Record) -> Iterator[Finding]:
    scalar = []
    for module in _norms(record):
        sizes = [parameter.numel() for parameter in module.parameters(recurse=False)]
        if sizes and set(sizes) == {1}:
            scalar.append(record.names[module])
    if scalar:
        yield make_finding(
            "scalar-norm",
            f"{counted(len(scalar), 'norm')} with one number as gain or bias for all elements: {list_names(scalar)}",
            {"modules": scalar},
        )


def _note_sharing(record: _Record) -> Iterator[Finding]:
    """Modules that are used at several places. Embeddings, outputs and positions may be shared on purpose."""
    norms = set(_norms(record))
    found: dict[nn.Module, str] = {}
    for module in dict.fromkeys(call.module for call in record.calls):
        calls = record.calls_of(module)
        if module in norms and list(module.parameters()):
            what = "norm"
        elif _matrices(module) >= 2 and not any(isinstance(each, nn.Embedding) for each in module.modules()):
            what = "module"
        else:
            continue
        places = record.parents[module]
        if not places or not all(_is_sequence(record, call) for call in calls):  # a loop over sentences or positions
            continue
        if len(calls) > 1 and (len(places) > 1 or len(calls) > _calls_of_parents(record, module)):
            found[module] = f"one {what} is used {len(calls)} times in a call, at different places"
            if what == "module" and len({tuple(each.shape for each in call.inputs) for call in calls}) > 1:
                found[module] = "one attention is used for the target itself and for the source"
    inner = {child for module in found for child in module.modules() if child is not module}
    outer = {module: what for module, what in found.items() if module not in inner}
    for what in dict.fromkeys(outer.values()):
        modules = [record.names[module] for module in outer if outer[module] == what]
        yield make_finding("shared-module", f"{what}: {list_names(modules)}", {"modules": modules})


def _is_sequence(record: _Record, call: _Call) -> bool:
    """Whether a module receives all positions of a source or a target."""
    return any(record.lengths & set(each.shape) for each in call.inputs)


def _matrices(module: nn.Module) -> int:
    return sum(parameter.dim() > 1 for parameter in module.parameters())


def _calls_of_parents(record: _Record, module: nn.Module) -> int:
    """How often the modules that contain this one are called; lists of modules are not called themselves."""
    total = 0
    for parent in {parent for parent, _ in record.parents[module]}:
        calls = len(record.calls_of(parent))
        total += calls or _calls_of_parents(record, parent)
    return total or 1


MIN_QUERY = 1.5  # times 1 / √width; T5 has queries of that size and does not divide


def _note_scale(record: _Record) -> Iterator[Finding]:
    wrong: dict[str, list[str]] = defaultdict(list)
    for scores in record.scores:
        right = scores.width**-0.5
        unscaled = abs(scores.factor - 1) < 1e-6
        if abs(scores.factor / right - 1) < 0.01 or (unscaled and scores.size < MIN_QUERY * right):
            continue
        divisor = 1 / scores.factor
        by = "not divided by anything" if unscaled else f"divided by {divisor:.4g} = √{divisor**2:.4g}"
        wrong[f"{by}, but a query has {scores.width} numbers (√{scores.width} = {1 / right:.4g})"].append(scores.place)
    for message, places in wrong.items():
        names = list(dict.fromkeys(places))
        yield make_finding("attention-scale", f"scores are {message}: {list_names(names)}", {"modules": names})


def _note_softmax(record: _Record) -> Iterator[Finding]:
    """Attention whose weights sum to 1 over another dimension than that over which values are added up."""
    if record.wrong_softmax:
        dimensions = sorted(set(record.wrong_softmax.values()))
        yield make_finding(
            "softmax-dimension",
            f"the softmax of attention is over dimension {' or '.join(map(str, dimensions))}, but values are added up "
            f"over the last one: {list_names(record.wrong_softmax)}",
            {"modules": list(record.wrong_softmax)},
        )


def _note_heads(record: _Record) -> Iterator[Finding]:
    """Matrices that are multiplied by the numbers of each head, instead of by those of all."""
    found = {scores.place: scores for scores in record.scores if scores.heads > 1}
    for heads, width in dict.fromkeys((scores.heads, scores.width) for scores in found.values()):
        names = [name for name, scores in found.items() if (scores.heads, scores.width) == (heads, width)]
        yield make_finding(
            "shared-module",
            f"one matrix computes the queries of all {heads} heads, each from only {width} of {heads * width} "
            f"numbers: {list_names(names)}",
            {"modules": names},
            cause="the layers of queries, keys and values are applied after the heads are split, as in "
            "nn.Linear(head_dim, head_dim), so that all heads have the same matrices and see different numbers",
            fix="project with nn.Linear(d_model, d_model), then split the heads",
        )


def _note_skipped(record: _Record) -> Iterator[Finding]:
    """Cross-attention whose queries come from the input of the self-attention before it."""
    read = {scores.query for scores in record.scores if scores.query is not None and scores.query == scores.key}
    names = [scores.place for scores in record.scores if scores.query in read and scores.query != scores.key]
    if names:
        yield make_finding(
            "skipped-sublayer",
            "the cross-attention reads the numbers that the self-attention reads, not its result: "
            f"{list_names(dict.fromkeys(names))}",
            {"modules": names},
        )


DROWNED = 5.0  # words times as large as positions; in the paper, they are about as large


def _note_drowned_positions(record: _Record) -> Iterator[Finding]:
    for place, words, positions in record.sums:
        if words > DROWNED * positions > 0:
            yield make_finding(
                "drowned-positions",
                f"the embeddings of words are {words / positions:.0f} times as large as the positions that are added "
                f"to them: {place}",
                {"module": place, "ratio": words / positions},
            )
            return


MIN_RATES = 4
SLOWEST = 1e-6  # radians per position; the slowest rate of the paper is about 1e-4


def _note_frequencies(probe: Probe, record: _Record) -> Iterator[Finding]:
    rates = [found for angles in record.angles if (found := _rates_of_angles(angles)) is not None]
    rates += [found for table in _tables(probe) if (found := _rates_of_table(table)) is not None]
    for each in rates:
        message = _describe_rates(each)
        if message:
            yield make_finding("position-frequencies", message, {"rates": [round(rate, 9) for rate in each[:8]]})
            return


def _tables(probe: Probe) -> Iterator[Tensor]:
    """Tensors that training does not change, as matrices."""
    for root in modules_of(probe.model.forward):
        frozen = (parameter for parameter in root.parameters() if not parameter.requires_grad)
        plain = (tensor for _, values in plain_attributes(probe.model.forward) for tensor in values)
        for tensor in (*root.buffers(), *frozen, *plain):
            if isinstance(tensor, Tensor) and tensor.is_floating_point() and tensor.squeeze().dim() == 2:
                yield tensor.detach().cpu().double().squeeze()


def _rates_of_angles(angles: Tensor) -> list[float] | None:
    """Radians per position, if a matrix contains positions times rates."""
    table = angles.detach().cpu().double().squeeze()
    if table.dim() != 2 or len(table) < 4 or table.shape[1] < MIN_RATES:
        return None
    rates = table[1] - table[0]
    steps = torch.arange(len(table), dtype=torch.float64)[:, None]
    return rates.tolist() if torch.allclose(table - table[0], steps * rates, rtol=1e-4, atol=1e-4) else None


def _rates_of_table(table: Tensor) -> list[float] | None:
    """Radians per position of the columns that are sines, if half of a table is."""
    if len(table) < 8 or float(table.abs().max()) > 1.001:
        return None
    table = table[:64]
    steps = torch.arange(len(table), dtype=torch.float64)
    rates = []
    for column in table.T:
        first = math.asin(max(-1.0, min(1.0, float(column[1]))))
        for rate in (first, math.copysign(math.pi, first) - first):
            if abs(float(column[0])) < 1e-4 and torch.allclose((steps * rate).sin(), column, rtol=0, atol=5e-3):
                rates.append(rate)
                break
    return rates if len(rates) >= max(MIN_RATES, 0.4 * table.shape[1]) else None


def _describe_rates(rates: Sequence[float]) -> str:
    """What is wrong with the rates of the sines; empty if they fall geometrically, as in the paper."""
    if max(rates) - min(rates) < 1e-6 * abs(rates[0]):
        return f"all frequencies of the positions are equal, {rates[0]:.3g} radians per position"
    differences = [(b - a + math.pi) % (2 * math.pi) - math.pi for a, b in pairwise(rates)]
    spread = max(differences) - min(differences)
    step = abs(sum(differences) / len(differences))
    if step > 1e-3 and spread < 0.02 * step:
        return f"the frequencies of the positions are evenly spaced, {step:.3g} radians apart, not geometric"
    smallest = min(abs(rate) for rate in rates)
    if 0 < smallest < SLOWEST:
        return f"the slowest position frequency is {smallest:.1g} radians per position, not about 1e-4"
    return ""


def _note_plain_tensors(probe: Probe, source: Tensor, target: Tensor) -> Iterator[Finding]:
    """Change tensors in plain attributes, except those that each call creates again, and look at predictions."""
    before = [(name, tensor) for name, values in plain_attributes(probe.model.forward) for tensor in values]
    with torch.no_grad():
        probe.call(source, target)
    after = {id(tensor) for _, values in plain_attributes(probe.model.forward) for tensor in values}
    found: dict[str, Tensor] = {}
    for name, tensor in before:
        is_float = isinstance(tensor, Tensor) and not isinstance(tensor, nn.Parameter) and tensor.is_floating_point()
        if name in found or not is_float or id(tensor) not in after or tensor.numel() == 0:
            continue
        if measure_effect(probe, [tensor], source, target).relative > NO_EFFECT:
            found[name] = tensor
    if found:
        listed = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in found.items())
        yield make_finding(
            "plain-tensor",
            f"predictions depend on tensors that are neither parameters nor buffers: {listed}",
            {"attributes": list(found)},
        )
