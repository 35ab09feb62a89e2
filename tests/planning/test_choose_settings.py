"""The choice of settings: valid for every amount of text, and in the direction that more text suggests."""

from __future__ import annotations

import tomllib
from itertools import pairwise

import pytest

from dragoman.model.build import build_model
from dragoman.model.transformer import parameter_counts
from dragoman.planning.choose import ChosenSetting, PlannedBudget, choose_settings, parameters
from dragoman.planning.text_facts import SideFacts, TextFacts
from dragoman.planning.write import recipe_text
from dragoman.recipe import build_recipe
from dragoman.settings import Recipe

AMOUNTS = (1, 100, 1_000, 5_760, 10_000, 29_000, 60_000, 100_000, 300_000, 1_000_000, 100_000_000)
DATA = [
    ChosenSetting("data", "source_language", "de", "The source."),
    ChosenSetting("data", "target_language", "en", "The target."),
    ChosenSetting("data", "train", ["my/train.{lang}", "pairs.tsv"], "The text."),
]


def facts_of(pairs: int, script: str = "Latin", spaces: bool = True) -> TextFacts:
    """Pairs with 60 characters on each side."""
    words = 12 if spaces else 2
    source = SideFacts(60 * pairs, words * pairs, script)
    return TextFacts(pairs, source, SideFacts(60 * pairs, 12 * pairs, "Latin"))


def chosen(facts: TextFacts, minutes: float | None = None, speed: float = 5000.0) -> Recipe:
    text = recipe_text("name", DATA, choose_settings(facts, PlannedBudget(minutes, speed)))
    return build_recipe(tomllib.loads(text))


@pytest.mark.parametrize("minutes", [None, 0.5, 20.0])
@pytest.mark.parametrize("pairs", AMOUNTS)
def test_every_amount_of_text_has_a_recipe(pairs: int, minutes: float | None) -> None:
    recipe = chosen(facts_of(pairs), minutes)
    assert recipe.training.minutes == minutes
    steps = PlannedBudget(minutes, 5000.0).steps(facts_of(pairs))
    assert recipe.training.warmup_steps <= steps / 10
    assert recipe.text.placeholders


def test_more_text_gets_more_subwords_less_dropout_and_fewer_epochs() -> None:
    recipes = [chosen(facts_of(pairs)) for pairs in AMOUNTS]
    for less, more in pairwise(recipes):
        assert less.text.vocabulary_size <= more.text.vocabulary_size
        assert less.model.d_model <= more.model.d_model
        assert less.model.dropout >= more.model.dropout
        assert less.training.epochs is not None
        assert more.training.epochs is not None
        assert less.training.epochs >= more.training.epochs


def test_different_scripts_have_separate_vocabularies() -> None:
    recipe = chosen(facts_of(1000, "Devanagari"))
    assert (recipe.text.joint, recipe.model.tie) == (False, "target")
    assert chosen(facts_of(1000)).text.joint


def test_text_without_spaces_is_not_split_at_spaces() -> None:
    assert chosen(facts_of(1000, "Han or Kana", spaces=False)).text.tokenizer == "unigram"
    assert chosen(facts_of(1000)).text.tokenizer == "bpe"


@pytest.mark.parametrize("pairs", AMOUNTS)
@pytest.mark.parametrize("script", ["Latin", "Greek"])
def test_the_number_of_parameters_is_that_of_the_model(pairs: int, script: str) -> None:
    facts = facts_of(pairs, script)
    recipe = chosen(facts)
    size = recipe.text.vocabulary_size
    actual = parameter_counts(build_model(recipe.model, size, size, 1, seed=1))["total"]
    assert parameters(facts) == pytest.approx(actual, rel=0.01)


def test_every_value_has_a_reason() -> None:
    lines = recipe_text("name", DATA, choose_settings(facts_of(5000), PlannedBudget(None, 5000.0))).splitlines()
    for before, line in pairwise(lines):
        assert " = " not in line or line.startswith("#") or before.startswith("# ")
        assert len(line) <= 120
    assert "# The target." in lines
