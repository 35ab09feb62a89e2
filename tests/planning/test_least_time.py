"""Times in which students and teachers learn nothing are refused before anything is trained."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import UserError
from dragoman.planning.budget import MachineSpeed, refuse_short_stages
from dragoman.recipe import load_recipe
from dragoman.settings import Recipe

MACHINE = MachineSpeed(400e9, threads=2)


def recipe(*overrides: str) -> Recipe:
    return load_recipe(Path("quickstart"), ["backtranslation.mono=['mono.en']", *overrides])


def test_the_shortest_time_that_is_named_is_long_enough() -> None:
    with pytest.raises(UserError, match="the backward teacher would take only about") as caught:
        refuse_short_stages(recipe("training.minutes=1"), MACHINE)
    shortest = re.search(r"at least (\d+) minutes", str(caught.value))
    assert shortest
    refuse_short_stages(recipe(f"training.minutes={shortest[1]}"), MACHINE)


@pytest.mark.parametrize("budget", ["training.steps=1", "training.epochs=0.01"])
def test_a_budget_that_is_not_in_minutes_is_what_the_user_wants(budget: str) -> None:
    refuse_short_stages(recipe(budget), MACHINE)


def test_commands_refuse_unless_they_are_forced(command: Any, finished_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "student"
    outcome = command("distill", finished_run, "--minutes", "0.1", "--output", run)
    assert (outcome.code, "--force" in outcome.error) == (2, True), outcome.error
    assert not run.exists()
