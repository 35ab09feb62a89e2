"""`dragoman inspect`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command


def test_inspect_writes_a_page(finished_run: Path, command: Command, translator: Translator, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    outcome = command("inspect", finished_run, "Ein Hund läuft.", "--output", page)
    assert (outcome.code, outcome.error) == (0, "")
    translation = translator("Ein Hund läuft.").text
    assert outcome.out.splitlines() == [translation, str(page)]
    assert f">{translation}</p>" in page.read_text(encoding="utf-8")


def test_inspect_rejects_empty_text(finished_run: Path, command: Command, tmp_path: Path) -> None:
    outcome = command("inspect", finished_run, " ", "--output", tmp_path / "page.html")
    assert outcome.code == 2
    assert "no word" in outcome.error
    assert not list(tmp_path.iterdir())


def test_inspect_warns_of_texts_that_translate_splits(finished_run: Path, command: Command, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    for text in ("Ein Hund läuft. Zwei Frauen lesen ein Buch.", "Ein Hund läuft.\nZwei Frauen"):
        outcome = command("inspect", finished_run, text, "--output", page)
        assert (outcome.code, "has 2 sentences or lines" in outcome.error) == (0, True)
    assert command("inspect", finished_run, "Ein Hund läuft am 3. Mai.", "--output", page).error == ""


def test_a_page_compares_two_checkpoints(finished_run: Path, command: Command, tmp_path: Path) -> None:
    page, (first, *_) = tmp_path / "page.html", sorted((finished_run / "checkpoints").iterdir())
    outcome = command("inspect", finished_run, "Ein Hund läuft.", "--compare", first, "--output", page)
    assert (outcome.code, outcome.error) == (0, "")
    names = [line.partition(": ")[0] for line in outcome.out.splitlines()]
    assert names == [str(finished_run), str(first), str(page)]
    assert command("inspect", first, "Ein Hund läuft.", "--output", page).code == 0


def test_arguments_that_make_no_sense_are_refused(finished_run: Path, command: Command, tmp_path: Path) -> None:
    missing = finished_run / "checkpoints" / "step-99999999"
    for arguments, message in (
        ((finished_run,), "TEXT is missing"),
        ((finished_run, "Hund", "--serve", "--output", tmp_path / "page.html"), "--serve writes no file"),
        ((finished_run, "Hund", "--compare", finished_run, "--output", "-"), "is the same translator"),
        ((missing, "Hund", "--output", "-"), "no such checkpoint"),
    ):
        outcome = command("inspect", *arguments)
        assert (outcome.code, message in outcome.error) == (2, True), outcome.error


@pytest.mark.parametrize("name", ["inspect", "compare"])
def test_a_page_that_cannot_be_written_is_refused_before_anything_is_translated(
    name: str, finished_run: Path, command: Command, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def translate(*_: object) -> None:
        raise AssertionError("translates")

    monkeypatch.setattr("dragoman.translator.TextSearch.search", translate)
    files = ("--source", corpus / "test.de", "--reference", corpus / "test.en")
    arguments = (finished_run, "Ein Hund läuft.") if name == "inspect" else (finished_run, finished_run, *files)
    outcome = command(name, *arguments, "--output", tmp_path / "none" / "page.html")
    assert (outcome.code, "page.html: could not be saved" in outcome.error) == (2, True)
