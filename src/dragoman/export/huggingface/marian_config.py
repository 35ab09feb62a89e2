"""The config.json of a Marian model: what dragoman does not support, and the recipe it corresponds to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dragoman.recipe import build_recipe
from dragoman.settings import Recipe
from dragoman.system.files import read_json

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "silu", "swish": "silu"}
"""Names in config.json, and in recipes."""


def unsupported(config: dict[str, Any]) -> list[str]:
    """All settings of a Marian model that our model cannot express."""
    allowed_values = {
        "model_type": ("marian",),
        "scale_embedding": (True,),
        "activation_function": tuple(ACTIVATIONS),
        "encoder_ffn_dim": (config.get("decoder_ffn_dim"),),
        "encoder_attention_heads": (config.get("decoder_attention_heads"),),
        "normalize_before": (False, None),
        "normalize_embedding": (False, None),
        "add_final_layer_norm": (False, None),
        "static_position_embeddings": (True, None),
    }
    return [
        f"{key} = {config.get(key)!r}: must be {' or '.join(repr(value) for value in values if value is not None)}"
        for key, values in allowed_values.items()
        if config.get(key) not in values
    ]


def recipe_from_config(directory: Path, config: dict[str, Any], joint: bool) -> Recipe:
    """The recipe of a bundle with this model; settings of its training are unknown.

    Args:
        directory: The model's directory; its name becomes the recipe's name.
        config: Its config.json.
        joint: Whether source and target share one vocabulary.
    """
    path = directory / "tokenizer_config.json"
    languages = read_json(path) if path.is_file() else {}
    name = directory.resolve().name
    limit = int(config["max_position_embeddings"])
    document = {
        "name": re.sub(r"[^A-Za-z0-9._-]+", "-", name).lstrip("-._") or "imported",
        "data": {
            "source_language": languages.get("source_lang") or "und",
            "target_language": languages.get("target_lang") or "und",
            "train": [f"imported from {name}"],
            "max_tokens": min(128, limit - 1),
        },
        "text": {"tokenizer": "unigram", "joint": joint},
        "model": _model_section(config, joint, limit),
        "training": {"steps": 1},
        "decoding": {"beam_size": config.get("num_beams") or 1, "max_length": min(256, limit)},
    }
    return build_recipe(document)


def _model_section(config: dict[str, Any], joint: bool, limit: int) -> dict[str, Any]:
    tied = config.get("tie_word_embeddings", True)
    shared = config.get("share_encoder_decoder_embeddings", True)
    return {
        "d_model": config["d_model"],
        "heads": config["encoder_attention_heads"],
        "d_ff": config["encoder_ffn_dim"],
        "encoder_layers": config["encoder_layers"],
        "decoder_layers": config["decoder_layers"],
        "norm": "post",
        "final_norm": False,
        "tie": "all" if tied and shared and joint else "target" if tied else "none",
        "output_bias": True,
        "activation": ACTIVATIONS[config["activation_function"]],
        "max_length": limit,
    }
