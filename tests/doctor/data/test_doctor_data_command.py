"""dragoman doctor data: recipes and files, test corpora, and exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import tomli_w

if TYPE_CHECKING:
    from conftest import Command


def test_files_and_recipes_are_checked(
    command: Command, tmp_path: Path, corpus: Path, recipe_document: dict[str, Any]
) -> None:
    files = corpus / "train.de", corpus / "train.en"
    outcome = command("doctor", "data", *files, "--test", corpus / "test.de", corpus / "test.en")
    assert (outcome.code, outcome.out.splitlines()[0]) == (0, "no problems found"), outcome.error
    assert "not examined: " in outcome.out
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(tomli_w.dumps(recipe_document), encoding="utf-8")
    assert command("doctor", "data", recipe).code == 0
    overlapping = command("doctor", "data", *files, "--test", *files)
    assert overlapping.code == 1
    assert "test-overlap" in overlapping.out
    refused = command("doctor", "data", recipe, "--test", *files)
    assert refused.code == 2
    assert "data.test" in refused.error


@pytest.mark.parametrize(("content", "code"), [("", 2), ("\n", 1)])
def test_files_without_text_are_refused(
    content: str, code: int, command: Command, tmp_path: Path, corpus: Path
) -> None:
    (tmp_path / "train.de").write_text(content)
    outcome = command("doctor", "data", tmp_path / "train.de", corpus / "train.en")
    assert (outcome.code, "Traceback" in outcome.error) == (code, False)


def test_wrong_paths_are_refused(command: Command, tmp_path: Path, corpus: Path) -> None:
    file = corpus / "train.de"
    assert "no such file" in command("doctor", "data", tmp_path / "none.de", file).error
    outcome = command("doctor", "data", file, file, file)
    assert outcome.code == 2
    assert "a text file needs a second one" in outcome.error


def test_other_formats_are_checked(command: Command, tmp_path: Path, corpus: Path) -> None:
    files = corpus / "train.de", corpus / "train.en"
    memory = tmp_path / "train.tmx"
    assert command("convert", *files, memory).code == 0
    outcome = command(
        "doctor", "data", memory, "--languages", "de-en", "--test", corpus / "test.de", corpus / "test.en"
    )
    assert (outcome.code, outcome.out.splitlines()[0]) == (0, "no problems found"), outcome.error
    assert "not examined: " in outcome.out
    assert command("doctor", "data", memory, "--languages", "de-en", "--test", *files).code == 1
    assert command("doctor", "data", memory, "--test", memory).code == 1, "its languages are known"


def test_pairs_of_memories_are_named_by_their_text(command: Command, tmp_path: Path) -> None:
    """They have no line numbers that a user could look up."""
    pairs, memory = tmp_path / "pairs.tsv", tmp_path / "pairs.tmx"
    pairs.write_text("Ja, ja.\tYes, yes.\nHund &amp; Katze\tdog and cat\n")
    assert command("convert", pairs, memory, "--languages", "de-en").code == 0
    outcome = command("doctor", "data", memory, "--languages", "de-en")
    assert 'pair 2: "Hund &amp; Katze" with "dog and cat"' in outcome.out


def test_control_characters_do_not_reach_the_terminal(command: Command, tmp_path: Path) -> None:
    (tmp_path / "train.de").write_text("Ja, ja.\nHund \x1b[31m\n")
    (tmp_path / "train.en").write_text("Yes, yes.\ndog\n")
    outcome = command("doctor", "data", tmp_path / "train.de", tmp_path / "train.en")
    assert 'line 2: "Hund \\x1b[31m" with "dog"' in outcome.out
    assert "\x1b" not in outcome.out


def test_files_of_unknown_languages_are_checked(command: Command, tmp_path: Path, corpus: Path) -> None:
    for language, name in (("de", "one.txt"), ("en", "two.txt")):
        (tmp_path / name).write_bytes((corpus / f"train.{language}").read_bytes())
    assert command("doctor", "data", tmp_path / "one.txt", tmp_path / "two.txt").code == 0
    (tmp_path / "pairs.tsv").write_text("Hund\tdog\n")
    unknown = command("doctor", "data", tmp_path / "pairs.tsv")
    assert (unknown.code, "add --languages" in unknown.error) == (2, True)


def test_utf16_is_refused(command: Command, tmp_path: Path, corpus: Path) -> None:
    path = tmp_path / "train.de"
    path.write_text("ein Hund\n", "utf-16")
    outcome = command("doctor", "data", path, corpus / "train.en")
    assert outcome.code == 2
    assert "train.de: the text is UTF-16" in outcome.error
