"""Each way in which translations go wrong is found by its code, and good ones are not accused."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

import dragoman
from dragoman.corpus.synthetic.captions import captions
from dragoman.doctor.findings.explanations import OUTPUT
from dragoman.doctor.output import checks as output
from dragoman.doctor.output.checks import check_output, diagnose_output, longest_loop
from dragoman.evaluation.evaluate import Report

if TYPE_CHECKING:
    from conftest import Command

SOURCES, REFERENCES = (list(side) for side in zip(*islice(captions("test"), 100), strict=True))
REPORT = Report(100, 40.0, 60.0, "", "", 1.0, 1.5, 4.5, 0.1, 42.0, "greedy")

WRONG: dict[str, list[str]] = {
    "collapsed": [*REFERENCES[:60], *["A man is sitting on a green bench in front of a house."] * 40],
    "empty-output": [*REFERENCES[:-5], *[""] * 5],
    "repetition": [*REFERENCES[:-5], *["A pool pool pool pool pool pool pool"] * 5],
    "copying": [*SOURCES[:20], *REFERENCES[20:]],
    "output-length": [text[: 2 * len(text) // 3] for text in REFERENCES],
}


def codes(translations: list[str], report: Report = REPORT) -> set[str]:
    return {finding.code for finding in check_output(SOURCES, REFERENCES, translations, report)}


def test_good_translations_are_not_accused() -> None:
    assert not codes(REFERENCES)
    assert not codes([*REFERENCES[:-2], "", "very very very very good"]), "one of each may happen"


@pytest.mark.parametrize("code", WRONG)
def test_what_is_wrong_is_found_by_its_code_alone(code: str) -> None:
    assert codes(WRONG[code]) == {code}


def test_what_references_do_too_is_no_fault() -> None:
    copies = check_output(SOURCES, SOURCES, SOURCES)
    assert not copies, "the copy task"
    chant = ["ha ha ha ha ha"] * 100
    assert not check_output(SOURCES, chant, chant)


def test_a_gap_between_teacher_forced_and_decoded_scores_is_found() -> None:
    assert codes(REFERENCES, replace(REPORT, teacher_forced_bleu=85.0, bleu=3.0)) == {"exposure-gap"}
    assert not codes(REFERENCES, replace(REPORT, teacher_forced_bleu=50.0, bleu=38.0))
    assert not codes(REFERENCES, replace(REPORT, teacher_forced_bleu=9.0, bleu=1.0)), "training has only begun"
    assert not codes(REFERENCES, replace(REPORT, teacher_forced_bleu=26.0, bleu=0.0, perplexity=470.0)), "the same"


def test_loops_of_several_words_are_counted() -> None:
    assert longest_loop("a b c d") == 1
    assert longest_loop("pool pool pool pool") == 4
    assert longest_loop("on the on the on the bench") == 3
    assert longest_loop("a b a b b") == 2
    assert longest_loop("") == 1


def losses(translator: dragoman.Translator) -> tuple[float, float]:
    (found,) = (
        one
        for one in diagnose_output(translator, SOURCES[:30], REFERENCES[:30])
        if one.code == "translations-ignore-source"
    )
    return found.measured["loss"], found.measured["loss_with_other_sources"]


def test_a_translator_without_its_source_is_found(finished_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = dragoman.load(finished_run)
    monkeypatch.setattr(output, "SOURCE_WORTH", 1.0)  # which 120 steps of training do not reach
    own, other = losses(translator)
    assert own != other
    with torch.no_grad():
        for name, parameter in translator.bundle.model.named_parameters():
            if "memory_attention.output" in name:
                parameter.zero_()
    own, other = losses(translator)
    assert own == pytest.approx(other, rel=1e-6)


def test_text_of_another_kind_has_unknown_tokens(finished_run: Path) -> None:
    translator = dragoman.load(finished_run)
    vocabulary = translator.bundle.source.vocabulary
    assert not any(vocabulary.unk in ids for ids in translator.bundle.source.encode(SOURCES))
    encode = translator.bundle.source.encode
    translator.bundle.source.encode = lambda texts: [[*ids, *[vocabulary.unk] * 5] for ids in encode(texts)]  # type: ignore[method-assign]
    found = [one for one in diagnose_output(translator, SOURCES[:30], REFERENCES[:30]) if one.code == "unknown-tokens"]
    assert found[0].measured["count"] == 150


def test_every_code_is_tested() -> None:
    assert WRONG.keys() | {"exposure-gap", "unknown-tokens", "translations-ignore-source"} == OUTPUT.keys()


def test_command(command: Command, finished_run: Path, corpus: Path) -> None:
    files = "--source", corpus / "test.de", "--reference", corpus / "test.en"
    outcome = command("doctor", "output", finished_run, *files, "--json")
    findings = json.loads(outcome.out)
    assert outcome.code == any(finding["severity"] == "error" for finding in findings)
    assert {finding["code"] for finding in findings} <= OUTPUT.keys()
    assert command("doctor", "output", corpus, *files).code == 2
