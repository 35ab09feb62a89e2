"""`dragoman evaluate`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sacrebleu.metrics.bleu import BLEU

from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command


def test_evaluate_prints_the_scores_of_the_translations(
    finished_run: Path, command: Command, corpus: Path, translator: Translator
) -> None:
    files = ("--source", corpus / "test.de", "--reference", corpus / "test.en")
    sources, references = ((corpus / name).read_text().splitlines() for name in ("test.de", "test.en"))
    outcome = command("evaluate", finished_run, *files)
    assert outcome.code == 0
    bleu = BLEU()
    score = bleu.corpus_score([each.text for each in translator(sources)], [references]).score
    assert f"BLEU {score:.2f}  {bleu.get_signature()}" in outcome.out
    scores = json.loads(command("evaluate", finished_run, *files, "--json").out)
    assert scores["bleu"] == pytest.approx(score, abs=6e-4)
    assert f"perplexity {scores['perplexity']:.3f}" in outcome.out
    greedy = command("evaluate", finished_run, *files, "--set", "decoding.beam_size=1")
    assert "30 sentences from de into en, greedy" in greedy.out
    assert (
        "; translated by ctranslate2 in int8\n"
        in command("evaluate", finished_run, *files, "--compute-type", "int8").out
    )
    assert (scores["engine"], scores["compute_type"]) == ("ctranslate2", "float32")


def test_teacher_forced_bleu_is_shown_only_if_the_recipe_enables_it(
    finished_run: Path, command: Command, corpus: Path, translator: Translator, tmp_path: Path
) -> None:
    files = ("--source", corpus / "test.de", "--reference", corpus / "test.en")
    shown = command("evaluate", finished_run, *files).out
    scores = json.loads(command("evaluate", finished_run, *files, "--json").out)
    assert f"token accuracy {scores['token_accuracy']:.1%}" in shown
    assert scores["teacher_forced_bleu"] is None
    assert "teacher-forced" not in shown
    recipe = translator.bundle.recipe
    training = recipe.training.model_copy(update={"teacher_forced_bleu": True})
    replace(translator.bundle, recipe=recipe.model_copy(update={"training": training})).save(tmp_path / "bundle")
    assert "teacher-forced token BLEU" in command("evaluate", tmp_path / "bundle", *files).out


def test_evaluate_rejects_files_of_different_length(
    finished_run: Path, command: Command, corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "short").write_text("one\n")
    files = ("--source", corpus / "test.de", "--reference", tmp_path / "short")
    outcome = command("evaluate", finished_run, *files, "--json")
    assert (outcome.code, outcome.out) == (2, "")
    assert "test.de has 30 lines" in outcome.error
    assert "short has 1 line" in outcome.error


def test_warning_about_long_lines_shows_no_source_code(finished_run: Path, process: Command, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("Hund " * 300 + "\n")
    outcome = process("evaluate", finished_run, "--source", tmp_path / "x", "--reference", tmp_path / "x")
    assert outcome.code == 0
    assert re.fullmatch(r"dragoman: warning: translated only the beginning of 1 of 1 text, because .*\n", outcome.error)


def test_perturbed_adds_the_scores_of_changed_text(finished_run: Path, command: Command, corpus: Path) -> None:
    files = ("--source", corpus / "test.de", "--reference", corpus / "test.en", "--set", "decoding.beam_size=1")
    plain = json.loads(command("evaluate", finished_run, *files, "--json").out)
    scores = json.loads(command("evaluate", finished_run, *files, "--json", "--perturbed").out)
    changed = scores.pop("perturbed")
    assert scores == plain
    assert list(changed) == ["clean", "upper_case", "title_case", "no_end_punctuation", "typos"]
    outcome = command("evaluate", finished_run, *files, "--perturbed")
    assert outcome.code == 0, outcome.error
    for name, each in changed.items():
        (line,) = [line for line in outcome.out.splitlines() if line.startswith(name.replace("_", " ") + " ")]
        assert f"{each['bleu']:.2f}" in line
        assert f"{each['chrf_share']:.1%}" in line
