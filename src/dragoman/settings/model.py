"""Settings of the model: its size and variants."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dragoman.settings.base import Probability, Rule, Settings, advanced

MAX_TABLE = 2**25
"""Largest number of entries in the table of sinusoids; no weights correspond to it, so no file limits its size."""

SINUSOIDS = ("sinusoidal", "fairseq")
"""Position encodings with a table of sinusoids."""


class Model(Settings):
    """The Transformer (Vaswani et al. 2017) and its variants."""

    rules = (
        Rule(lambda model: model.d_model % model.heads, "d_model = {0.d_model} is not divisible by heads = {0.heads}"),
        Rule(
            lambda model: model.positions == "rotary" and model.d_model // model.heads % 2,
            "rotary positions need an even number of dimensions per head (d_model / heads)",
        ),
        Rule(
            lambda model: model.positions in SINUSOIDS and model.d_model % 2,
            "{0.positions} positions need an even d_model, not {0.d_model}",
        ),
        Rule(
            lambda model: model.positions == "fairseq" and model.d_model == 2,
            "fairseq positions need d_model >= 4",
        ),
        Rule(
            lambda model: model.positions in SINUSOIDS and model.max_length * model.d_model > MAX_TABLE,
            f"max_length * d_model must be at most {MAX_TABLE:,} with {{0.positions}} positions",
        ),
        Rule(
            lambda model: (
                model.implementation == "torch"
                and not (
                    model.qkv_bias
                    and model.final_norm
                    and model.activation in ("relu", "gelu")
                    and model.positions != "rotary"
                    and model.dropout == model.attention_dropout == model.activation_dropout
                )
            ),
            "implementation = 'torch' needs qkv_bias = true, final_norm = true, activation = 'relu' or 'gelu', "
            "positions = 'sinusoidal', 'fairseq' or 'learned', and equal dropout, attention_dropout and "
            "activation_dropout",
        ),
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
