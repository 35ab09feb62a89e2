"""The flag --json of commands that also print text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Command


@pytest.mark.parametrize("name", ["evaluate", "compare"])
@pytest.mark.parametrize("place", ["first", "last"])
def test_file_name_after_json_gets_a_hint(
    name: str, place: str, finished_run: Path, command: Command, corpus: Path, tmp_path: Path
) -> None:
    runs = (finished_run,) if name == "evaluate" else (finished_run, finished_run)
    arguments = (*runs, "--source", corpus / "test.de", "--reference", corpus / "test.en")
    json_file = ("--json", tmp_path / "scores.json")
    outcome = command(name, *json_file, *arguments) if place == "first" else command(name, *arguments, *json_file)
    assert (outcome.code, outcome.out) == (2, "")
    assert "use --json > scores.json" in outcome.error
    assert not (tmp_path / "scores.json").exists()


def test_unexpected_argument_is_rejected_without_the_hint(finished_run: Path, command: Command, corpus: Path) -> None:
    files = ("--source", corpus / "test.de", "--reference", corpus / "test.en")
    outcome = command("evaluate", finished_run, "more", *files)
    assert (outcome.code, outcome.out) == (2, "")
    assert "unexpected extra argument" in outcome.error
    assert "--json" not in outcome.error
