"""The checks that training runs: a correct start has no findings, and each code is reported once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from dragoman.corpus.pair import Pair
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.training_checks import check_start, check_validation
from dragoman.evaluation.evaluate import Report
from dragoman.evaluation.metrics import UNTRAINED
from dragoman.model.build import build_model
from dragoman.settings import Decoding, Recipe, Specials
from dragoman.text.vocabulary import Vocabulary, special_tokens
from dragoman.training.run.log import read_metrics

if TYPE_CHECKING:
    from conftest import RecipeMaker, TrainerMaker

VOCABULARY = Vocabulary([*special_tokens(Specials()), *(f"w{number}" for number in range(60))], Specials())
REPORT = Report(4, 2.0, 20.0, "", "", 1.0, 0.2, 1.2, 0.0, 0.95, None, "greedy")
PAIRS = [Pair(f"Satz {number}", f"Sentence {number} is of some length.") for number in range(20)]
REPETITIONS = ["pool pool pool pool pool pool pool"] * 20


def start(recipe: Recipe, gain: float = 1.0) -> set[str]:
    model = build_model(recipe.model, len(VOCABULARY), len(VOCABULARY), VOCABULARY.pad, seed=1)
    with torch.no_grad():
        model.output.weight.mul_(gain)
    return {finding.code for finding in check_start(recipe, None, 400, model, VOCABULARY, VOCABULARY)}


def test_a_correct_start_has_no_findings(make_recipe: RecipeMaker) -> None:
    assert not start(make_recipe())
    assert not start(make_recipe("model.max_length=9", "data.max_tokens=8")), "too short to check the model"


def test_faults_of_data_and_model_are_found_before_the_first_step(make_recipe: RecipeMaker, corpus: Path) -> None:
    assert start(make_recipe(f'data.test=["{corpus}/train.{{lang}}"]')) == {"test-overlap"}
    assert start(make_recipe(), gain=100.0) == {"bad-initial-loss"}


def test_only_the_exposure_gap_is_reported_in_the_first_half_of_a_run() -> None:
    def codes(report: Report, spent: float) -> set[str]:
        return {finding.code for finding in check_validation(PAIRS, REPETITIONS, report, spent, Decoding())}

    early = replace(REPORT, token_accuracy=0.25)
    assert not codes(early, 0.2)
    assert codes(early, 0.6) == {"collapsed", "repetition"}
    assert codes(REPORT, 0.2) == {"exposure-gap"}


def test_a_model_that_has_hardly_learned_should_train_longer_first() -> None:
    def fixes(perplexity: float) -> dict[str, str]:
        report = replace(REPORT, token_accuracy=0.1, perplexity=perplexity)
        return {each.code: each.fix for each in check_validation(PAIRS, REPETITIONS, report, 1.0, Decoding())}

    trained, untrained = fixes(UNTRAINED), fixes(UNTRAINED + 1)
    assert trained.keys() == untrained.keys() == {"collapsed", "repetition"}
    assert "the perplexity is still" not in "".join(trained.values())
    (fix,) = set(untrained.values())
    assert fix.startswith("train longer, because the perplexity is still 101; ")
    assert fix.count("train longer") == 1


def test_advice_about_length_fits_the_search_of_the_finished_translator() -> None:
    def advice(beam_size: int) -> str:
        decoding = Decoding(beam_size=beam_size)
        found = check_validation(PAIRS, ["Short."] * 20, REPORT, 1.0, decoding)
        return next(finding.fix for finding in found if finding.code == "output-length")

    assert advice(1).startswith("use beam search")
    assert advice(5).startswith("raise decoding.length_penalty")


def test_each_code_is_reported_once_and_notes_are_not_reported(
    make_trainer: TrainerMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = make_trainer()
    error = Finding("future-leak", "error", "later tokens are visible", {}, "no mask", "mask it")
    trainer.log.warn(trainer.position, [error, replace(error, code="duplicates", severity="note"), error])
    trainer.log.warn(trainer.position, [error])
    for direction in ("de-hsb", "hsb-de", "de-hsb"):
        trainer.log.warn(trainer.position, [error], direction)
    events = read_metrics(trainer.run / "metrics.jsonl")
    assert {event["kind"] for event in events} == {"event"}
    assert [event["message"] for event in events] == [
        f"error: future-leak: {direction}later tokens are visible" for direction in ("", "de-hsb: ", "hsb-de: ")
    ]
    log = capsys.readouterr().err
    assert log.count("later tokens are visible") == 3
    assert "fix: mask it" in log
