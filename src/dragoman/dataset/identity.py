"""Identities of prepared corpora: everything that determines their content, as plain data.

The names of entries in the build cache are digests of identities.

Two runs with the same identity share an entry; any change to it builds a new one.
"""

from __future__ import annotations

import unicodedata
from importlib import metadata
from typing import Any

from dragoman.dataset.tokenizer_training import Tokenizers
from dragoman.settings import Data, Recipe, Text
from dragoman.system.resumable import digest

FORMAT = 2
"""Increase this number if a change prepares the same text differently; older entries are then ignored."""


def split_identity(recipe: Recipe, fingerprint: list[Any]) -> dict[str, Any]:
    """What decides the split of the training corpora: their content, languages, filters and seed."""
    data = recipe.data
    held_out = [data.validation_pairs, data.validation_block, recipe.training.seed]
    candidates = [each.weight >= data.least_held_out_weight for each in data.weighted]
    if not all(candidates):
        held_out += candidates
    return {
        "format": FORMAT,
        "languages": [data.source_language, data.target_language],
        "corpora": fingerprint,
        "max_characters": data.max_characters,
        "held_out": None if data.validation else held_out,
    }


def tokenizers_identity(split: dict[str, Any], recipe: Recipe) -> dict[str, Any]:
    """What decides the tokenizers that are trained on a split."""
    text, augmentation = recipe.text, recipe.training.augmentation
    identity = {"split": split, "text": text.model_dump(), "library": tokenizer_library(text)}
    capitals = [augmentation.upper_case, augmentation.title_case]
    return identity | {"capitals": capitals} if any(capitals) else identity


def pairs_identity(split: dict[str, Any], tokenizers: Tokenizers, data: Data, text: Text) -> dict[str, Any]:
    """What decides the ids of the training pairs of a split."""
    return {
        "split": split,
        "tokenizers": [digest(tokenizer.to_json()) for tokenizer in tokenizers],
        "max_tokens": data.max_tokens,
        "library": tokenizer_library(text),
    }


def lexicon_identity(split: dict[str, Any], pairs: int) -> dict[str, Any]:
    """What decides the lexicon that is learned from a number of pairs of a split."""
    return {"split": split, "pairs": pairs, "library": f"simplemma {metadata.version('simplemma')}"}


def tokenizer_library(text: Text) -> str:
    """The library that splits text into tokens, with its version; for whitespace, the version of Unicode."""
    name = {"spacy": "spacy", "whitespace": None}.get(text.tokenizer, "tokenizers")
    try:
        return f"{name} {metadata.version(name)}" if name else f"Unicode {unicodedata.unidata_version}"
    except metadata.PackageNotFoundError:  # the tokenizer itself reports this, with how to install it
        return f"no {name}"
