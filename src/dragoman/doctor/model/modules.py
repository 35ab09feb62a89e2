"""How the modules of a model are registered, what they keep between calls, and what they compute over a batch."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.module import register_module_parameter_registration_hook

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
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
    plain_modules,
    plain_tensors,
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
