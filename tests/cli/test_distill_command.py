"""dragoman distill: from a run to a student, and resuming."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from many_bundles import make_many, texts

from dragoman.bundle import Bundle, languages_of
from dragoman.recipe import load_recipe

if TYPE_CHECKING:
    from conftest import Command

SMALL = ("training.steps=4", "model.d_model=16", "model.encoder_layers=1", "distillation.candidates=2")
SMALL += ("decoding.max_length=10",)
SETTINGS = [part for each in (*SMALL, "data.test=[]") for part in ("--set", each)]


@pytest.fixture(autouse=True)
def small_comparison(monkeypatch: pytest.MonkeyPatch, bare_runs: None) -> None:
    """A small comparison; the tiny teacher is too bad to pass the filter."""
    monkeypatch.setattr("dragoman.synthesis.pair_checks.check_sentence", lambda *arguments: iter(()))
    monkeypatch.setattr("dragoman.training.compare.MAX_PAIRS", 3)


def test_a_student_is_trained_translates_and_is_resumed(
    command: Command, finished_run: Path, corpus: Path, tmp_path: Path
) -> None:
    run = tmp_path / "student"
    arguments: list[str | Path] = ["distill", finished_run, "--output", run, "--mono", corpus / "test.de", *SETTINGS]
    same: list[str | Path] = [
        "distill",
        f"{finished_run}/",
        "--output",
        run,
        "--mono",
        f"{corpus}/./test.de",
        *SETTINGS,
    ]
    outcome = command(*arguments)
    assert outcome.code == 0, outcome.error
    pairs, texts = (len((corpus / name).read_text("utf-8").splitlines()) for name in ("train.de", "test.de"))
    described = f"tiny: {pairs:,} training pairs and {texts:,} monolingual texts; "
    for text in (
        described,
        "stage 1 of 2: translating",
        "stage 2 of 2: the translator",
        "This translator, greedy",
        "BLEU",
    ):
        assert text in outcome.error
    assert load_recipe(run / "recipe.toml").distillation.mono == (str(corpus / "test.de"),)
    assert command("translate", run, "Ein Hund.").code == 0
    again = command(*arguments, "--resume")
    assert (again.code, "this run is finished" in again.error) == (0, True)
    assert "already contains a run" in command(*arguments).error
    assert command(*same, "--resume").code == 0
    other = command("distill", finished_run, "--output", run, "--minutes", "3", "--resume", *SETTINGS[2:])
    assert "was started with another --mono and --minutes; to continue it: dragoman train" in other.error
    larger = command(*arguments[:6], *SETTINGS[:2], *SETTINGS[6:], "--resume")
    assert "was started with another --size or --set model.…; to continue it" in larger.error
    resumed = command("train", run / "recipe.toml", "--output", run, "--resume")
    assert (resumed.code, "this run is finished" in resumed.error) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{tmp}/nothing"], "no such bundle or run directory"),
        (["{run}", "--set", "data.train=['{tmp}/gone.{{lang}}']"], "no such file"),
        (["{run}", "--mono", "{tmp}/mono.de"], "no such file"),
        (["{run}", "{run}/"], "named twice"),
        (["{run}", "{run}/bundle"], "named twice"),
        (["{run}", "--round-trip", "{run}"], "--round-trip only chooses translations of --mono"),
        (["{run}", "--resume"], "there is no run to resume"),
        (["{run}", "--round-trip", "{run}", "--mono", "{corpus}/test.de"], "translates from de to en, not from en to"),
        (["{run}", "--set", "distillation.teachers=[]"], "name the teachers as arguments"),
        (["{run}", "--mono", "{run}/bundle/model.safetensors"], "not valid UTF-8"),
        (["{run}", "--mono", "/dev/null"], "must be a file"),
        (["{run}", "--mono", "-"], "must be a file"),
        (["{run}", "--mono", "{corpus}/test.en"], "lines do not look like de"),
        (["{run}", "--mono", "{tmp}/mono.tsv"], "expected a text file with one sentence per line"),
    ],
)
def test_errors_leave_no_directory(
    arguments: list[str], message: str, command: Command, finished_run: Path, corpus: Path, tmp_path: Path
) -> None:
    places = {"run": finished_run, "tmp": tmp_path, "corpus": corpus}
    run = tmp_path / "student"
    outcome = command("distill", *(each.format(**places) for each in arguments), "--output", run, *SETTINGS)
    assert (outcome.code, message in outcome.error) == (2, True), outcome.error
    assert not run.exists()


def test_the_run_of_a_student_is_named_after_the_directory_of_its_teacher(
    command: Command, finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two teachers of one language pair often have recipes of the same name."""
    monkeypatch.chdir(tmp_path)
    teacher = tmp_path / "elsewhere" / "ui"
    shutil.copytree(finished_run, teacher)
    outcome = command("distill", f"{teacher}/bundle/", *SETTINGS)
    assert outcome.code == 0, outcome.error
    assert (tmp_path / "runs" / "ui-tiny" / "bundle").is_dir()


def test_a_student_of_a_direction_is_an_ordinary_translator(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_many(decoding__max_length=12).save(tmp_path / "many" / "bundle")
    for code, lines in texts(count=60).items():
        (tmp_path / f"train.{code}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    for given, message in (
        ([], "choose the direction of the student with --directions; there is de-en, de-szl"),
        (["--directions", "de-fr"], "no direction de-fr; there is de-en, de-szl"),
        (["--directions", "de-szl,szl-de"], "train one for each: dragoman distill many --directions de-szl; dragoman"),
        (["--directions", "de-szl", "--directions", "en-de"], "a student has one direction"),
    ):
        assert message in command("distill", "many", *given).error
    outcome = command("distill", "many", "--directions", "szl-de", *SETTINGS)
    assert outcome.code == 0, outcome.error
    student = Bundle.load(tmp_path / "runs" / "many-szl-de-tiny")
    assert (student.recipe.data.languages, student.recipe.data.directions) == (("szl", "de"), ())
    assert (languages_of(student), student.facts) == ([], {})
    assert student.validation["bleu"] >= 0
    card = (tmp_path / "runs" / "many-szl-de-tiny" / "bundle" / "README.md").read_text("utf-8")
    assert "from Silesian (szl) to German (de)" in card
    assert "* train.szl and train.de: source and license are not known" in card or "* train.de and train.szl" in card
    assert "It learned from translations by many: the licenses of that text apply, too." in card
