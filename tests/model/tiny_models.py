"""Tiny Transformers whose every parameter matters, and ids to feed them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dragoman.model.build import build_model
from dragoman.model.transformer import Transformer
from dragoman.settings import Model

PAD, SIZE = 1, 11
TINY: dict[str, Any] = {"d_model": 8, "heads": 2, "d_ff": 12, "encoder_layers": 2, "decoder_layers": 2}
VARIANTS = [
    {"norm": "post", "final_norm": False, "qkv_bias": False, "tie": "none", "output_bias": True},
    {"norm": "pre", "positions": "learned", "activation": "gelu", "tie": "target"},
    {"norm": "pre", "positions": "rotary", "activation": "swiglu", "tie": "all"},
    {"norm": "post", "activation": "silu", "tie": "target"},
]
"""Settings in which every option takes each of its values at least once."""


def tiny_model(**options: Any) -> Transformer:
    """In float64 and eval mode, with biases and gains that differ from their initial zeros and ones."""
    model = build_model(Model.model_validate({**TINY, "max_length": 20, **options}), SIZE, SIZE, PAD, seed=1)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.empty_like(parameter).normal_(std=0.3, generator=generator))
    return model.double().eval()


def random_ids(*shape: int, seed: int = 3) -> Tensor:
    """Ids without padding."""
    return torch.randint(PAD + 1, SIZE, shape, generator=torch.Generator().manual_seed(seed))


def padded_source(*lengths: int) -> Tensor:
    """Ids, (sentences, longest), padded after the length of each sentence."""
    ids = random_ids(len(lengths), max(lengths))
    return ids.masked_fill(torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None], PAD)
