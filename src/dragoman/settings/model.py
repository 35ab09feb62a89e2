"""Settings: sizes and variants of the model."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dragoman.settings.base import Probability, Settings


def _heads_divide_d_model(model: Model) -> str | None:
    uneven = model.d_model % model.heads
    return f"d_model = {model.d_model} is not divisible by heads = {model.heads}" if uneven else None


def _rotary_turns_pairs(model: Model) -> str | None:
    odd = model.positions == "rotary" and model.d_model // model.heads % 2
    return "rotary positions need an even number of dimensions a head (d_model / heads)" if odd else None


def _sinusoids_come_in_pairs(model: Model) -> str | None:
    odd = model.positions == "sinusoidal" and model.d_model % 2
    return f"sinusoidal positions need an even d_model, not {model.d_model}" if odd else None


def _torch_can_be_it(model: Model) -> str | None:
    if model.implementation != "torch":
        return None
    reasons = {
        "qkv_bias = true": model.qkv_bias,
        "final_norm = true": model.final_norm,
        "activation = 'relu' or 'gelu'": model.activation in ("relu", "gelu"),
        "positions = 'sinusoidal' or 'learned'": model.positions != "rotary",
        "equal dropout, attention_dropout and activation_dropout": (
            model.dropout == model.attention_dropout == model.activation_dropout
        ),
    }
    needed = [reason for reason, met in reasons.items() if not met]
    return f"implementation = 'torch' needs {', '.join(needed)}" if needed else None


class Model(Settings):
    """The Transformer (Vaswani et al. 2017) and its variants."""

    rules = (_heads_divide_d_model, _rotary_turns_pairs, _sinusoids_come_in_pairs, _torch_can_be_it)
    implementation: Literal["dragoman", "torch"] = Field(
        "dragoman", description="Our own modules, or torch.nn.Transformer on the same weights."
    )
    d_model: int = Field(512, ge=2, description="Width of the residual stream.")
    heads: int = Field(8, ge=1, description="Attention heads; must divide d_model.")
    d_ff: int = Field(2048, ge=1, description="Hidden width of the feed-forward layers.")
    encoder_layers: int = Field(6, ge=1, description="Layers of the encoder.")
    decoder_layers: int = Field(6, ge=1, description="Layers of the decoder.")
    norm: Literal["pre", "post"] = Field(
        "pre", description="Layer norm before each sublayer, x + f(norm(x)), or after it, norm(x + f(x))."
    )
    final_norm: bool = Field(True, description="One more layer norm at the end of each stack.")
    norm_epsilon: float = Field(1e-5, gt=0, description="Added to the variance in layer norms.")
    qkv_bias: bool = Field(True, description="Biases on the query, key and value projections.")
    output_bias: bool = Field(False, description="A bias on the projection to the target vocabulary.")
    tie: Literal["all", "target", "none"] = Field(
        "all",
        description="Share one matrix among both embeddings and the output (all; needs text.joint), between target "
        "embedding and output (target), or not at all (none).",
    )
    embedding_init: Literal["normal", "xavier"] = Field(
        "normal", description="Initial embeddings: normal with deviation d_model^-0.5, or Xavier-uniform like the rest."
    )
    qkv_init: Literal["separate", "joint"] = Field(
        "separate",
        description="Initial query, key and value projections: three Xavier-uniform matrices, or parts of one, smaller "
        "by the square root of 2, as torch.nn.MultiheadAttention has them.",
    )
    activation: Literal["relu", "gelu", "silu", "swiglu"] = Field(
        "relu", description="Activation of the feed-forward layers."
    )
    positions: Literal["sinusoidal", "learned", "rotary"] = Field(
        "sinusoidal", description="How positions enter: added to the embeddings, or rotating queries and keys."
    )
    max_length: int = Field(
        512,
        ge=2,
        description="Most tokens of a sentence, end of sentence included; longer sources are cut with a warning.",
    )
    dropout: Probability = Field(0.1, description="Dropout on embeddings and sublayer outputs.")
    attention_dropout: Probability = Field(0.0, description="Dropout on attention weights.")
    activation_dropout: Probability = Field(0.0, description="Dropout inside the feed-forward layers.")
    attention: Literal["auto", "fused", "explicit"] = Field(
        "auto",
        description="torch's fused attention, softmax(QK^T)V step by step, or what is faster on the device (auto).",
    )
