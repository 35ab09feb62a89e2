"""dragoman translate --memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Command
from dragoman.corpus.pair import Pair
from dragoman.corpus.writers import write_corpus

KNOWN = "Ein Hund bellt & beißt."
TRANSLATED = "This dog  is dangerous, {name} & all."


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory.tmx"
    write_corpus([Pair(KNOWN, TRANSLATED), Pair("Zwei Hunde.", "Two dogs.")], str(path), ("de", "en"))
    return path


def test_exact_matches_are_returned_unchanged(
    command: Command, finished_run: Path, memory: Path, tmp_path: Path
) -> None:
    options = ("translate", finished_run, "--memory", memory)
    found = json.loads(command(*options, f"  {KNOWN} ", "--json").out)
    assert found["text"].strip() == TRANSLATED
    assert found["match"] == {"kind": "exact", "score": 1.0}
    assert found["problems"] == []
    document, output = tmp_path / "a.txt", tmp_path / "b.txt"
    document.write_text(f"- {KNOWN}\n", encoding="utf-8")
    assert command(*options, "--document", document, "--output", output).code == 0
    assert output.read_text("utf-8") == f"- {TRANSLATED}\n"


def test_a_line_is_as_similar_as_its_least_similar_sentence(command: Command, finished_run: Path, memory: Path) -> None:
    options = ("translate", finished_run, "--memory", memory, "--json")
    lines = command(*options, "Zwei Hunde. Zwei Hunde.", "Zwei Hunde. Eine Frau liest.").out.splitlines()
    assert [json.loads(line)["match"]["kind"] for line in lines] == ["exact", "none"]
    assert json.loads(lines[0])["text"] == "Two dogs. Two dogs."


def test_a_model_without_the_feature_ignores_similar_segments(
    command: Command, finished_run: Path, memory: Path
) -> None:
    arguments = ("translate", finished_run, KNOWN.replace("Ein", "Kein"), "--json")
    assert command(*arguments, "--memory", memory).out == command(*arguments).out


def test_terms_that_the_memory_does_not_use_are_reported(
    command: Command, finished_run: Path, memory: Path, tmp_path: Path
) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("Hund\thound\n", encoding="utf-8")
    outcome = command("translate", finished_run, "--memory", memory, "--glossary", terms, KNOWN, "--json")
    found = json.loads(outcome.out)
    assert (found["text"], found["problems"]) == (TRANSLATED, ["missing term: hound"])


def test_errors_name_the_memory(command: Command, finished_run: Path, memory: Path, tmp_path: Path) -> None:
    empty, other = tmp_path / "empty.tsv", tmp_path / "other.tmx"
    empty.write_text("")
    write_corpus([Pair("Un chien.", "A dog.")], str(other), ("fr", "en"))
    for path in (empty, other, tmp_path / "missing.tmx"):
        outcome = command("translate", finished_run, "a", "--memory", path)
        assert (outcome.code, path.name in outcome.error) == (2, True)
    outcome = command("translate", finished_run, "a", "--memory", memory, "--prefixes", memory)
    assert (outcome.code, "--prefixes" in outcome.error) == (2, True)
