"""Bundles of models with several directions, as training makes them, with random weights.

The languages are German, English and a made-up relative of German, with the code of Silesian: CLDR knows little of it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import Any

import torch
from random_bundles import DOCUMENT, random_model

from conftest import fixed_captions
from dragoman.bundle import Bundle
from dragoman.corpus.pair import Languages
from dragoman.doctor.input import describe_text
from dragoman.languages.identify import learn_profiles
from dragoman.recipe import build_recipe
from dragoman.settings import Text
from dragoman.text.multilingual import MultilingualTokenizer, name_direction
from dragoman.text.registry import train_multilingual

CODES = ("de", "en", "szl")
DIRECTIONS = list(permutations(CODES, 2))
_SPELLINGS = {"sch": "ś", "ei": "y", "ch": "x", "ie": "ij", "er": "ar", "en": "yn", "ä": "e", "ß": "s", "u": "ů"}


def relative_of_german(text: str) -> str:
    """The same words in another spelling, by rule, as in a related language."""
    for ours, theirs in _SPELLINGS.items():
        text = text.replace(ours, theirs)
    return text


@cache
def texts(split: str = "train", count: int = 300) -> dict[str, list[str]]:
    """The same sentences in each language."""
    german, english = (list(side) for side in zip(*fixed_captions(split)[:count], strict=True))
    return {"de": german, "en": english, "szl": list(map(relative_of_german, german))}


@cache
def tokenizers(text: Text) -> tuple[MultilingualTokenizer, MultilingualTokenizer]:
    return train_multilingual(texts(), text)


def make_many(directions: list[Languages] = DIRECTIONS, **options: Any) -> Bundle:
    """A bundle that was trained for these directions, with what training stores of each."""
    first = directions[0]
    data = DOCUMENT["data"] | {
        "source_language": first[0],
        "target_language": first[1],
        "directions": [list(each) for each in directions],
        "train": [
            {"source": f"train.{source}", "target": f"train.{target}", "languages": [source, target]}
            for source, target in dict.fromkeys(tuple(sorted(each)) for each in directions)
        ],
    }
    options["model__output_bias"] = True
    changes = [f"{name.replace('__', '.')}={str(value).lower()}" for name, value in options.items()]
    recipe = build_recipe(DOCUMENT | {"name": "many", "data": data}, changes)
    source, target = tokenizers(recipe.text)
    model = random_model(recipe, source, target)
    with torch.no_grad():
        model.source_embedding.weight[source.all_language_ids] *= 5  # so that the language makes a difference
        byte_tokens = [index for token, index in target.vocabulary.ids.items() if token.startswith("<0x")]
        model.output.bias[byte_tokens] -= 50  # libraries decode invalid UTF-8 differently
    sides = source.with_direction(first, "source"), target.with_direction(first, "target")
    return replace(
        Bundle(recipe, model, *sides),
        facts={name_direction(each): _facts(each, number) for number, each in enumerate(directions)},
        profiles=learn_profiles(texts()),
    )


def _facts(languages: Languages, number: int) -> dict[str, Any]:
    sources, targets = (texts()[code] for code in languages)
    described = describe_text(sources, targets, languages)
    score = {"bleu": 10.0 + number, "chrf": 30.0 + number, "chrf_pp": 28.0 + number, "wrong_language": 0.01}
    return {
        "scores": {"dev": score},
        "training_text": described.model_dump(),
        "alignment": {"layer": number % 2, "shifted": False},
        "confidence": {},
    }
