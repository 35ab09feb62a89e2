"""The choice of settings: valid for every amount of text, and in the direction that more text suggests."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from itertools import pairwise

import pytest

from dragoman.planning.budget import (
    MONO_EPOCHS,
    R_DROP_COST,
    SHARED_EPOCHS,
    ExpectedTraining,
    MachineSpeed,
    advise,
    expect_training,
    plan_budget,
)
from dragoman.planning.choose import (
    LARGE_MODEL,
    MANY_PAIRS,
    SMALL_MODEL,
    TINY_MODEL,
    Choices,
    ChosenValue,
    as_document,
    choose_settings,
    weight_decay,
)
from dragoman.planning.plan import Texts, choose_size, plan_with
from dragoman.planning.text_facts import SideFacts, TextFacts
from dragoman.planning.write import recipe_text
from dragoman.recipe import build_recipe
from dragoman.settings import Recipe

AMOUNTS = (1, 100, 1_000, 5_760, 10_000, 29_000, 60_000, 100_000, 300_000, 1_000_000, 100_000_000)
DATA: Choices = {
    "data.source_language": ChosenValue("de", "The source."),
    "data.target_language": ChosenValue("en", "The target."),
    "data.train": ChosenValue(["my/train.{lang}", "pairs.tsv"], "The text."),
}


def facts_of(pairs: int, script: str = "Latin") -> TextFacts:
    """Pairs with 60 characters on each side."""
    source = SideFacts(60 * pairs, 12 * pairs, script)
    return TextFacts(pairs, source, SideFacts(60 * pairs, 12 * pairs, "Latin"))


def chosen(facts: TextFacts, minutes: float | None = None, speed: float = 5000.0) -> Recipe:
    size = LARGE_MODEL if facts.pairs >= MANY_PAIRS else SMALL_MODEL
    choices = DATA | choose_settings(facts, size, plan_budget(facts, minutes, speed))
    document = as_document("name", choices)
    assert tomllib.loads(recipe_text("name", choices)) == document
    return build_recipe(document)


@pytest.mark.parametrize("minutes", [None, 0.5, 20.0])
@pytest.mark.parametrize("pairs", AMOUNTS)
def test_every_amount_of_text_has_a_recipe(pairs: int, minutes: float | None) -> None:
    recipe = chosen(facts_of(pairs), minutes)
    assert recipe.training.minutes == minutes
    steps = plan_budget(facts_of(pairs), minutes, 5000.0).steps
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


def test_weights_shrink_less_in_each_step_of_a_longer_training() -> None:
    short, longer = (chosen(facts_of(29_000), minutes).training.weight_decay for minutes in (2.0, 80.0))
    assert short > longer
    assert 5000 * weight_decay(5000) == pytest.approx(10_000 * weight_decay(10_000))
    assert weight_decay(1) == weight_decay(5000), "the limits"
    assert weight_decay(1_000_000) == weight_decay(20_000), "the limits"


def test_different_scripts_have_separate_vocabularies() -> None:
    recipe = chosen(facts_of(1000, "Devanagari"))
    assert (recipe.text.joint, recipe.model.tie) == (False, "target")
    assert chosen(facts_of(1000)).text.joint


def test_text_without_spaces_is_not_split_at_spaces() -> None:
    assert chosen(facts_of(1000, "Han or Kana")).text.tokenizer == "unigram"
    assert chosen(facts_of(1000)).text.tokenizer == "bpe"


def test_a_large_model_needs_much_text_and_time() -> None:
    fast, slow = MachineSpeed(1e14), MachineSpeed(5e11)  # a GPU, and a laptop
    assert choose_size(facts_of(1_000_000), None, fast)[0] == LARGE_MODEL
    assert choose_size(facts_of(1_000_000), 600, fast)[0] == LARGE_MODEL
    assert choose_size(facts_of(1_000_000), 3000, fast)[0] == LARGE_MODEL
    assert choose_size(facts_of(1_000_000), 1, fast)[0] == SMALL_MODEL
    assert choose_size(facts_of(1_000_000), None, slow)[0] == SMALL_MODEL
    assert choose_size(facts_of(10_000), None, fast)[0] == SMALL_MODEL


def test_very_little_time_gets_a_tiny_model_that_reads_the_text_more_often() -> None:
    """Little time is a matter of the machine, of the text and of the minutes."""
    facts, slow = facts_of(5750), MachineSpeed(1e11)
    size, budget = choose_size(facts, 2, slow)
    assert size == TINY_MODEL
    model, text = {"model.d_model": 256, "model.d_ff": 1024}, Texts(("de", "en"), ["my/train.{lang}"])
    overrides = [f"{key}={value}" for key, value in model.items()]
    small = expect_training(plan_with(text, facts, 2, slow).recipe(overrides), facts, slow)
    assert budget.epochs > 2 * small.epochs
    for other in (
        choose_size(facts, 20, slow),
        choose_size(facts, 2, MachineSpeed(5e12)),
        choose_size(facts_of(100), 2, slow),
    ):
        assert other[0] == SMALL_MODEL


def test_little_text_with_much_time_is_read_with_r_drop() -> None:
    """A step with R-Drop takes longer, so the text is read half as often, but still often."""
    text, machine = Texts(("de", "en"), ["my/train.{lang}"]), MachineSpeed(5e11)

    def plan(pairs: int, minutes: float | None) -> tuple[float, ExpectedTraining]:
        recipe = plan_with(text, facts_of(pairs), minutes, machine).recipe()
        return recipe.training.r_drop, expect_training(recipe, facts_of(pairs), machine)

    for pairs, minutes in ((1000, 60.0), (5000, 60.0), (14_500, 60.0), (29_000, 120.0)):
        r_drop, expected = plan(pairs, minutes)
        assert r_drop > 0
        assert expected.epochs > 14
        without = expect_training(
            plan_with(text, facts_of(pairs), minutes, machine).recipe(["training.r_drop=0"]),
            facts_of(pairs),
            machine,
        )
        assert expected.tokens_per_second == pytest.approx(without.tokens_per_second / R_DROP_COST)
    for pairs, limit in (
        (1000, 10.0),
        (9000, 20.0),
        (14_500, 20.0),
        (5000, None),
        (29_000, 40.0),
        (29_000, None),
        (40_000, 240.0),
    ):
        assert plan(pairs, limit)[0] == 0


@pytest.mark.parametrize("pairs", [5_760, 9_000, 14_500])
def test_more_time_never_lowers_the_dropout(pairs: int) -> None:
    """Not even when R-Drop begins, with which the text is read less often."""
    text, dropouts = Texts(("de", "en"), ["my/train.{lang}"]), []
    for minutes in range(10, 90, 8):
        dropouts.append(plan_with(text, facts_of(pairs), minutes, MachineSpeed(5e11)).recipe().model.dropout)
    assert dropouts == sorted(dropouts)


@pytest.mark.parametrize("minutes", [None, 10.0, 20.0])
@pytest.mark.parametrize("pairs", AMOUNTS)
def test_ten_minutes_suffice_for_a_small_model(pairs: int, minutes: float | None) -> None:
    assert choose_size(facts_of(pairs), minutes, MachineSpeed(5e11))[0] != TINY_MODEL


@pytest.mark.parametrize("minutes", [None, 0.5, 20.0])
@pytest.mark.parametrize("pairs", AMOUNTS)
def test_what_is_expected_is_what_was_planned(pairs: int, minutes: float | None) -> None:
    """The choice depends on the length of the training before there is a recipe."""
    facts = facts_of(pairs)
    planned = plan_with(Texts(("de", "en"), ["my/train.{lang}"]), facts, minutes, MachineSpeed(5e11))
    _, budget = choose_size(facts, minutes, MachineSpeed(5e11))
    expected = expect_training(planned.recipe(), facts, MachineSpeed(5e11))
    assert expected.minutes == pytest.approx(budget.expected_minutes)
    assert expected.epochs == pytest.approx(budget.epochs)
    assert expected.steps == budget.steps


def test_overrides_change_what_is_expected() -> None:
    facts = facts_of(30_000)
    planned = plan_with(Texts(("de", "en"), ["my/train.{lang}"]), facts, 10.0, MachineSpeed(5e11))

    def expect(*overrides: str) -> ExpectedTraining:
        return expect_training(planned.recipe(overrides), facts, MachineSpeed(5e11))

    before = expect()
    assert expect("training.minutes=20").epochs == pytest.approx(2 * before.epochs)
    assert expect("training.batch_tokens=2048").steps == pytest.approx(before.steps / 2, rel=0.05)
    assert expect("training.accumulation=2").steps == before.steps // 2
    few = planned.recipe(["training.batch_sentences=4", "training.epochs=1"])
    with_old_text = expect_training(few, replace(facts, old_share=1), MachineSpeed(5e11))
    assert with_old_text.steps == 2 * facts.pairs / 4
    assert expect("model.d_model=128", "model.d_ff=512").parameters < before.parameters
    assert expect("model.d_model=128", "model.d_ff=512").epochs > before.epochs
    assert expect("text.vocabulary_size=8000").parameters > before.parameters
    assert expect("training.steps=100").steps == 100
    assert expect("training.epochs=3").epochs == 3
    summary = planned.summary(planned.recipe(["training.steps=100"]))
    assert "100 steps" in summary


def test_large_batches_need_many_steps() -> None:
    facts = facts_of(1_000_000)
    assert plan_budget(facts, None, 1.0).batch_tokens > plan_budget(facts, 1, 5000.0).batch_tokens


NOT_CHOSEN = {"terms", "fuzzy_matches"}
"""Kinds of augmentation that users turn on."""


def test_augmentation_is_that_which_the_scripts_allow() -> None:
    everything = chosen(facts_of(1000)).training.augmentation
    assert {kind for kind, share in everything.model_dump().items() if not share} == NOT_CHOSEN
    assert chosen(facts_of(1000, "Devanagari")).training.augmentation == everything  # the target has capital letters
    without_spaces = chosen(facts_of(1000, "Thai")).training.augmentation
    assert without_spaces == everything.model_copy(update={"single_words": 0.0})
    side = SideFacts(60_000, 12_000, "Devanagari")
    without_case = chosen(TextFacts(1000, side, side)).training.augmentation
    assert without_case == everything.model_copy(update={"upper_case": 0.0, "title_case": 0.0})


def test_short_trainings_change_fewer_pairs() -> None:
    facts = facts_of(30_000)
    short, long = (chosen(facts, minutes).training.augmentation.model_dump() for minutes in (1, 600))
    assert all(0 < short[key] < long[key] for key in short.keys() - NOT_CHOSEN)


def test_a_short_training_gets_less_dropout() -> None:
    facts = facts_of(30_000)
    dropouts = [chosen(facts, minutes).model.dropout for minutes in (1, 15, 600)]
    assert 0 == dropouts[0] < dropouts[1] < dropouts[2]
    little = facts_of(5000)
    usual, long = (chosen(little, minutes).model.dropout for minutes in (5, 600))
    assert dropouts[2] == usual < long, "little text that is not read very often"


def test_every_value_has_a_reason() -> None:
    settings = choose_settings(facts_of(5000), SMALL_MODEL, plan_budget(facts_of(5000), None, 5000.0))
    lines = recipe_text("name", DATA | settings).splitlines()
    for before, line in pairwise(lines):
        assert " = " not in line or line.startswith("#") or before.startswith("# ")
        assert len(line) <= 120
    assert "# The target." in lines


@pytest.mark.parametrize("epochs", [0.5, 1.5, 3.5, 12.0])
def test_what_needs_time_is_advised_against_if_there_is_little(epochs: float) -> None:
    both_ways = [("de", "en"), ("en", "de")]
    pairs, weights = dict.fromkeys(both_ways, 30_000), dict.fromkeys(both_ways, 30_000.0)
    both = replace(facts_of(30_000), by_direction=pairs, weights=weights)
    for facts in (facts_of(30_000), both):
        advice = " ".join(advise(facts, epochs, True))
        assert ("leave out --mono" in advice) == (epochs < MONO_EPOCHS)
        assert ("a model for one direction" in advice) == (facts is both and epochs < SHARED_EPOCHS)
    assert "--mono" not in " ".join(advise(both, epochs, False))
