"""The names and layouts of weights in Marian and Pegasus models, and conversion in both directions.

Their sinusoidal positions are [sines | cosines]; dragoman's are interleaved. Residual connections and layer norms
treat all dimensions of the residual stream equally. So it is enough to permute those dimensions in every weight that
reads from the residual stream or writes to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.settings import Model


@dataclass(frozen=True)
class WeightMapping:
    """A tensor of Hugging Face's model and where it is in ours.

    Attributes:
        theirs: Its name in the Hugging Face model.
        ours: Its name in our model.
        stream_axis: The axis along which it has the d_model dimensions of the residual stream, if any.
        third: 0, 1 or 2 if it is the queries', keys' or values' third of our tensor.
    """

    theirs: str
    ours: str
    stream_axis: int | None = None
    third: int | None = None


def export_weights(weights: Mapping[str, Tensor], settings: Model) -> dict[str, Tensor]:
    """Our weights under the names of Hugging Face; biases that our model lacks are zeros.

    Args:
        weights: All parameters of our model; shared ones under each of their names.
        settings: Sizes and variants of the model.
    """
    order = _sines_first(settings.d_model)
    exported = {}
    for mapping in weight_mappings(settings):
        tensor = weights.get(mapping.ours)
        if tensor is None:
            assert mapping.ours.endswith("qkv.bias"), mapping.ours
            tensor = torch.zeros(3 * settings.d_model)
        if mapping.third is not None:
            tensor = tensor.chunk(3)[mapping.third]
        exported[mapping.theirs] = _permute(tensor, mapping.stream_axis, order).clone()
    return exported


def import_weights(weights: Mapping[str, Tensor], settings: Model) -> dict[str, Tensor]:
    """Weights of a Hugging Face model under our names.

    Raises:
        KeyError: A weight is missing.
    """
    order = _sines_first(settings.d_model).argsort()
    parts: dict[str, list[Tensor]] = {}
    for mapping in weight_mappings(settings):
        parts.setdefault(mapping.ours, []).append(_permute(weights[mapping.theirs], mapping.stream_axis, order))
    return {name: torch.cat(tensors) for name, tensors in parts.items()}


def _sines_first(d_model: int) -> Tensor:
    """The indices of our dimensions with sines, then of those with cosines, (d_model,)."""
    return torch.arange(d_model).view(-1, 2).T.flatten()


def _permute(tensor: Tensor, axis: int | None, order: Tensor) -> Tensor:
    return tensor if axis is None else tensor.index_select(axis, order)


def weight_mappings(settings: Model) -> Iterator[WeightMapping]:
    """Every tensor of a Hugging Face model except shared copies, fixed positions and the bias of the logits."""
    yield WeightMapping("model.encoder.embed_tokens.weight", "source_embedding.weight", 1)
    yield WeightMapping("model.decoder.embed_tokens.weight", "target_embedding.weight", 1)
    yield WeightMapping("lm_head.weight", "output.weight", 1)
    for side, layers in (("encoder", settings.encoder_layers), ("decoder", settings.decoder_layers)):
        for index in range(layers):
            yield from _layer(f"model.{side}.layers.{index}", f"{side}.{index}", decoder=side == "decoder")
        if settings.final_norm:
            yield from _writer(f"model.{side}.layer_norm", f"{side}_norm")


def _layer(theirs: str, ours: str, decoder: bool) -> Iterator[WeightMapping]:
    yield from _attention(f"{theirs}.self_attn", f"{ours}.attention")
    if decoder:
        yield from _attention(f"{theirs}.encoder_attn", f"{ours}.memory_attention")
    yield from _reader(f"{theirs}.fc1", f"{ours}.feed_forward.inner")
    yield from _writer(f"{theirs}.fc2", f"{ours}.feed_forward.outer")
    yield from _writer(f"{theirs}.final_layer_norm", f"{ours}.feed_forward_residual.norm")


def _attention(theirs: str, ours: str) -> Iterator[WeightMapping]:
    for third, name in enumerate("qkv"):
        yield from _reader(f"{theirs}.{name}_proj", f"{ours}.qkv", third)
    yield from _writer(f"{theirs}.out_proj", f"{ours}.output")
    yield from _writer(f"{theirs}_layer_norm", f"{ours}_residual.norm")


def _reader(theirs: str, ours: str, third: int | None = None) -> Iterator[WeightMapping]:
    """Weight and bias of a linear map whose input is the residual stream."""
    yield WeightMapping(f"{theirs}.weight", f"{ours}.weight", 1, third)
    yield WeightMapping(f"{theirs}.bias", f"{ours}.bias", None, third)


def _writer(theirs: str, ours: str) -> Iterator[WeightMapping]:
    """Weight and bias of a linear map or layer norm whose output is in the residual stream."""
    yield WeightMapping(f"{theirs}.weight", f"{ours}.weight", 0)
    yield WeightMapping(f"{theirs}.bias", f"{ours}.bias", 0)
