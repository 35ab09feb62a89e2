"""A bundle's model as a Marian, Pegasus or M2M100 model, with its generation config."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import (
    GenerationConfig,
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    PegasusConfig,
    PegasusForConditionalGeneration,
    PreTrainedModel,
)

from dragoman.bundle import Bundle
from dragoman.export.huggingface.weights import export_weights
from dragoman.search.constraints import max_target_length
from dragoman.text.multilingual import language_ids

DECODING_SETTINGS = ("beam_size", "length_penalty", "max_length", "min_length", "no_repeat_ngram")
"""The decoding settings in the generation config. Its length penalty is a different formula, length^alpha."""


def convert_model(bundle: Bundle) -> PreTrainedModel:
    """The model with the bundle's weights and generation config, in evaluation mode."""
    settings = bundle.model.settings
    model = _initialize(bundle)
    weights = export_weights(dict(bundle.model.named_parameters(remove_duplicate=False)), settings)
    bias = {} if settings.positions == "fairseq" else {"final_logits_bias": _output_bias(bundle)}
    loaded = model.load_state_dict({**weights, **bias}, strict=False)
    assert not loaded.unexpected_keys, loaded.unexpected_keys
    missing = [name for name in loaded.missing_keys if "embed_positions" not in name and "shared" not in name]
    assert not missing, missing
    model.generation_config = _generation_config(bundle)
    return model.eval()


def _initialize(bundle: Bundle) -> Any:
    """A model of the right type and size, with random weights."""
    tie, config = bundle.model.settings.tie, _config(bundle)
    with torch.random.fork_rng(devices=[]):
        if bundle.model.settings.positions == "fairseq":
            return M2M100ForConditionalGeneration(M2M100Config(**config, tie_word_embeddings=tie == "all"))
        if bundle.model.settings.norm == "pre":
            return PegasusForConditionalGeneration(PegasusConfig(**config, tie_word_embeddings=tie == "all"))
        config["decoder_vocab_size"] = len(bundle.target.vocabulary)
        config["share_encoder_decoder_embeddings"] = tie == "all"
        config["tie_word_embeddings"] = tie != "none"
        return MarianMTModel(MarianConfig(**config))


def _config(bundle: Bundle) -> dict[str, Any]:
    """The settings that Marian, Pegasus and M2M100 have in common."""
    settings, vocabulary = bundle.model.settings, bundle.target.vocabulary
    return {
        "vocab_size": len(bundle.source.vocabulary),
        "d_model": settings.d_model,
        "encoder_layers": settings.encoder_layers,
        "decoder_layers": settings.decoder_layers,
        "encoder_ffn_dim": settings.d_ff,
        "decoder_ffn_dim": settings.d_ff,
        "encoder_attention_heads": settings.heads,
        "decoder_attention_heads": settings.heads,
        "max_position_embeddings": settings.max_length,
        "activation_function": settings.activation,
        "scale_embedding": True,
        "dropout": settings.dropout,
        "attention_dropout": settings.attention_dropout,
        "activation_dropout": settings.activation_dropout,
        "encoder_layerdrop": 0.0,
        "decoder_layerdrop": 0.0,
        "pad_token_id": vocabulary.pad,
        "bos_token_id": vocabulary.bos,
        "eos_token_id": vocabulary.eos,
        "forced_eos_token_id": vocabulary.eos,
        "decoder_start_token_id": vocabulary.bos,
    }


def max_translation_length(bundle: Bundle) -> int:
    """Most tokens of the translation of the longest source, eos included."""
    limit = bundle.model.settings.max_length
    return max_target_length(limit, bundle.recipe.decoding, limit)


def _output_bias(bundle: Bundle) -> Tensor:
    bias = bundle.model.output.bias
    return torch.zeros(1, len(bundle.target.vocabulary)) if bias is None else bias.detach()[None]


def _generation_config(bundle: Bundle) -> GenerationConfig:
    """The decoding settings of the recipe that a generation config can express."""
    vocabulary, decoding = bundle.target.vocabulary, bundle.recipe.decoding
    return GenerationConfig(
        bos_token_id=vocabulary.bos,
        eos_token_id=vocabulary.eos,
        pad_token_id=vocabulary.pad,
        decoder_start_token_id=vocabulary.bos,
        forced_bos_token_id=next(iter(language_ids(bundle.target)), None),
        forced_eos_token_id=vocabulary.eos,
        suppress_tokens=vocabulary.forbidden_ids,
        num_beams=decoding.beam_size,
        length_penalty=decoding.length_penalty if decoding.beam_size > 1 else None,  # refused for greedy search
        max_length=max_translation_length(bundle) + 1,  # transformers counts bos
        min_new_tokens=decoding.min_length or None,
        no_repeat_ngram_size=decoding.no_repeat_ngram or None,
    )
