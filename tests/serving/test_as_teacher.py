"""`dragoman serve` as a teacher, over the protocols of translation services."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.corpus.corpus import read_corpus
from dragoman.dataset.pairs import find_training_corpora
from dragoman.evaluation.metrics import corpus_scores
from dragoman.recipe import load_recipe
from dragoman.serving.detection import LanguageDetector
from dragoman.serving.models import ModelOptions, load_models
from dragoman.synthesis.teachers import SERVICES

if TYPE_CHECKING:
    from running_server import StartServer

    from conftest import Command
    from dragoman.translator import Translator

LINES = 60


@pytest.fixture(autouse=True)
def no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny translator is too bad to pass the checks."""
    monkeypatch.setattr("dragoman.synthesis.answer_checks.AnswerChecks._problems", lambda *arguments: iter(()))
    monkeypatch.setattr("dragoman.synthesis.synthesis.explain_language", lambda *arguments: None)
    monkeypatch.setattr("dragoman.synthesis.pair_checks.check_sentence", lambda *arguments: iter(()))


@pytest.fixture(scope="module")
def url(finished_run: Path, start_server: StartServer) -> str:
    """The address of a server with the tiny bundle."""
    server, models = start_server(), load_models([finished_run], ModelOptions())
    server.service.use_models(models, LanguageDetector.of(models))
    return server.url


@pytest.fixture
def mono(corpus: Path, tmp_path: Path) -> Path:
    path = tmp_path / "mono.de"
    path.write_text("".join((corpus / "train.de").read_text("utf-8").splitlines(True)[:LINES]), "utf-8")
    return path


def read_output(path: Path) -> Iterator[tuple[str, str]]:
    corpus = read_corpus(str(path), source_language="de", target_language="en")
    return ((pair.source, pair.target) for pair in corpus)


def test_the_text_is_that_of_the_bundle_on_disk(
    url: str, finished_run: Path, mono: Path, command: Command, tmp_path: Path
) -> None:
    direct = command("synthesize", "--teacher", finished_run, "--mono", mono, "--output", tmp_path / "direct.tsv")
    assert direct.code == 0, direct.error
    expected = list(read_output(tmp_path / "direct.tsv"))
    assert len(expected) > LINES / 2
    for protocol in SERVICES:
        output = tmp_path / f"{protocol}.tsv"
        arguments = ("--teacher", f"{protocol}:{url}", "--languages", "de-en", "--mono", mono, "--output", output)
        outcome = command("synthesize", *arguments)
        assert outcome.code == 0, outcome.error
        found = list(read_output(output))
        assert set(expected) <= set(found)
        assert len(found) >= len(expected)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", SERVICES)
def test_a_teacher_has_the_scores_of_its_bundle(
    protocol: str, url: str, corpus: Path, command: Command, translator: Translator
) -> None:
    files = ("--source", corpus / "test.de", "--reference", corpus / "test.en")
    outcome = command("evaluate", "--teacher", f"{protocol}:{url}", "--languages", "de-en", *files, "--json")
    assert outcome.code == 0, outcome.error
    sources, references = ((corpus / name).read_text("utf-8").splitlines() for name in ("test.de", "test.en"))
    direct = corpus_scores([each.text for each in translator(sources)], references)
    assert json.loads(outcome.out)["bleu"] == pytest.approx(direct["bleu"], abs=0.01)


@pytest.mark.slow
def test_a_student_learns_from_a_teacher(url: str, mono: Path, command: Command, tmp_path: Path) -> None:
    run = tmp_path / "student"
    settings = ("training.steps=4", "model.d_model=16", "model.encoder_layers=1", "training.device=cpu")
    options = [part for each in settings for part in ("--set", each)]
    teacher = ("--teacher", f"libretranslate:{url}", "--languages", "de-en", "--mono", mono)
    outcome = command("distill", *teacher, "--output", run, *options)
    assert outcome.code == 0, outcome.error
    pairs = list(find_training_corpora(load_recipe(run / "recipe.toml").data, None))
    assert {pair.source for pair in pairs} <= set(mono.read_text("utf-8").splitlines())
    assert not any(pair.tagged for pair in pairs), "the student imitates its teacher"
    assert command("translate", run, "Ein Hund.").code == 0
    again = command("distill", *teacher, "--output", run, *options, "--resume")
    assert (again.code, "this run is finished" in again.error) == (0, True), again.error
