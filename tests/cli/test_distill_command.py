"""dragoman distill: from a run to a student, and resuming."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from many_bundles import DIRECTIONS, make_many, texts

from dragoman.bundle import Bundle, languages_of
from dragoman.recipe import load_recipe
from dragoman.text.multilingual import language_tokens, name_direction

if TYPE_CHECKING:
    from conftest import Command

SMALL: tuple[str, ...] = ("training.steps=4", "model.d_model=16", "model.encoder_layers=1", "distillation.candidates=2")
SETTINGS = [part for each in (*SMALL, "decoding.max_length=10", "data.test=[]") for part in ("--set", each)]


@pytest.fixture(autouse=True)
def small_comparison(monkeypatch: pytest.MonkeyPatch, bare_runs: None) -> None:
    """A small comparison; the tiny teacher is too bad to pass the filter."""
    monkeypatch.setattr("dragoman.synthesis.pair_checks.PairFilter._problems", lambda *arguments: iter(()))
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
        (["{run}", "--directions", ","], "--directions: names no direction"),
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


@pytest.mark.parametrize("directions", [(), ("--directions", "de-szl")])
def test_a_shallow_student_starts_as_its_teacher(directions: tuple[str, ...], command: Command, many: Path) -> None:
    """The teacher has one decoder layer, too, and the learning rate changes nothing."""
    settings = ("training.steps=2", "training.learning_rate=1e-9", "distillation.candidates=2", "data.test=[]")
    given = [part for each in settings for part in ("--set", each)]
    outcome = command("distill", "many", "--size", "shallow", *directions, "--output", "student", *given)
    assert outcome.code == 0, outcome.error
    student, teacher = Bundle.load(many / "student"), Bundle.load(many / "many")
    for name, weights in student.model.named_parameters():
        if not name.startswith(("source_embedding", "target_embedding", "output.")):
            assert torch.allclose(weights, teacher.model.get_parameter(name), atol=1e-4), name
    assert "before and after" not in outcome.error, "the comparison with the teacher says that"


def test_a_shallow_student_translates_in_all_directions_of_a_deep_teacher(command: Command, many: Path) -> None:
    """Some have no text to validate on; what the teacher knows of its third decoder layer does not hold there."""
    deep = make_many(decoding__max_length=12, model__decoder_layers=3)
    facts = {name: {**each, "alignment": {"layer": 2, "shifted": False}} for name, each in deep.facts.items()}
    replace(deep, facts=facts).save(many / "deep" / "bundle")
    for code in ("de", "en"):
        lines = (many / f"train.{code}").read_text("utf-8").splitlines(keepends=True)
        (many / f"dev.{code}").write_text("".join(lines[:10]), "utf-8")
    validation = 'data.validation=[{source="dev.de", target="dev.en", languages=["de", "en"]}]'
    given = [
        part for each in ("training.steps=2", "distillation.candidates=2", "data.test=[]") for part in ("--set", each)
    ]
    arguments = ["distill", "deep", "--output", "student", "--set", validation, *given]
    outcome = command(*arguments, "--size", "shallow")
    assert outcome.code == 0, outcome.error
    assert "the first 1 of 3 decoder layers" in outcome.error
    student = Bundle.load(many / "student")
    assert student.source.vocabulary.tokens == deep.source.vocabulary.tokens
    for name in student.facts:
        assert command("translate", "student", "Ein Hund.", *direction_options(name)).code == 0, name
    other = command(*arguments, "--size", "tiny", "--resume")
    assert "was started with another --size or --set model.…" in other.error


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A teacher with six directions, in the working directory with its text."""
    monkeypatch.chdir(tmp_path)
    make_many(decoding__max_length=12).save(tmp_path / "many" / "bundle")
    for code, lines in texts(count=60).items():
        (tmp_path / f"train.{code}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return tmp_path


def test_a_student_of_a_direction_is_an_ordinary_translator(command: Command, many: Path) -> None:
    outcome = command("distill", "many", "--directions", "szl-de", *SETTINGS)
    assert outcome.code == 0, outcome.error
    student = Bundle.load(many / "runs" / "many-szl-de-tiny")
    assert (student.recipe.data.languages, student.recipe.data.directions) == (("szl", "de"), ())
    assert (languages_of(student), student.facts) == ([], {})
    assert student.validation["bleu"] >= 0
    card = (many / "runs" / "many-szl-de-tiny" / "bundle" / "README.md").read_text("utf-8")
    assert "from Silesian (szl) to German (de)" in card
    assert "* train.szl and train.de: source and license are not known" in card or "* train.de and train.szl" in card
    assert "It learned from translations by many: the licenses of that text apply, too." in card


@pytest.mark.parametrize("given", [("szl-en", "de-szl,szl-de"), ("all",)])
def test_a_student_has_the_directions_that_are_asked_for(given: tuple[str, ...], command: Command, many: Path) -> None:
    options = [part for each in given for part in ("--directions", each)]
    (many / "mono.de").write_text("Das ist ein neuer Satz.\n", "utf-8")
    arguments = ["distill", "many", *options, "--mono", "mono.de", *SETTINGS]
    outcome = command(*arguments)
    assert outcome.code == 0, outcome.error
    asked = [name for each in given if each != "all" for name in each.split(",")]
    run = many / "runs" / "-".join(["many", *asked, "tiny"])
    student = Bundle.load(run)
    assert set(student.facts) == set(asked or map(name_direction, DIRECTIONS))
    assert set(student.directions) == {tuple(name.split("-")) for name in student.facts}
    assert set(language_tokens(student.source)) == set(student.recipe.data.all_languages)
    rows = [line for line in (run / "bundle" / "README.md").read_text("utf-8").splitlines() if line.startswith("| ")]
    for name in student.facts:
        assert [row.split(" | ")[0] for row in rows].count(f"| {name}: This translator") == 1
        assert f"{name}: 60 training pairs" in outcome.error
        assert command("translate", run, "Ein Hund.", *direction_options(name)).code == 0
    assert command(*arguments, "--resume").code == 0
    other = command("distill", "many", "--directions", "en-de", "--output", run, "--resume", *SETTINGS)
    assert "was started with another --directions; to continue it" in other.error


def direction_options(name: str) -> list[str]:
    """The options that state a direction."""
    return [
        part for side in zip(("--source-language", "--target-language"), name.split("-"), strict=True) for part in side
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["many", "--directions", "de-fr,de-en"], "many: no direction de-fr; there is de-en, de-szl, en-de"),
        (["many", "--directions", "all,de-en"], "no direction all; there is de-en"),
        (["many", "{run}", "--directions", "de-en,en-de"], "have different tokenizers"),
        (["many", "few"], "few: was not trained for de-szl, only for de-en, en-szl"),
        (["few", "--directions", "de-szl"], "few: no direction de-szl; there is de-en, en-szl"),
        (["many", "--mono", "mono.txt"], "mono.txt: its name does not end with a language of the model (de, en, szl)"),
        (
            ["many", "--directions", "de-en,szl-en", "--mono", "mono.en"],
            "mono.en: the student does not translate from en",
        ),
        (["many", "--mono", "mono.de"], "lines do not look like de"),
        (["{run}", "--directions", "en-de"], "no direction en-de; there is de-en"),
        (["{run}", "--directions", "de-en,en-de"], "no direction en-de; there is de-en"),
    ],
)
def test_directions_that_cannot_be_learned_are_refused(
    arguments: list[str], message: str, command: Command, many: Path, finished_run: Path
) -> None:
    make_many([("de", "en"), ("en", "szl")]).save(many / "few" / "bundle")
    for name in ("mono.txt", "mono.en", "mono.de"):
        shutil.copyfile(many / "train.en", many / name)
    outcome = command("distill", *(each.format(run=finished_run) for each in arguments), *SETTINGS)
    assert (outcome.code, message in outcome.error) == (2, True), outcome.error
    assert not (many / "runs").exists()
