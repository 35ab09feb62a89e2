"""The specification of a bundle's model for CTranslate2: the same weights under CTranslate2's names."""

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
from dragoman.model.attention import MultiHeadAttention
from dragoman.model.layers import DecoderLayer, EncoderLayer, FeedForward, SublayerConnection
from dragoman.model.positions import LearnedPositions, sinusoids
from dragoman.settings import Model

FORBIDDEN = -1e4
"""Added to the logits of tokens that no translation may contain: e^-10000 is 0 in float32, and float16 can store it."""

POSITIONS = 1024
"""Minimum length of a table of sinusoids, because CTranslate2 truncates sources to this length by default."""

_ACTIVATIONS = {
    "relu": specs.Activation.RELU,
    "gelu": specs.Activation.GELU,
    "silu": specs.Activation.SWISH,
    "swiglu": specs.Activation.SWISH,
}


def specify(bundle: Bundle) -> specs.TransformerSpec:
    """The complete and validated specification of a bundle's model, with copies of its weights."""
    model, settings = bundle.model, bundle.model.settings
    spec = specs.TransformerSpec(_encoder(settings), _decoder(settings))
    for stack, embedding, positions, norm in (
        (spec.encoder, model.source_embedding, model.source_positions, model.encoder_norm),
        (spec.decoder, model.target_embedding, model.target_positions, model.decoder_norm),
    ):
        (stack.embeddings[0] if stack is spec.encoder else stack.embeddings).weight = _array(embedding.weight)
        if settings.positions != "rotary":
            stack.position_encodings.encodings = _encodings(positions, settings)
        if isinstance(norm, nn.LayerNorm):
            _set_final_norm(stack, norm)
    layers = (*model.encoder, *model.decoder)
    for layer_spec, layer in zip((*spec.encoder.layer, *spec.decoder.layer), layers, strict=True):
        assert isinstance(layer, EncoderLayer | DecoderLayer)
        _set_layer(layer_spec, layer)
    _set_output(spec.decoder.projection, bundle)
    _set_vocabularies(spec, bundle)
    spec.validate()
    return spec


def _encoder(settings: Model) -> TransformerEncoderSpec:
    return TransformerEncoderSpec(settings.encoder_layers, settings.heads, **_variant(settings))


def _decoder(settings: Model) -> TransformerDecoderSpec:
    return TransformerDecoderSpec(settings.decoder_layers, settings.heads, **_variant(settings))


def _variant(settings: Model) -> dict[str, Any]:
    return {
        "pre_norm": settings.norm == "pre",
        "no_final_norm": not settings.final_norm,
        "activation": _ACTIVATIONS[settings.activation],
        "ffn_glu": settings.activation == "swiglu",
        "rotary_dim": 0 if settings.positions == "rotary" else None,  # 0: all dimensions of a head, in pairs
    }


def _encodings(positions: nn.Module, settings: Model) -> NDArray[np.float32]:
    """The table of positions, (positions, d_model); sinusoids continue beyond the model's limit."""
    if isinstance(positions, LearnedPositions):
        return _array(positions.table)
    return _array(sinusoids(max(settings.max_length, POSITIONS), settings.d_model))


def _set_final_norm(stack: Any, norm: nn.LayerNorm) -> None:
    if not hasattr(stack, "layer_norm"):  # post-norm: the class has no such field, but the engine reads it
        object.__setattr__(stack, "layer_norm", LayerNormSpec())
    _set_norm(stack.layer_norm, norm)


def _set_layer(spec: Any, layer: EncoderLayer | DecoderLayer) -> None:
    _set_attention(spec.self_attention, layer.attention, layer.attention_residual)
    if isinstance(layer, DecoderLayer):
        _set_attention(spec.attention, layer.memory_attention, layer.memory_attention_residual)
    _set_feed_forward(spec.ffn, layer.feed_forward, layer.feed_forward_residual)


def _set_attention(spec: MultiHeadAttentionSpec, attention: MultiHeadAttention, residual: SublayerConnection) -> None:
    """Self-attention has one matrix for q, k and v; attention to the memory has one for q, and one for k and v."""
    weight = _array(attention.qkv.weight)  # (3 * d_model, d_model)
    d_model = weight.shape[1]
    bias = np.zeros(3 * d_model, np.float32) if attention.qkv.bias is None else _array(attention.qkv.bias)
    cuts = [] if len(spec.linear) == 2 else [d_model]
    parts = zip(np.split(weight, cuts), np.split(bias, cuts), strict=True)
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
    """The projection to the vocabulary, with a bias that keeps unk, pad and bos out of translations."""
    output, vocabulary = bundle.model.output, bundle.target.vocabulary
    spec.weight = _array(output.weight)
    spec.bias = np.zeros(len(vocabulary), np.float32) if output.bias is None else _array(output.bias)
    spec.bias[[vocabulary.unk, vocabulary.pad, vocabulary.bos]] = FORBIDDEN


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
    """A copy, because quantization changes weights in place."""
    array: NDArray[np.float32] = tensor.detach().float().cpu().numpy().copy()
    return array
