"""`dragoman serve` as a teacher, over the protocols of translation services."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.dataset.pairs import find_training_corpora
from dragoman.evaluation.evaluate import score_texts
from dragoman.recipe import load_recipe
from dragoman.serving.detection import LanguageDetector
from dragoman.serving.models import ModelOptions, load_models
from dragoman.synthesis.teachers import SERVICES

if TYPE_CHECKING:
    from running_server import StartServer

    from conftest import Command
    from dragoman.translator import Translator

LINES = 60


@pytest.fixture
def no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny translator is too bad to pass the checks."""
    monkeypatch.setattr("dragoman.synthesis.pair_checks.PairFilter._problems", lambda *arguments: iter(()))
    monkeypatch.setattr("dragoman.synthesis.synthesis.explain_language", lambda *arguments: None)


@pytest.fixture(scope="module")
def url(finished_run: Path, start_server: StartServer) -> str:
    """The address of a server with the tiny bundle."""
    server, models = start_server(), load_models([finished_run], ModelOptions())
    server.service.use_models(models, LanguageDetector.of(models))
    return server.url


@pytest.fixture
def captions(corpus: Path) -> list[str]:
    return (corpus / "train.de").read_text("utf-8").splitlines()[:LINES]


@pytest.fixture
def mono(captions: list[str], tmp_path: Path) -> Path:
    path = tmp_path / "mono.de"
    path.write_text("".join(f"{line}\n" for line in captions), "utf-8")
    return path


ODD = [
    "",
    "Ein Hund läuft. Zwei Frauen lesen ein Buch. Ein Kind schläft!",
    "Hund",
    "12",
    "- ein Punkt",
    "3. Ein Mann hat 47 Bücher und 5,5 kg Äpfel.",
    "Öffnen Sie {0} und <b>dann</b> https://example.org mit %s.",
    "  zwei  Leerzeichen\tund ein Tabulator ",
    "Ein Mann " + "und eine Frau mit einem Hund " * 60 + "laufen.",
    "EIN HUND LÄUFT IM PARK.",
    "A man is reading a very long book in the garden.",
    "Ein Hund läuft.",
    "Ein Hund läuft.",
    "„Komm“, sagte er (leise).",
    "…",
    "",
]
"""Text of other kinds than captions, also with blank lines and lines without words."""

TEXTS: dict[str, Callable[[list[str]], list[str]]] = {
    "captions": lambda captions: captions,
    "odd": lambda captions: ODD,
    "both": lambda captions: [*captions, *ODD, *captions[::-1]],
}


def read_reasons(error: str) -> dict[str, int]:
    """The table of rejected translations."""
    rows = re.findall(r"^ +([\d,]+)  (\S.*)$", error, re.MULTILINE)
    return {reason: int(count.replace(",", "")) for count, reason in rows}


@pytest.mark.parametrize("filtered", [True, False])
@pytest.mark.parametrize("name", TEXTS)
def test_the_text_is_that_of_the_bundle_on_disk(
    name: str,
    filtered: bool,
    url: str,
    finished_run: Path,
    captions: list[str],
    command: Command,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """The same pairs in the same order, and the same reasons for those that are rejected."""
    if not filtered:
        request.getfixturevalue("no_filter")
    mono = tmp_path / "mono.de"
    mono.write_text("".join(f"{line}\n" for line in TEXTS[name](captions)), "utf-8")
    written: dict[str, bytes] = {}
    reasons: dict[str, dict[str, int]] = {}
    for teacher in (str(finished_run), *(f"{protocol}:{url}" for protocol in SERVICES)):
        output = tmp_path / f"{len(reasons)}.tsv"
        arguments = ("--languages", "de-en", "--mono", mono, "--output", output, "--max-rejected", "1")
        outcome = command("synthesize", "--teacher", teacher, *arguments)
        assert (outcome.code == 0) is output.exists(), outcome.error
        written[teacher] = output.read_bytes() if output.exists() else b""
        reasons[teacher] = read_reasons(outcome.error)
    direct = str(finished_run)
    assert all(each == written[direct] for each in written.values()), reasons
    assert all(each == reasons[direct] for each in reasons.values())
    assert bool(reasons[direct]) is filtered
    if not filtered:
        assert written[direct].count(b"\n") == 1 + sum(any(map(str.isalpha, line)) for line in TEXTS[name](captions))


@pytest.mark.slow
@pytest.mark.usefixtures("no_filter")
@pytest.mark.parametrize("protocol", SERVICES)
def test_a_teacher_has_the_scores_of_its_bundle(
    protocol: str, url: str, corpus: Path, command: Command, translator: Translator
) -> None:
    files = ("--source", corpus / "test.de", "--reference", corpus / "test.en")
    outcome = command("evaluate", "--teacher", f"{protocol}:{url}", "--languages", "de-en", *files, "--json")
    assert outcome.code == 0, outcome.error
    sources, references = ((corpus / name).read_text("utf-8").splitlines() for name in ("test.de", "test.en"))
    direct, found = score_texts([each.text for each in translator(sources)], references), json.loads(outcome.out)
    assert [found[name] for name in ("bleu", "chrf", "chrf_pp")] == pytest.approx(
        [direct[name] for name in ("bleu", "chrf", "chrf_pp")], abs=0.01
    )


@pytest.mark.slow
@pytest.mark.usefixtures("no_filter")
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
    card, report = ((run / name).read_text("utf-8") for name in ("bundle/README.md", "report.html"))
    assert f"learned from translations by the translation service libretranslate:{url}" in card
    assert "how well this translator imitates the teacher" in card
    assert f"<dt>Teacher</dt><dd>the translation service libretranslate:{url}</dd>" in report
    assert "<dt>Translation by the teacher</dt>" in report
    assert "<dt>Reference</dt>" not in report
    again = command("distill", *teacher, "--output", run, *options, "--resume")
    assert (again.code, "this run is finished" in again.error) == (0, True), again.error
