"""Options that have no effect on a teacher are refused, by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

from dragoman.cli import app
from dragoman.cli.teachers import NEED_ADDRESS, NEED_BUNDLE
from dragoman.synthesis.prompt import FIELDS

if TYPE_CHECKING:
    from conftest import Command

ADDRESS = "http://127.0.0.1:1/v1"
GIVEN = {
    "distill": ("--mono", "mono.de"),
    "evaluate": ("--source", "test.de", "--reference", "test.en"),
    "synthesize": ("--mono", "mono.de"),
}


def teacher_of(name: str, teacher: str) -> tuple[str, ...]:
    return (teacher,) if name != "synthesize" and teacher != ADDRESS else ("--teacher", teacher)


def useless_options() -> list[Any]:
    """A command with a teacher, and an option that has no effect on it."""
    commands: Any = typer.main.get_command(app)
    return [
        pytest.param(name, teacher, option, id=f"{name}-{teacher}-{option.name}")
        for teacher, table in (("runs/none", NEED_ADDRESS), (ADDRESS, NEED_BUNDLE))
        for name, useless in table.items()
        for option in commands.commands[name].params
        if option.name in useless
    ]


@pytest.mark.parametrize(("name", "teacher", "option"), useless_options())
def test_an_option_without_effect_is_refused(name: str, teacher: str, option: Any, command: Command) -> None:
    value = {"method": "greedy", "compute_type": "int8"}.get(option.name, "1")
    given = [option.opts[0]] if option.is_flag else [option.opts[0], value]
    outcome = command(name, *teacher_of(name, teacher), *GIVEN[name], *given)
    assert outcome.code == 2
    assert f"{option.opts[0]} has no effect with a" in outcome.error


def test_the_fields_of_a_prompt_are_named(command: Command) -> None:
    shown = command("synthesize", "--help").out
    assert not [name for name in FIELDS if f"{{{{{name}}}}}" not in shown]


@pytest.mark.parametrize("name", ["distill", "evaluate"])
def test_there_is_one_teacher(name: str, command: Command, finished_run: Path) -> None:
    for teachers in ((), (finished_run, "--teacher", ADDRESS)):
        outcome = command(name, *teachers, *GIVEN[name])
        assert (outcome.code, "teacher behind an address with --teacher" in outcome.error) == (2, True), outcome.error


def test_an_address_gives_no_weights(command: Command, tmp_path: Path) -> None:
    output = tmp_path / "student"
    outcome = command("distill", "--teacher", ADDRESS, *GIVEN["distill"], "--size", "shallow", "--output", output)
    assert (outcome.code, "--size shallow starts with the weights" in outcome.error) == (2, True), outcome.error
    assert not list(tmp_path.iterdir())


def test_engines_translate_back(command: Command, finished_run: Path) -> None:
    """A teacher behind an address has no engine, but the bundle of --round-trip has one."""
    outcome = command(
        "synthesize", "--teacher", ADDRESS, *GIVEN["synthesize"], "--round-trip", finished_run, "--engine", "torch"
    )
    assert "--engine has no effect" not in outcome.error
    assert "--languages" in outcome.error
