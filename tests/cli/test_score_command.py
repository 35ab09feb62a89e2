"""`dragoman score`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.evaluation.evaluate import evaluate
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command


def test_score_prints_a_line_per_pair(
    finished_run: Path, command: Command, corpus: Path, translator: Translator, tmp_path: Path
) -> None:
    source, target = corpus / "test.de", corpus / "test.en"
    arguments = ("score", finished_run, "--source", source, "--target", target, "--set", "decoding.length_penalty=0")
    outcome = command(*arguments)
    assert outcome.code == 0
    found = [json.loads(line)["log_probabilities"] for line in command(*arguments, "--json").out.splitlines()]
    assert [float(line) for line in outcome.out.splitlines()] == pytest.approx([sum(each) for each in found], abs=1e-4)
    assert command(*arguments, "--output", tmp_path / "scores.gz").out == ""
    assert gzip.decompress((tmp_path / "scores.gz").read_bytes()).decode() == outcome.out
    report, _ = evaluate(translator, source.read_text("utf-8").splitlines(), target.read_text("utf-8").splitlines())
    loss = -sum(map(sum, found)) / sum(map(len, found))
    assert loss == pytest.approx(report.loss, abs=1e-4), "the loss of evaluate is the mean over all tokens"


def test_score_refuses_to_overwrite_what_it_reads(finished_run: Path, command: Command, corpus: Path) -> None:
    source, target = corpus / "test.de", corpus / "test.en"
    before = target.read_bytes()
    outcome = command("score", finished_run, "--source", source, "--target", target, "--output", target)
    assert outcome.code == 2
    assert f"{target}: is also the target" in outcome.error
    assert target.read_bytes() == before
