"""Recipes with strange values are refused with a message, or they train."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest
from isolation import describe_failures, run_cases
from mutations import STRANGE, mutate_json

from dragoman.recipe import build_recipe
from dragoman.settings import Recipe
from dragoman.system.files import write_text
from dragoman.training.run.run import train


@pytest.mark.slow
def test_mutated_recipes(recipe_document: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest) -> None:
    count, seed = request.config.getoption("--recipes"), request.config.getoption("--case-seed")
    document = _complete(recipe_document, tmp_path)
    outcomes = list(run_cases(try_mutated_recipe, (seed, document, tmp_path / "run"), count))
    refused = sum(outcome.status == "refused" for outcome in outcomes)
    print(f"\n{count:,} mutated recipes: {refused:,} refused (--case-seed={seed})")
    # A large model that was accepted needs its memory.
    assert not (failures := describe_failures(outcomes, limited=("refused",))), f"--case-seed={seed}\n{failures}"
    assert count / 5 < refused < count


def try_mutated_recipe(case: int, seed: int, document: dict[str, Any], run: Path) -> None:
    """Change values of a recipe, and train it for two steps if it is valid and small."""
    generator, document = Random(f"{seed} {case}"), copy.deepcopy(document)
    if generator.random() < 0.3:
        document = mutate_json(document, generator)
    else:
        for _ in range(generator.choice((1, 1, 2))):
            _set_value(document, generator)
    recipe = build_recipe(document)
    if _is_large(recipe):
        return
    short = {"epochs": None, "minutes": None, "steps": 2, "precision": "float32", "device": "cpu", "threads": 1}
    recipe = recipe.model_copy(update={"training": recipe.training.model_copy(update=short)})
    shutil.rmtree(run, ignore_errors=True)
    assert train(recipe, run)


def _set_value(document: dict[str, Any], generator: Random) -> None:
    """Set a random key to a limit, next to a limit, to one of its alternatives, or to a strange value."""
    name = generator.choice(("data", "text", "model", "training", "decoding"))
    section: Any = Recipe.model_fields[name].annotation
    key, field = generator.choice(list(section.model_fields.items()))
    names = "ge", "gt", "le", "lt"
    limits = [getattr(item, name) for item in field.metadata for name in names if hasattr(item, name)]
    values = [limit + change for limit in limits for change in (-1, 0, 1)]
    if not values or generator.random() < 0.3:
        values = [*STRANGE, *get_args(field.annotation)]
    document.setdefault(name, {})[key] = generator.choice(values)


def _is_large(recipe: Recipe) -> bool:
    """Whether training and searching with this valid recipe takes long, however short the corpus is."""
    model, training, decoding = recipe.model, recipe.training, recipe.decoding
    layers = model.encoder_layers + model.decoder_layers
    hypotheses = max(decoding.beam_size, decoding.mbr_samples)
    groups = training.length_groups * training.accumulation
    width = max(model.d_model, model.d_ff, model.max_length, recipe.text.vocabulary_size)
    return layers > 50 or hypotheses > 50 or width > 10_000 or groups > 1000


def _complete(document: dict[str, Any], directory: Path) -> dict[str, Any]:
    """The tiny recipe with all keys, and with corpora so short that no search takes long."""
    recipe = build_recipe(
        document, ["training.steps=2", "training.validations=1", "model.max_length=40", "data.max_tokens=39"]
    ).to_dict()
    for split, size in (("train", 60), ("validation", 3), ("test", 3)):
        for language in ("de", "en"):
            lines = Path(document["data"][split][0].format(lang=language)).read_text("utf-8").splitlines()
            write_text(directory / f"{split}.{language}", "".join(f"{line}\n" for line in lines[:size]))
        recipe["data"][split] = [f"{directory / split}.{{lang}}"]
    return recipe
