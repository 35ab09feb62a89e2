"""`dragoman data`."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Command


def test_data_list_names_the_corpora(command: Command) -> None:
    listed = command("data", "list").out
    assert {"captions", "multi30k", "iitb-en-hi"} <= {line.split()[0] for line in listed.splitlines()}


def test_data_list_and_show_tell_the_source(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for language in ("de", "en"):
        (tmp_path / "mine" / f"train.{language}.gz").write_bytes(gzip.compress(b"one\n"))
    listed = command("data", "list", "--data-dir", tmp_path).out.splitlines()
    sources = [("captions", "built in"), ("multi30k", "download"), ("iitb-en-hi", "hub"), ("mine", "local")]
    for name, source in sources:
        (line,) = (line for line in listed if line.split()[0] == name)
        assert f" {source} " in line
        assert f"\nsource: {source}" in command("data", "show", name, "--data-dir", tmp_path).out
    assert "mine" not in command("data", "list").out


def test_data_show_prints_splits_and_examples(command: Command) -> None:
    shown = command("data", "show", "captions")
    assert shown.code == 0
    assert "languages: de en" in shown.out
    assert "splits: train validation test" in shown.out
    assert len(shown.out.split("\n\n")) == 4, "the description and three pairs"


def test_data_show_rejects_unknown_corpora(command: Command) -> None:
    outcome = command("data", "show", "multi30")
    assert outcome.code == 2
    assert "did you mean 'multi30k'?" in outcome.error


def test_data_show_finds_the_files_of_a_mirror(command: Command, data_directory: Path) -> None:
    shown = command("data", "show", "multi30k", "--data-dir", data_directory)
    assert shown.code == 0
    assert str(data_directory) in shown.out
