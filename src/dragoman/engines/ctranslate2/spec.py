"""A bundle's model as a CTranslate2 specification: the same weights under the names of CTranslate2."""

from __future__ import annotations

from typing import Any

import numpy as np
from ctranslate2 import specs
from ctranslate2.specs.attention_spec import MultiHeadAttentionSpec
from ctranslate2.specs.common_spec import LayerNormSpec, LinearSpec
from ctranslate2.specs.transformer_spec import FeedForwardSpec, TransformerDecoderSpec, TransformerEncoderSpec
from numpy.typing import NDArray
from torch import Tensor, nn

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.model.attention import MultiHeadAttention
from dragoman.model.layers import DecoderLayer, EncoderLayer, FeedForward, SublayerConnection
from dragoman.model.positions import LearnedPositions, sinusoids
from dragoman.settings import Model
from dragoman.settings.model import SINUSOIDS

FORBIDDEN = -1e4
"""Bias of tokens that must not occur in translations: e^-10000 is 0 in float32, and -10000 is finite in float16."""

MIN_POSITIONS = 1024
"""Smallest length of the table of sinusoids: by default, CTranslate2 reads sources of up to 1024 tokens."""

_ACTIVATIONS = {
    "relu": specs.Activation.RELU,
    "gelu": specs.Activation.GELU,
    "silu": specs.Activation.SWISH,
    "swiglu": specs.Activation.SWISH,
}


def specify(bundle: Bundle) -> specs.TransformerSpec:
    """The complete specification of a bundle's model, with copies of its weights.

    Raises:
        UserError: CTranslate2 does not have the model's position encoding.
    """
    model, settings = bundle.model, bundle.model.settings
    options = _options(settings)
    encoder = TransformerEncoderSpec(settings.encoder_layers, settings.heads, **options)
    layer = bundle.attention_rows().layer
    decoder = TransformerDecoderSpec(  # the attention that it returns is the mean over all heads of this layer
        settings.decoder_layers, settings.heads, alignment_layer=layer, alignment_heads=0, **options
    )
    encoder.embeddings[0].weight = _array(model.source_embedding.weight)
    decoder.embeddings.weight = _array(model.target_embedding.weight)
    _set_positions(encoder, model.source_positions, settings)
    _set_positions(decoder, model.target_positions, settings)
    _set_final_norm(encoder, model.encoder_norm)
    _set_final_norm(decoder, model.decoder_norm)
    for layer_spec, layer in zip((*encoder.layer, *decoder.layer), (*model.encoder, *model.decoder), strict=True):
        assert isinstance(layer, EncoderLayer | DecoderLayer)
        _set_layer(layer_spec, layer)
    _set_output(decoder.projection, bundle)
    spec = specs.TransformerSpec(encoder, decoder)
    _set_vocabularies(spec, bundle)
    spec.validate()
    return spec


def _options(settings: Model) -> dict[str, Any]:
    """The variant of encoder and decoder, as arguments of their specifications."""
    return {
        "pre_norm": settings.norm == "pre",
        "no_final_norm": not settings.final_norm,
        "activation": _ACTIVATIONS[settings.activation],
        "ffn_glu": settings.activation == "swiglu",
        "rotary_dim": 0 if settings.positions == "rotary" else None,  # 0: all dimensions of a head, interleaved
    }


def _set_positions(stack: Any, positions: nn.Module, settings: Model) -> None:
    """Set the table that is added to the embeddings, (positions, d_model); rotary frequencies need no table."""
    if settings.positions in SINUSOIDS:
        table = sinusoids(max(settings.max_length, MIN_POSITIONS), settings.d_model, settings.positions == "fairseq")
        stack.position_encodings.encodings = _array(table)
    elif settings.positions == "learned":
        assert isinstance(positions, LearnedPositions)
        stack.position_encodings.encodings = _array(positions.table)
    elif settings.positions != "rotary":
        raise UserError(f"CTranslate2 does not support model.positions = {settings.positions!r}")


