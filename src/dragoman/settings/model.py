"""Settings of the model: its size and variants."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dragoman.settings.base import Probability, Settings, advanced

MAX_TABLE = 2**25
"""Largest number of entries in the table of sinusoids; no weights correspond to it, so no file limits its size."""

SINUSOIDS = ("sinusoidal", "fairseq")
"""Position encodings with a table of sinusoids."""


def _heads_divide_d_model(model: Model) -> str | None:
    uneven = model.d_model % model.heads
    return f"d_model = {model.d_model} is not divisible by heads = {model.heads}" if uneven else None


def _rotary_needs_pairs(model: Model) -> str | None:
    odd = model.positions == "rotary" and model.d_model // model.heads % 2
    return "rotary positions need an even number of dimensions per head (d_model / heads)" if odd else None


def _sinusoids_need_pairs(model: Model) -> str | None:
    if model.positions in SINUSOIDS and model.d_model % 2:
        return f"{model.positions} positions need an even d_model, not {model.d_model}"
    return "fairseq positions need d_model >= 4" if model.positions == "fairseq" and model.d_model < 4 else None


def _sinusoids_fit_into_memory(model: Model) -> str | None:
    large = model.positions in SINUSOIDS and model.max_length * model.d_model > MAX_TABLE
    return f"max_length * d_model must be at most {MAX_TABLE:,} with {model.positions} positions" if large else None


def _torch_supports_it(model: Model) -> str | None:
    if model.implementation != "torch":
        return None
    conditions = {
        "qkv_bias = true": model.qkv_bias,
        "final_norm = true": model.final_norm,
        "activation = 'relu' or 'gelu'": model.activation in ("relu", "gelu"),
        "positions = 'sinusoidal', 'fairseq' or 'learned'": model.positions != "rotary",
        "equal dropout, attention_dropout and activation_dropout": (
            model.dropout == model.attention_dropout == model.activation_dropout
        ),
    }
    needed = [condition for condition, met in conditions.items() if not met]
    return f"implementation = 'torch' needs {', '.join(needed)}" if needed else None


class Model(Settings):
    """The Transformer (Vaswani et al. 2017) and its variants."""

    rules = (
        _heads_divide_d_model,
        _rotary_needs_pairs,
        _sinusoids_need_pairs,
        _sinusoids_fit_into_memory,
        _torch_supports_it,
    )
    d_model: int = Field(512, ge=2, le=65_536, description="Width of the model.")
    heads: int = Field(8, ge=1, le=4096, description="Attention heads; must divide d_model.")
    d_ff: int = Field(2048, ge=1, le=1_000_000, description="Hidden width of the feed-forward layers.")
    encoder_layers: int = Field(6, ge=1, le=1000, description="Layers of the encoder.")
    decoder_layers: int = Field(6, ge=1, le=1000, description="Layers of the decoder.")
    norm: Literal["pre", "post"] = Field(
        "pre", description="Layer norm before each sublayer, x + f(norm(x)), or after it, norm(x + f(x))."
    )
    positions: Literal["sinusoidal", "learned", "rotary", "fairseq"] = Field(
        "sinusoidal",
        description="Position encoding: sinusoids or learned vectors added to the embeddings, or rotated queries and "
        "keys (rotary); fairseq has the sinusoids of M2M100 and NLLB-200.",
    )
    activation: Literal["relu", "gelu", "silu", "swiglu"] = Field(
        "relu", description="Activation of the feed-forward layers."
    )
    tie: Literal["all", "target", "none"] = Field(
        "all",
        description="Use one matrix for both embeddings and the output projection (all; needs text.joint), one for the "
        "target embedding and the output projection (target), or separate matrices (none).",
    )
    dropout: Probability = Field(0.1, description="Dropout on embeddings and sublayer outputs.")
    max_length: int = Field(
        512,
        ge=2,
        le=100_000,
        description="Maximum number of tokens in a sentence, end of sentence included; longer sources are truncated, "
        "with a warning.",
    )
    implementation: Literal["dragoman", "torch"] = advanced(
        "dragoman", description="Our modules, or torch.nn.Transformer with the same weights."
    )
    final_norm: bool = advanced(True, description="Another layer norm at the end of encoder and decoder.")
    norm_epsilon: float = advanced(1e-5, gt=0, le=1, description="Added to the variance in layer norms.")
    qkv_bias: bool = advanced(True, description="Biases in the query, key and value projections.")
    output_bias: bool = advanced(False, description="A bias in the projection to the target vocabulary.")
    embedding_init: Literal["normal", "xavier", "cooccurrence"] = advanced(
        "normal",
        description="Initial embeddings: normal with standard deviation d_model^-0.5, Xavier-uniform like the other "
        "matrices, or similar for tokens that are used similarly in the training text, on either side.",
    )
    qkv_init: Literal["separate", "joint"] = advanced(
        "separate",
        description="Initial query, key and value projections: three Xavier-uniform matrices, or parts of one, which "
        "are smaller by the square root of 2, as in torch.nn.MultiheadAttention.",
    )
    attention_dropout: Probability = advanced(0.0, description="Dropout on attention weights.")
    activation_dropout: Probability = advanced(0.0, description="Dropout inside the feed-forward layers.")
    attention: Literal["auto", "fused", "explicit"] = advanced(
        "auto",
        description="torch's fused attention (fused), softmax(QK^T)V step by step (explicit), or whichever is faster "
        "on the device (auto).",
    )
