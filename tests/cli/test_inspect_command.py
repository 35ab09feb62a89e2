"""`dragoman inspect`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command


def test_inspect_writes_a_page_and_heat_maps(
    finished_run: Path, command: Command, translator: Translator, tmp_path: Path
) -> None:
    page, heat_maps = tmp_path / "page.html", tmp_path / "heat-maps"
    outcome = command("inspect", finished_run, "Ein Hund läuft.", "--output", page, "--png", heat_maps)
    assert (outcome.code, outcome.error) == (0, "")
    translation, *files = outcome.out.splitlines()
    assert translation == translator("Ein Hund läuft.").text
    assert f">{translation}</p>" in page.read_text(encoding="utf-8")
    assert Path(files[0]) == page
    assert {Path(file) for file in files[1:]} == set(heat_maps.iterdir()) != set()


def test_inspect_rejects_empty_text(finished_run: Path, command: Command, tmp_path: Path) -> None:
    outcome = command("inspect", finished_run, " ", "--output", tmp_path / "page.html")
    assert outcome.code == 2
    assert "no word" in outcome.error
    assert not list(tmp_path.iterdir())
