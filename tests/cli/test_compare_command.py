"""`dragoman compare`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.settings import Decoding
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command


def test_compare_finds_no_difference_between_equal_translators(
    finished_run: Path, command: Command, corpus: Path
) -> None:
    files = ("--source", corpus / "test.de", "--reference", corpus / "test.en")
    outcome = command("compare", finished_run, finished_run / "bundle", *files)
    assert (outcome.code, outcome.error) == (0, "")
    assert "Translated differently: 0 of 30 sentences." in outcome.out
    comparison = json.loads(command("compare", finished_run, finished_run / "bundle", *files, "--json").out)
    assert comparison["first"] == comparison["second"]
    assert comparison["differences"] == comparison["significance"] == []
    assert f"BLEU {comparison['first']['bleu']:.2f}" in outcome.out


def test_compare_refuses_to_overwrite_what_it_reads(finished_run: Path, command: Command, corpus: Path) -> None:
    source, reference = corpus / "test.de", corpus / "test.en"
    before = source.read_bytes()
    files = ("--source", source, "--reference", reference)
    outcome = command("compare", finished_run, finished_run, *files, "--output", source)
    assert outcome.code == 2
    assert f"{source}: is also the source" in outcome.error
    assert source.read_bytes() == before


def test_compare_prints_significance_tests_and_the_largest_differences(
    finished_run: Path,
    command: Command,
    corpus: Path,
    translator: Translator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dragoman.evaluation.significance.METHODS", {"bs": "paired bootstrap"})  # one test, to be fast
    recipe = translator.bundle.recipe.model_copy(update={"decoding": Decoding(beam_size=1, max_length=3)})
    replace(translator.bundle, recipe=recipe).save(tmp_path / "short")
    files = ("--source", corpus / "test.de", "--reference", corpus / "test.en")
    arguments = ("compare", finished_run, tmp_path / "short", *files)
    page = tmp_path / "page.html"
    comparison = json.loads(command(*arguments, "--json", "--output", page).out)
    shown = command(*arguments, "--sentences", "2").out
    verdict, _ = shown.split("\n", maxsplit=1)
    assert verdict.startswith("A is significantly better: from A to B, BLEU -")
    assert verdict in page.read_text(encoding="utf-8")
    for test in comparison["significance"]:
        assert f"{test['metric']} B - A = {test['second'] - test['first']:+.2f}, paired bootstrap: p = " in shown
    first, second, third = comparison["differences"][:3]
    assert f"A {first['first_chrf']:7.2f}  {first['first']}" in shown
    assert second["source"] in shown
    assert third["source"] not in shown
