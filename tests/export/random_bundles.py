"""Bundles with random weights, in all model variants and with all kinds of tokenizers."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch.nn import Identity, LayerNorm

from conftest import fixed_captions
from dragoman.bundle import Bundle
from dragoman.model.build import build_model
from dragoman.model.layers import DecoderLayer
from dragoman.model.transformer import Transformer
from dragoman.recipe import build_recipe
from dragoman.settings import Recipe, Text
from dragoman.text.registry import train_tokenizers
from dragoman.text.tokenizer import Tokenizer

VARIANTS: dict[str, dict[str, Any]] = {
    "pre-norm, tied": {},
    "pre-norm, rotary": {"model.positions": "rotary"},
    "pre-norm, no final norm": {"model.final_norm": False, "model.tie": "target"},
    "post-norm": {"model.norm": "post", "model.final_norm": False},
    "post-norm, final norm": {"model.norm": "post", "model.norm_epsilon": 1e-6, "model.qkv_bias": False},
    "post-norm, two vocabularies": {
        "model.norm": "post",
        "model.final_norm": False,
        "model.tie": "none",
        "model.output_bias": True,
        "text.joint": False,
        "text.vocabulary_size": 380,
    },
    "learned positions, gelu": {"model.positions": "learned", "model.activation": "gelu", "model.qkv_bias": False},
    "rotary, swiglu": {"model.positions": "rotary", "model.activation": "swiglu", "model.output_bias": True},
    "torch's layers": {"model.implementation": "torch"},
    "words": {"text.tokenizer": "whitespace", "text.joint": False, "model.tie": "none", "text.minimum_frequency": 2},
    "unigram, silu": {"text.tokenizer": "unigram", "model.activation": "silu"},
    "placeholders": {"text.placeholders": True, "text.vocabulary_size": 450},
    "split words": {"text.pre_tokenizer": "whitespace", "text.lowercase": True},
}
"""Settings that differ from those of DOCUMENT, by name of the variant."""

DOCUMENT: dict[str, Any] = {
    "name": "random",
    "data": {"source_language": "de", "target_language": "en", "train": ["captions:train"], "max_tokens": 60},
    "text": {"vocabulary_size": 400},
    "model": {
        "d_model": 32,
        "heads": 4,
        "d_ff": 48,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "max_length": 150,
        "dropout": 0.0,
    },
    "training": {"steps": 1},
    "decoding": {"beam_size": 4, "max_length": 30, "length_penalty": 1.4},
}


@cache
def tokenizers(text: Text) -> tuple[Tokenizer, Tokenizer]:
    german, english = zip(*fixed_captions("train")[:300], strict=True)
    return train_tokenizers(german, english, text, source_language="de", target_language="en")


def make_bundle(variant: str = "pre-norm, tied", **options: Any) -> Bundle:
    """A bundle of a variant, with more settings if given (``model__heads=2``); no bias is 0, no gain of a norm is 1."""
    changes = VARIANTS[variant] | {name.replace("__", "."): value for name, value in options.items()}
    recipe = build_recipe(DOCUMENT, [f"{key}={str(value).lower()}" for key, value in changes.items()])
    source, target = tokenizers(recipe.text)
    return Bundle(recipe, random_model(recipe, source, target), source, target)


def random_model(recipe: Recipe, source: Tokenizer, target: Tokenizer) -> Transformer:
    """A model whose weights are all random."""
    sizes = len(source.vocabulary), len(target.vocabulary)
    model = build_model(recipe.model, *sizes, source.vocabulary.pad, seed=1).eval()
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.empty_like(parameter).normal_(std=0.15, generator=generator))
        _make_eos_likely(model, target.vocabulary.eos)
    return model


def _make_eos_likely(model: Transformer, eos: int) -> None:
    """Multiply the odds of eos by about e^3: with random weights, few translations would end before their limit."""
    last = model.decoder[-1]
    assert isinstance(last, DecoderLayer)
    norm = last.feed_forward_residual.norm if isinstance(model.decoder_norm, Identity) else model.decoder_norm
    assert isinstance(norm, LayerNorm)
    model.output.weight[eos] += 3 * norm.bias / norm.bias.square().sum()


@cache
def sentences() -> list[str]:
    """Sentences of various lengths to translate."""
    german = [source for source, _ in fixed_captions("test")[:12]]
    return [*german, " ".join(german[:3]), "Hund", "Ein 7 ßÄ Œ"]
