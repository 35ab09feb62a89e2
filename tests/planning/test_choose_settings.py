"""The choice of settings: valid for every amount of text, and in the direction that more text suggests."""

from __future__ import annotations

import tomllib
from itertools import pairwise

import pytest

from dragoman.planning.choose import (
    LARGE_MODEL,
    MANY_PAIRS,
    SMALL_MODEL,
    ChosenSetting,
    PlannedBudget,
    choose_settings,
)
from dragoman.planning.plan import choose_size
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
    size = LARGE_MODEL if facts.pairs >= MANY_PAIRS else SMALL_MODEL
    text = recipe_text("name", DATA, choose_settings(facts, size, PlannedBudget(minutes, speed)))
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


def test_a_large_model_needs_much_text_and_time() -> None:
    fast, slow = 1e14, 5e11  # a GPU, and a laptop
    assert choose_size(facts_of(1_000_000), None, fast)[0] == LARGE_MODEL
    assert choose_size(facts_of(1_000_000), 600, fast)[0] == LARGE_MODEL
    assert choose_size(facts_of(1_000_000), 1, fast)[0] == SMALL_MODEL
    assert choose_size(facts_of(1_000_000), None, slow)[0] == SMALL_MODEL
    assert choose_size(facts_of(10_000), None, fast)[0] == SMALL_MODEL


def test_large_batches_need_many_steps() -> None:
    facts = facts_of(1_000_000)
    assert PlannedBudget(None, 1.0).batch_tokens(facts) > PlannedBudget(1, 5000.0).batch_tokens(facts)


def test_augmentation_is_that_which_the_scripts_allow() -> None:
    everything = chosen(facts_of(1000)).training.augmentation
    assert all(share > 0 for share in everything.model_dump().values())
    assert chosen(facts_of(1000, "Devanagari")).training.augmentation == everything  # the target has capital letters
    without_spaces = chosen(facts_of(1000, "Thai", spaces=False)).training.augmentation
    assert without_spaces == everything.model_copy(update={"single_words": 0.0})
    side = SideFacts(60_000, 12_000, "Devanagari")
    without_case = chosen(TextFacts(1000, side, side)).training.augmentation
    assert without_case == everything.model_copy(update={"upper_case": 0.0, "title_case": 0.0})


def test_short_trainings_change_fewer_pairs() -> None:
    facts = facts_of(30_000)
    short, long = (chosen(facts, minutes).training.augmentation.model_dump() for minutes in (1, 600))
    assert all(0 < short[key] < long[key] for key in short)


def test_a_short_training_gets_less_dropout() -> None:
    facts = facts_of(30_000)
    short, long = (chosen(facts, minutes).model.dropout for minutes in (1, 600))
    assert 0 < short < long


def test_every_value_has_a_reason() -> None:
    lines = recipe_text(
        "name", DATA, choose_settings(facts_of(5000), SMALL_MODEL, PlannedBudget(None, 5000.0))
    ).splitlines()
    for before, line in pairwise(lines):
        assert " = " not in line or line.startswith("#") or before.startswith("# ")
        assert len(line) <= 120
    assert "# The target." in lines
