"""What training asks by itself: nothing is wrong with a sound start, and what is wrong is told once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from dragoman.corpus.find import Pair
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.training_checks import check_start, check_validation
from dragoman.evaluation.evaluate import Report
from dragoman.model.build import build_model
from dragoman.settings import Recipe, Specials
from dragoman.text.vocabulary import Vocabulary, special_tokens
from dragoman.training.metrics_file import read_metrics

if TYPE_CHECKING:
    from conftest import RecipeMaker, TrainerMaker

VOCABULARY = Vocabulary([*special_tokens(Specials()), *(f"w{number}" for number in range(60))], Specials())
REPORT = Report(4, 2.0, 20.0, "", "", 1.0, 0.2, 1.2, 0.0, 85.0, "greedy")
PAIRS = [Pair(f"Satz {number}", f"Sentence {number} is of some length.") for number in range(20)]
LOOPS = ["pool pool pool pool pool pool pool"] * 20


def start(recipe: Recipe, gain: float = 1.0) -> set[str]:
    model = build_model(recipe.model, len(VOCABULARY), len(VOCABULARY), VOCABULARY.pad, seed=1)
    with torch.no_grad():
        model.output.weight.mul_(gain)
    return {finding.code for finding in check_start(recipe, None, 400, model, VOCABULARY, VOCABULARY)}


def test_a_sound_start_is_not_accused(make_recipe: RecipeMaker) -> None:
    assert not start(make_recipe())
    assert not start(make_recipe("model.max_length=9", "data.max_tokens=8")), "too short to be asked"


def test_what_is_wrong_with_data_or_model_is_found_before_the_first_step(
    make_recipe: RecipeMaker, corpus: Path
) -> None:
    assert start(make_recipe(f'data.test=["{corpus}/train.{{lang}}"]')) == {"test-overlap"}
    assert start(make_recipe(), gain=100.0) == {"bad-initial-loss"}


def test_the_first_half_of_a_run_may_go_in_circles_but_not_score_well_doing_so() -> None:
    def codes(report: Report, spent: float) -> set[str]:
        return {finding.code for finding in check_validation(PAIRS, LOOPS, report, spent)}

    young = replace(REPORT, teacher_forced_bleu=4.0)
    assert not codes(young, 0.2)
    assert codes(young, 0.6) == {"collapsed", "repetition"}
    assert codes(REPORT, 0.2) == {"exposure-gap"}


def test_each_code_is_told_once_and_notes_are_not(
    make_trainer: TrainerMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = make_trainer()
    error = Finding("future-leak", "error", "it sees the future", {}, "no mask", "mask it")
    trainer.warn([error, replace(error, code="duplicates", severity="note"), error])
    trainer.warn([error])
    (event,) = read_metrics(trainer.run / "metrics.jsonl")
    assert event["kind"] == "event"
    assert event["message"] == "error: future-leak: it sees the future"
    told = capsys.readouterr().err
    assert told.count("it sees the future") == 1
    assert "fix: mask it" in told
