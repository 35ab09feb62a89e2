"""Times in which students and teachers learn nothing are refused before anything is trained."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import UserError
from dragoman.planning.budget import MachineSpeed, refuse_short_stages
from dragoman.planning.plan import PlannedRecipe, Texts, plan_with
from dragoman.planning.text_facts import SideFacts, TextFacts
from dragoman.recipe import load_recipe
from dragoman.settings import Recipe

MACHINE = MachineSpeed(400e9, threads=2)


def recipe(*overrides: str) -> Recipe:
    return load_recipe(Path("quickstart"), ["backtranslation.mono=['mono.en']", *overrides])


def named_minutes(error: UserError) -> int:
    shortest = re.search(r"at least (\d+) minutes", str(error))
    assert shortest
    return int(shortest[1])


@pytest.mark.parametrize("share", [1.0, 0.9])
def test_the_shortest_time_that_is_named_is_long_enough(share: float) -> None:
    """Also if training gets only a share of the minutes that the command has."""
    with pytest.raises(UserError, match="the backward teacher would take only about") as caught:
        refuse_short_stages(recipe(f"training.minutes={share}"), MACHINE, 1.0)
    shortest = named_minutes(caught.value)
    refuse_short_stages(recipe(f"training.minutes={share * shortest}"), MACHINE, shortest)


@pytest.mark.parametrize("pairs", [5_760, 100_000, 3_000_000])
@pytest.mark.parametrize("minutes", [1.0, 5.0, 20.0])
def test_the_time_is_enough_for_the_model_that_is_chosen_for_it(minutes: float, pairs: int) -> None:
    """With little time for much text, the model is tiny; with more, it is slower."""
    side = SideFacts(60 * pairs, 12 * pairs, "Latin")
    texts = Texts(("de", "en"), ["my/train.{lang}"], mono=("mono.en",))

    def plan(minutes: float) -> PlannedRecipe:
        return plan_with(texts, TextFacts(pairs, side, side), minutes, MachineSpeed(5e10, threads=1))

    with pytest.raises(UserError, match="too short") as caught:
        plan(minutes).refuse_short_stages()
    plan(named_minutes(caught.value)).refuse_short_stages()


@pytest.mark.parametrize("budget", ["training.steps=1", "training.epochs=0.01"])
def test_a_budget_that_is_not_in_minutes_is_what_the_user_wants(budget: str) -> None:
    refuse_short_stages(recipe(budget), MACHINE)


def test_commands_refuse_unless_they_are_forced(command: Any, finished_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "student"
    outcome = command("distill", finished_run, "--minutes", "0.1", "--output", run)
    assert (outcome.code, "--force" in outcome.error) == (2, True), outcome.error
    assert not run.exists()


def test_init_writes_no_recipe_that_train_refuses(command: Any, corpus: Path, tmp_path: Path) -> None:
    written = tmp_path / "recipe.toml"
    text = (corpus / "train.de", corpus / "train.en", "--mono", corpus / "validation.en", "--minutes", "0.1")
    messages = {command(*each, *text).error.splitlines()[-1] for each in (("init", "--output", written), ("train",))}
    assert len({re.sub(r"\d+", "", each) for each in messages}) == 1
    assert "is too short" in messages.pop()
    assert not written.exists()
    assert f"dragoman train {written} --force" in command("init", *text, "--force", "--output", written).out


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("mono.de", "Ein Hund läuft im Schnee, und die Kinder sehen ihm zu.\n" * 30, "do not look like en"),
        ("mono.tsv", "Ein Hund.\tA dog.\n", "expected a text file with one sentence per line"),
        ("mono.en", "\n\n", "contains no text"),
    ],
)
@pytest.mark.parametrize("name_of_command", ["init", "train"])
def test_monolingual_text_is_checked_before_anything_is_written(
    name_of_command: str, name: str, text: str, expected: str, command: Any, corpus: Path, tmp_path: Path
) -> None:
    mono, output = tmp_path / name, tmp_path / "output"
    mono.write_text(text, "utf-8")
    given = (corpus / "train.de", corpus / "train.en", "--mono", mono, "--output", output)
    outcome = command(name_of_command, *given)
    assert (outcome.code, expected in outcome.error) == (2, True), outcome.error
    assert not output.exists()