def _set_final_norm(stack: Any, norm: nn.Module) -> None:
    """Set the norm at the end of the encoder or decoder, if there is one."""
    if not isinstance(norm, nn.LayerNorm):
        return
    if not hasattr(stack, "layer_norm"):  # post-norm: the specification lacks this field, but the engine reads it
        object.__setattr__(stack, "layer_norm", LayerNormSpec())
    _set_norm(stack.layer_norm, norm)


def _set_layer(spec: Any, layer: EncoderLayer | DecoderLayer) -> None:
    _set_attention(spec.self_attention, layer.attention, layer.attention_residual)
    if isinstance(layer, DecoderLayer):
        _set_attention(spec.attention, layer.memory_attention, layer.memory_attention_residual)
    _set_feed_forward(spec.ffn, layer.feed_forward, layer.feed_forward_residual)


def _set_attention(spec: MultiHeadAttentionSpec, attention: MultiHeadAttention, residual: SublayerConnection) -> None:
    """Set the weights: self-attention has one matrix for q, k and v; memory attention one for q, one for k and v."""
    weight = _array(attention.qkv.weight)  # (3 * d_model, d_model)
    d_model = weight.shape[1]
    bias = np.zeros(3 * d_model, np.float32) if attention.qkv.bias is None else _array(attention.qkv.bias)
    splits = [] if len(spec.linear) == 2 else [d_model]  # the last linear map is the output
    parts = zip(np.split(weight, splits), np.split(bias, splits), strict=True)
    for linear, (linear_weight, linear_bias) in zip(spec.linear[:-1], parts, strict=True):
        linear.weight, linear.bias = linear_weight, linear_bias
    _set_linear(spec.linear[-1], attention.output)
    _set_norm(spec.layer_norm, residual.norm)


def _set_feed_forward(spec: FeedForwardSpec, layer: FeedForward, residual: SublayerConnection) -> None:
    if layer.activation == "swiglu":  # CTranslate2 has two matrices instead of one
        weights, biases = _array(layer.inner.weight), _array(layer.inner.bias)
        spec.linear_0.weight, spec.linear_0_noact.weight = np.split(weights, 2)
        spec.linear_0.bias, spec.linear_0_noact.bias = np.split(biases, 2)
    else:
        _set_linear(spec.linear_0, layer.inner)
    _set_linear(spec.linear_1, layer.outer)
    _set_norm(spec.layer_norm, residual.norm)


def _set_output(spec: LinearSpec, bundle: Bundle) -> None:
    """Set the projection to the vocabulary, with a bias that excludes unk, pad and bos, as our search does."""
    output, target = bundle.model.output, bundle.target
    spec.weight = _array(output.weight)
    spec.bias = np.zeros(len(target.vocabulary), np.float32) if output.bias is None else _array(output.bias)
    spec.bias[target.forbidden_ids] = FORBIDDEN


def _set_linear(spec: LinearSpec, linear: nn.Linear) -> None:
    spec.weight, spec.bias = _array(linear.weight), _array(linear.bias)


def _set_norm(spec: LayerNormSpec, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _set_vocabularies(spec: specs.TransformerSpec, bundle: Bundle) -> None:
    spec.register_source_vocabulary(bundle.source.vocabulary.tokens)
    spec.register_target_vocabulary(bundle.target.vocabulary.tokens)
    specials = bundle.target.vocabulary.specials
    spec.config.unk_token = specials.unk
    spec.config.bos_token = spec.config.decoder_start_token = specials.bos
    spec.config.eos_token = specials.eos
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = bundle.model.settings.norm_epsilon


def _array(tensor: Tensor) -> NDArray[np.float32]:
    """A copy in float32, because quantization changes arrays in place."""
    array: NDArray[np.float32] = tensor.detach().float().cpu().numpy().copy()
    return array
