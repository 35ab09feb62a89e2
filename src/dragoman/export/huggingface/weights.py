"""Where each weight of ours is in Marian and Pegasus models, and back.

Their positions are [sine | cosine], ours take turns. Residual connections and layer norms treat every
dimension of the stream alike, so it is enough to put the dimensions of all that reads or writes the
stream into another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.settings import Model


@dataclass(frozen=True)
class Place:
    """A tensor of theirs: ours of that name, or a third of it (queries, keys or values)."""

    theirs: str
    ours: str
    stream: int | None = None  # the axis along which it has d_model entries of the stream
    third: int | None = None


def export_weights(weights: Mapping[str, Tensor], settings: Model) -> dict[str, Tensor]:
    """Weights of ours (each under every name it has), under their names; biases that ours lack are zeros."""
    order = _order(settings.d_model)
    exported = {}
    for place in places(settings):
        tensor = weights.get(place.ours)
        if tensor is None:
            assert place.ours.endswith("qkv.bias"), place.ours
            tensor = torch.zeros(3 * settings.d_model)
        if place.third is not None:
            tensor = tensor.chunk(3)[place.third]
        exported[place.theirs] = _sorted(tensor, place.stream, order).clone()
    return exported


def import_weights(weights: Mapping[str, Tensor], settings: Model) -> dict[str, Tensor]:
    """Weights of theirs under our names."""
    order = _order(settings.d_model).argsort()
    thirds: dict[str, list[Tensor]] = {}
    for place in places(settings):
        thirds.setdefault(place.ours, []).append(_sorted(weights[place.theirs], place.stream, order))
    return {name: torch.cat(parts) for name, parts in thirds.items()}


def _order(d_model: int) -> Tensor:
    """Our dimensions in their order: sines, then cosines, (d_model,)."""
    return torch.arange(d_model).view(-1, 2).T.flatten()


def _sorted(tensor: Tensor, axis: int | None, order: Tensor) -> Tensor:
    return tensor if axis is None else tensor.index_select(axis, order)


def places(settings: Model) -> Iterator[Place]:
    """Every tensor of theirs, but for shared ones, fixed positions and the bias of the logits."""
    yield Place("model.encoder.embed_tokens.weight", "source_embedding.weight", 1)
    yield Place("model.decoder.embed_tokens.weight", "target_embedding.weight", 1)
    yield Place("lm_head.weight", "output.weight", 1)
    for side, layers in (("encoder", settings.encoder_layers), ("decoder", settings.decoder_layers)):
        for index in range(layers):
            yield from _layer(f"model.{side}.layers.{index}", f"{side}.{index}", decoder=side == "decoder")
        if settings.final_norm:
            yield from _pair(f"model.{side}.layer_norm", f"{side}_norm", 0)


def _layer(theirs: str, ours: str, decoder: bool) -> Iterator[Place]:
    yield from _attention(f"{theirs}.self_attn", f"{ours}.attention")
    if decoder:
        yield from _attention(f"{theirs}.encoder_attn", f"{ours}.memory_attention")
    for their_part, our_part, axis in (("fc1", "inner", 1), ("fc2", "outer", 0)):
        yield from _pair(f"{theirs}.{their_part}", f"{ours}.feed_forward.{our_part}", axis)
    yield from _pair(f"{theirs}.final_layer_norm", f"{ours}.feed_forward_residual.norm", 0)


def _attention(theirs: str, ours: str) -> Iterator[Place]:
    for third, name in enumerate("qkv"):
        yield Place(f"{theirs}.{name}_proj.weight", f"{ours}.qkv.weight", 1, third)
        yield Place(f"{theirs}.{name}_proj.bias", f"{ours}.qkv.bias", None, third)
    yield from _pair(f"{theirs}.out_proj", f"{ours}.output", 0)
    yield from _pair(f"{theirs}_layer_norm", f"{ours}_residual.norm", 0)


def _pair(theirs: str, ours: str, axis: int) -> Iterator[Place]:
    """Weight and bias of what writes to the stream (axis 0) or reads from it (1: its bias is not of the stream)."""
    yield Place(f"{theirs}.weight", f"{ours}.weight", axis)
    yield Place(f"{theirs}.bias", f"{ours}.bias", 0 if axis == 0 else None)
