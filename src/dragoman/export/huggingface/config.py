"""The config.json of a model of Hugging Face, and the recipe it corresponds to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dragoman.recipe import build_recipe
from dragoman.settings import Recipe
from dragoman.settings.data import IMPORTED
from dragoman.system.files import read_json

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "silu", "swish": "silu"}
"""Names in config.json, and in recipes."""


def common_values(config: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The values of config.json that every model must have, for `require_support`."""
    return {
        "scale_embedding": (True,),
        "activation_function": tuple(ACTIVATIONS),
        "encoder_ffn_dim": (config.get("decoder_ffn_dim"),),
        "encoder_attention_heads": (config.get("decoder_attention_heads"),),
    }


def recipe_from_config(
    directory: Path, config: dict[str, Any], languages: tuple[str, str], joint: bool, model: dict[str, Any]
) -> Recipe:
    """The recipe of a bundle with this model; settings of its training are unknown.

    Args:
        directory: The model's directory; its name becomes the recipe's name.
        config: Its config.json.
        languages: The languages to translate from and into.
        joint: Whether source and target share one vocabulary.
        model: Settings of the model that config.json does not contain.
    """
    name = directory.resolve().name
    limit = int(config["max_position_embeddings"])
    document = {
        "name": re.sub(r"[^A-Za-z0-9._-]+", "-", name).lstrip("-._") or "imported",
        "data": {
            "source_language": languages[0],
            "target_language": languages[1],
            "train": [f"{IMPORTED} {name}"],
            "max_tokens": min(128, limit - 1),
        },
        "text": {"tokenizer": "unigram", "joint": joint},
        "model": {**_model_section(config, limit), **model},
        "training": {"steps": 1},
        "decoding": {"beam_size": _beam_size(directory, config), "max_length": min(256, limit)},
    }
    return build_recipe(document)


def _beam_size(directory: Path, config: dict[str, Any]) -> int:
    """The beam size in generation_config.json, which transformers 5 writes, or in config.json, as older ones wrote."""
    path = directory / "generation_config.json"
    generation = read_json(path) if path.is_file() else {}
    return generation.get("num_beams") or config.get("num_beams") or 1


def _model_section(config: dict[str, Any], limit: int) -> dict[str, Any]:
    return {
        "d_model": config["d_model"],
        "heads": config["encoder_attention_heads"],
        "d_ff": config["encoder_ffn_dim"],
        "encoder_layers": config["encoder_layers"],
        "decoder_layers": config["decoder_layers"],
        "activation": ACTIVATIONS[config["activation_function"]],
        "max_length": limit,
    }
