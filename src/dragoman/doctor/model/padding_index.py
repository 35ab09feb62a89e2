"""Whether nn.Embedding takes a word for padding, so that the embedding of that word is never trained."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.attributes import modules_of
from dragoman.doctor.model.parameters import list_names
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, Forward, Probe

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
