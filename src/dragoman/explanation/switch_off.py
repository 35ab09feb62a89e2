"""A translator without some of its attention heads and layers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.model.attention import MultiHeadAttention
from dragoman.model.capture import KINDS
from dragoman.model.layers import DecoderLayer, EncoderLayer, SublayerConnection
from dragoman.model.transformer import Transformer
from dragoman.system.uninitialized import WithoutInitialWeights

Head = tuple[str, int, int]
"""A kind of attention (see `KINDS`), a layer and a head, both from 0."""

Layer = tuple[str, int]
"""'encoder' or 'decoder', and a layer, from 0."""


def switch_off(bundle: Bundle, heads: Collection[Head] = (), layers: Collection[Layer] = ()) -> Bundle:
    """The same translator without some heads and layers; the given one does not change.

    A head that is off adds nothing to the output of its attention (Michel et al. 2019, "Are sixteen heads really
    better than one?", eq. 1). A layer that is off returns its input. Their attention is still computed and recorded.

    >>> translator = dragoman.Translator(switch_off(bundle, heads=[("cross", 2, 0)], layers=[("encoder", 1)]))

    Raises:
        UserError: The model does not have one of them.
    """
    model = _plain_copy(bundle.model)
    for kind, layer, head in set(heads):
        _silence_head(_find_attention(model, kind, layer), head)
    for part, layer in set(layers):
        _skip_layer(_find_layer(model, part, layer))
    return replace(bundle, weights=model, json_sha256="", digest="")  # no longer that of the files


def _plain_copy(model: Transformer) -> Transformer:
    """The plain implementation of a model, with the same weights in memory."""
    sizes = model.source_embedding.num_embeddings, model.output.out_features
    with WithoutInitialWeights():
        copied = Transformer(model.settings, *sizes, model.source_pad)
    own = dict(copied.named_parameters(remove_duplicate=False))
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if name in own:  # torch's implementation has more names for the same parameters
            owner, _, attribute = name.rpartition(".")
            setattr(copied.get_submodule(owner), attribute, parameter)
    return copied.to(model.target_embedding.weight.device).eval()


def _find_layer(model: Transformer, part: str, layer: int) -> EncoderLayer | DecoderLayer:
    stacks: dict[str, Sequence[EncoderLayer] | Sequence[DecoderLayer]] = {
        "encoder": model.encoder_layers,
        "decoder": model.decoder_layers,
    }
    layers = stacks.get(part)
    if layers is None:
        raise UserError(f"there is no part {part!r} with layers, only 'encoder' and 'decoder'")
    return layers[_checked(layer, len(layers), f"layer of the {part}")]


def _find_attention(model: Transformer, kind: str, layer: int) -> MultiHeadAttention:
    if kind not in KINDS:
        raise UserError(f"there is no attention {kind!r}, only {', '.join(map(repr, KINDS))}")
    found = _find_layer(model, "encoder" if kind == "encoder" else "decoder", layer)
    return found.memory_attention if kind == "cross" and isinstance(found, DecoderLayer) else found.attention


def _checked(index: int, count: int, name: str) -> int:
    if not 0 <= index < count:
        raise UserError(f"there is no {name} with the index {index}: there are {count}, counted from 0")
    return index


def _silence_head(attention: MultiHeadAttention, head: int) -> None:
    """Replace the output projection by one that ignores a head."""
    width = attention.output.in_features // attention.heads
    begin = width * _checked(head, attention.heads, "head")
    weight = attention.output.weight.detach().clone()  # (d_model, heads * width)
    weight[:, begin : begin + width] = 0
    attention.output.weight = nn.Parameter(weight, requires_grad=False)


def _skip_layer(layer: EncoderLayer | DecoderLayer) -> None:
    """Let each sublayer add nothing to its input; post-norm would change the sum, which is the input."""
    for module in layer.children():
        if isinstance(module, SublayerConnection):
            module.add_module("dropout", Zeros())
            if not module.pre_norm:
                module.add_module("norm", nn.Identity())


class Zeros(nn.Module):
    """Returns zeros."""

    def forward(self, x: Tensor) -> Tensor:
        """The shape of x."""
        return torch.zeros_like(x)
