"""torch.nn.Transformer with our weights gives our hidden states."""

from __future__ import annotations

import math

import pytest
import torch
from tiny_models import PAD, TINY, padded_source, random_ids, tiny_model
from torch import Tensor, nn

from dragoman.model.positions import sinusoids
from dragoman.model.transformer import Transformer

NAMES = {
    "attention.qkv.weight": "self_attn.in_proj_weight",
    "attention.qkv.bias": "self_attn.in_proj_bias",
    "attention.output": "self_attn.out_proj",
    "memory_attention.qkv.weight": "multihead_attn.in_proj_weight",
    "memory_attention.qkv.bias": "multihead_attn.in_proj_bias",
    "memory_attention.output": "multihead_attn.out_proj",
    "feed_forward.inner": "linear1",
    "feed_forward.outer": "linear2",
    "attention_residual.norm": "norm1",
}
"""Our names in a layer -> torch's; the norms after these depend on the kind of layer."""
ENCODER = {**NAMES, "feed_forward_residual.norm": "norm2"}
DECODER = {**NAMES, "memory_attention_residual.norm": "norm2", "feed_forward_residual.norm": "norm3"}


def torch_name(name: str) -> str:
    """torch's name of a parameter in a stack of ours."""
    if name.startswith(("encoder_norm.", "decoder_norm.")):
        return name.replace("_norm.", ".norm.")
    stack, number, rest = name.split(".", 2)
    table = ENCODER if stack == "encoder" else DECODER
    ours = max((ours for ours in table if rest.startswith(ours)), key=len)
    return f"{stack}.layers.{number}.{table[ours]}{rest.removeprefix(ours)}"


def torch_copy(ours: Transformer, norm_first: bool) -> nn.Transformer:
    """torch's Transformer with our weights."""
    arguments = (TINY["d_model"], TINY["heads"], TINY["d_ff"], 0.0)
    layer = nn.TransformerEncoderLayer(*arguments, batch_first=True, norm_first=norm_first)
    encoder = nn.TransformerEncoder(
        layer, TINY["encoder_layers"], nn.LayerNorm(TINY["d_model"]), enable_nested_tensor=False
    )
    theirs = nn.Transformer(
        *arguments[:2],
        dim_feedforward=TINY["d_ff"],
        num_decoder_layers=TINY["decoder_layers"],
        dropout=0.0,
        custom_encoder=encoder,
        batch_first=True,
        norm_first=norm_first,
    )
    weights = {
        torch_name(name): parameter
        for name, parameter in ours.state_dict().items()
        if name.startswith(("encoder", "decoder"))
    }
    theirs.load_state_dict(weights)
    return theirs.double()


def embedded(embedding: nn.Embedding, ids: Tensor) -> Tensor:
    positions = sinusoids(ids.shape[1], TINY["d_model"]).double()
    vectors: Tensor = embedding(ids) * math.sqrt(TINY["d_model"])
    return vectors + positions


@pytest.mark.parametrize("attention", ["explicit", "fused"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_hidden_states_are_those_of_torch(norm: str, attention: str) -> None:
    ours = tiny_model(norm=norm, attention=attention)
    theirs = torch_copy(ours, norm_first=norm == "pre")
    source, target = padded_source(7, 4, 5), random_ids(3, 6)
    padding = source == PAD
    hidden = theirs(
        embedded(ours.source_embedding, source),
        embedded(ours.target_embedding, target),
        tgt_mask=torch.ones(6, 6, dtype=torch.bool).triu(1),  # torch: True = may not attend
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
    )
    torch.testing.assert_close(ours.hidden(source, target), hidden)
