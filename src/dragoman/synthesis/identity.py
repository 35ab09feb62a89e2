"""What decides the translations of a translator, so that those of an interrupted command can be used again."""

from __future__ import annotations

from typing import Any

from dragoman.bundle import Bundle
from dragoman.engines.nearest_neighbors.build import neighbor_corpus
from dragoman.settings import Decoding
from dragoman.system.build_cache import digest
from dragoman.system.version import __version__
from dragoman.translator import Translator


def identify_translator(translator: Translator) -> dict[str, Any]:
    """The program, the bundle that was read, the settings of the search, and the engine with its data type.

    Of the corpus of `decoding.neighbors`, the files count.
    """
    return {
        "dragoman": __version__,
        "bundle": identify_bundle(translator.bundle),
        "decoding": identify_search(translator.decoding),
        "engine": [translator.engine.name, translator.engine.weight_type],
        "neighbors": _identify_neighbors(translator),
    }


def _identify_neighbors(translator: Translator) -> list[Any]:
    reference = translator.decoding.neighbors
    return neighbor_corpus(translator.bundle, reference).fingerprint if reference is not None else []


def identify_bundle(bundle: Bundle) -> str:
    """The weights, the tokenizers, the direction and the training text of a bundle that was read from a disk."""
    assert bundle.digest, "a bundle in memory may be any other"
    return digest((bundle.digest, *bundle.recipe.data.languages, bundle.training_text))


def identify_search(decoding: Decoding) -> dict[str, Any]:
    """The settings that decide what a search finds; the others only change its speed."""
    return decoding.model_dump(exclude={"batch_tokens", "cache"})
