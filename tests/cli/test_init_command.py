"""`dragoman init`, and `dragoman train` on files instead of a recipe."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.cli.text_references import parse_languages
from dragoman.corpus.references import file_name
from dragoman.recipe import load_recipe
from dragoman.system.time_limit import LEAST_TRAINING

if TYPE_CHECKING:
    from conftest import Command

SMALL = ("training.steps=3", "training.validations=1", "model.d_model=16", "decoding.max_length=10")
FAST = tuple(part for each in SMALL for part in ("--set", each))
"""Without the limit, models that learned nothing would translate up to the maximum length."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def files(corpus: Path) -> tuple[str, str]:
    return str(corpus / "train.de"), str(corpus / "train.en")


def test_init_writes_a_recipe_that_trains(files: tuple[str, str], tmp_path: Path, command: Command) -> None:
    recipe, run = tmp_path / "recipe.toml", tmp_path / "run"
    outcome = command("init", *files, "--output", recipe, "--minutes", "5")
    assert outcome.code == 0, outcome.error
    assert "400 training pairs" in outcome.out
    assert f"dragoman train {recipe}" in outcome.out
    assert load_recipe(recipe).training.minutes == 5
    assert command("train", recipe, "--output", run, *FAST).code == 0
    refused = command("init", *files, "--output", recipe)
    assert (refused.code, "already exists" in refused.error) == (2, True)


def test_problems_of_the_validation_text_are_warnings(
    files: tuple[str, str], corpus: Path, tmp_path: Path, command: Command
) -> None:
    held_out = [tmp_path / f"twice.{language}" for language in ("de", "en")]
    for path in held_out:
        path.write_text(2 * (corpus / f"validation{path.suffix}").read_text("utf-8"), "utf-8")
    outcome = command("init", *files, "--validation", *held_out, "--output", tmp_path / "recipe.toml")
    assert outcome.code == 0
    assert [line for line in outcome.error.splitlines() if line.startswith("warning: duplicates: ")]
    assert outcome.error.count("warning: ") == 1


def test_less_than_a_minute_is_given_in_seconds(files: tuple[str, str], tmp_path: Path, command: Command) -> None:
    outcome = command("init", *files, "--output", tmp_path / "recipe.toml", "--minutes", "0.2")
    assert "epochs and 12 seconds" in outcome.out, outcome.out


def test_the_command_that_init_prints_is_for_a_shell(files: tuple[str, str], tmp_path: Path, command: Command) -> None:
    recipe = tmp_path / 'my "first" recipe.toml'
    outcome = command("init", *files, "--output", recipe)
    assert shlex.split(outcome.out.splitlines()[-1].partition("train with: ")[2]) == ["dragoman", "train", str(recipe)]


@pytest.mark.parametrize("keep", [(), ("--keep-all",)])
def test_text_from_a_pipe_is_refused_before_it_is_read(
    keep: tuple[str, ...], files: tuple[str, str], tmp_path: Path, command: Command
) -> None:
    pipe = tmp_path / "pipe.de"
    os.mkfifo(pipe)
    for arguments in (("init", pipe, files[1], "--output", tmp_path / "recipe.toml"), ("train", pipe, files[1])):
        outcome = command(*arguments, *keep)
        assert outcome.code == 2
        assert outcome.error.rstrip().endswith("so it cannot come from a pipe; save it to a file first")


def test_train_on_files_is_training_on_the_recipe_of_init(
    files: tuple[str, str], corpus: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    held_out = ("--validation", str(corpus / "validation.{lang}"), "--test", corpus / "test.de", corpus / "test.en")
    assert command("init", *files, *held_out, "--output", "recipe.toml").code == 0
    outcome = command("train", *files, *held_out, *FAST)
    assert outcome.code == 0, outcome.error
    assert "test.de" in outcome.error, "the test text was scored"
    run = tmp_path / "runs" / "de-en"
    assert load_recipe(run / "recipe.toml") == load_recipe(tmp_path / "recipe.toml", FAST[1::2])
    both = command("train", *files, "--minutes", "1", *FAST)
    assert (both.code, "both say how long to train" in both.error) == (2, True)
    again = command("train", *files, *held_out, *FAST)
    assert (again.code, "already contains a run" in again.error) == (2, True)
    longer = command("train", *files, "--resume", "--minutes", "9")
    assert (longer.code, "another --minutes" in longer.error) == (2, True), longer.error
    other = command("train", corpus / "test.de", corpus / "test.en", "--resume=auto")
    assert (other.code, "another training text" in other.error) == (2, True), other.error
    renamed = command("train", *files, "--resume", "--languages", "de-fr", "--output", run)
    assert (renamed.code, "another --languages" in renamed.error) == (2, True), renamed.error
    swapped = command("train", *files[::-1], "--languages", "de-en", "--output", "swapped")
    assert (swapped.code, "exchange" in swapped.error) == (2, True), swapped.error
    resumed = command("train", *files, "--resume")
    assert (resumed.code, "finished" in resumed.error) == (0, True), resumed.error


def test_minutes_are_those_of_the_whole_command(
    files: tuple[str, str], corpus: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    test = ("--test", str(corpus / "test.{lang}"))
    outcome = command("train", *files, "--minutes", "0.1", *test, "--output", "run", *FAST[2:6])
    assert outcome.code == 0, outcome.error
    assert "24 of 30 sentences are scored, to end in time" in outcome.error
    minutes = load_recipe(tmp_path / "run" / "recipe.toml").training.minutes
    assert minutes
    assert LEAST_TRAINING * 0.1 <= minutes < 0.1
    again = command("train", *files, *test, "--minutes", "0.1", "--output", "run", "--resume")
    assert (again.code, "finished" in again.error) == (0, True), again.error


def test_two_pairs_can_train_and_one_cannot(
    files: tuple[str, str], corpus: Path, tmp_path: Path, command: Command
) -> None:
    for number in (1, 2):
        for language, file in zip(("de", "en"), files, strict=True):
            lines = Path(file).read_text("utf-8").splitlines()[:number]
            (tmp_path / f"{number}.{language}").write_text("\n".join(lines), "utf-8")
    one, two = ([tmp_path / f"{number}.de", tmp_path / f"{number}.en"] for number in (1, 2))
    for refused in (
        command("init", *one, "--output", tmp_path / "recipe.toml"),
        command("train", *one, "--output", tmp_path / "run", *FAST),
    ):
        assert (refused.code, "has one pair" in refused.error) == (2, True), refused.error
    assert not (tmp_path / "recipe.toml").exists()
    validation = ("--validation", corpus / "validation.de", corpus / "validation.en")
    assert command("train", *one, *validation, "--output", tmp_path / "one", *FAST).code == 0
    trained = command("train", *two, "--output", tmp_path / "two", *FAST)
    assert trained.code == 0, trained.error
    assert "expect about 3 steps" in trained.error, "the estimate is for the settings that were given"


def test_the_run_directory_is_checked_before_the_text(files: tuple[str, str], tmp_path: Path, command: Command) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine", "utf-8")
    for arguments, message in (
        (("--resume", "--output", tmp_path / "new"), "no run to resume"),
        (("--output", tmp_path / "full"), "not empty"),
    ):
        refused = command("train", *files, *arguments, *FAST)
        assert (refused.code, message in refused.error) == (2, True), refused.error
        assert "checking" not in refused.error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]


def test_the_languages_of_the_bundle_are_checked_before_the_text(
    files: tuple[str, str], finished_run: Path, tmp_path: Path, command: Command
) -> None:
    options = ("--languages", "fr-en", "--start-from", finished_run, "--set", "training.new_vocabulary=false")
    outcome = command("train", *files, *options, "--output", tmp_path / "run")
    assert outcome.code == 2
    assert f"{finished_run} translates de-en, not fr-en" in outcome.error
    assert "checking" not in outcome.error


def test_a_bundle_of_other_languages_gets_a_new_vocabulary(
    files: tuple[str, str], finished_run: Path, tmp_path: Path, command: Command
) -> None:
    recipe = tmp_path / "recipe.toml"
    options = ("--languages", "fr-en", "--start-from", finished_run, "--keep-all")
    outcome = command("init", *files, *options, "--output", recipe)
    assert outcome.code == 0, outcome.error
    assert load_recipe(recipe).training.new_vocabulary
    assert load_recipe(recipe).training.start_share == 0
    assert "translates other languages" in recipe.read_text("utf-8")


def test_the_output_is_checked_before_the_text(tmp_path: Path, command: Command) -> None:
    result = command("init", "missing.de", "missing.en", "--output", tmp_path / "missing/r.toml")
    assert result.code == 2
    assert f"there is no directory {tmp_path / 'missing'}" in result.error


def test_files_of_unknown_languages_need_an_option(files: tuple[str, str], tmp_path: Path, command: Command) -> None:
    table = tmp_path / "pairs.tsv"
    assert command("convert", *files[::-1], table).code == 0
    unknown = command("train", table)
    assert (unknown.code, "--languages" in unknown.error) == (2, True)
    swapped = command("train", table, "--languages", "de-en", "--output", tmp_path / "swapped", *FAST)
    assert (swapped.code, "swapped-sides" in swapped.error) == (2, True), swapped.error
    outcome = command("train", table, "--languages", "en-de", "--output", tmp_path / "run", *FAST)
    assert outcome.code == 0, outcome.error
    assert load_recipe(tmp_path / "run" / "recipe.toml").data.source_language == "en"


@pytest.mark.parametrize("name", ["pairs.tmx", "pairs.jsonl"])
def test_files_that_state_their_languages_need_no_option(
    name: str, files: tuple[str, str], tmp_path: Path, command: Command
) -> None:
    assert command("convert", *files, tmp_path / name).code == 0
    outcome = command("init", tmp_path / name, "--output", tmp_path / "recipe.toml")
    assert outcome.code == 0, outcome.error
    assert "de-en: 400 training pairs" in outcome.out
    assert load_recipe(tmp_path / "recipe.toml").data.target_language == "en"


def test_one_of_several_files_that_needs_options_is_converted_first(
    files: tuple[str, str], tmp_path: Path, command: Command
) -> None:
    assert command("convert", *files, tmp_path / "one.tsv").code == 0
    (tmp_path / "two.csv").write_bytes("Größe;size\nStraße;street\n".encode("cp1252"))
    given: list[str | Path] = [
        "init",
        tmp_path / "one.tsv",
        tmp_path / "two.csv",
        "--languages",
        "de-en",
        "--output",
        tmp_path / "x.toml",
    ]
    outcome = command(*given)
    remedy = f"convert it first: dragoman convert {tmp_path}/two.csv converted.tsv --languages de-en --encoding cp1252"
    assert (outcome.code, remedy in outcome.error) == (2, True), outcome.error


def test_the_format_of_held_out_text_is_checked_before_the_training_text(
    files: tuple[str, str], tmp_path: Path, command: Command
) -> None:
    table = tmp_path / "test.csv"
    table.write_text("number,de,en,note\n1,Ein Hund.,A dog.,x\n", "utf-8")
    outcome = command("init", *files, "--test", table, "--output", tmp_path / "recipe.toml")
    assert (outcome.code, str(table) in outcome.error) == (2, True)
    assert "checking" not in outcome.error


def test_held_out_files_are_given_in_any_form(
    files: tuple[str, str], corpus: Path, tmp_path: Path, command: Command
) -> None:
    """Two files after an option are the two sides of one corpus, before and after the training text."""
    test = [corpus / "test.de", corpus / "test.en"]
    memory = tmp_path / "test.tmx"
    assert command("convert", *test, memory).code == 0
    forms: list[list[str | Path]] = [
        [*files, "--test", *test],
        [*files, "--test", test[0], "--test", test[1]],
        ["--test", *test, *files],
        [*files, "--test", memory],
        ["--test", memory, *files],
        [f"--test={memory}", *files],
        [f"--test={test[0]}", test[1], *files],
    ]
    for number, form in enumerate(forms):
        path = tmp_path / f"{number}.toml"
        outcome = command("init", *form, "--output", path)
        assert outcome.code == 0, outcome.error
        (reference,) = load_recipe(path).data.test
        assert (memory if memory in form or number == 5 else test[0]) == Path(file_name(reference))


def test_pairs_with_problems_are_left_out_unless_all_are_kept(
    files: tuple[str, str], tmp_path: Path, command: Command
) -> None:
    damaged = [tmp_path / "train.de", tmp_path / "train.en"]
    for path, file in zip(damaged, files, strict=True):
        lines = Path(file).read_text("utf-8").splitlines()
        path.write_text("\n".join([*lines, *lines[:9]]), "utf-8")
    cleaned = command("train", *damaged, "--output", tmp_path / "run", *FAST)
    assert cleaned.code == 0, cleaned.error
    assert "left out 9 of 409 pairs: duplicates 9" in cleaned.error
    assert len((tmp_path / "run" / "left-out.tsv").read_text("utf-8").splitlines()) == 10
    assert "left out 9 of 409 pairs" in (tmp_path / "run" / "report.html").read_text("utf-8")
    resumed = command("train", tmp_path / "run" / "recipe.toml", "--output", tmp_path / "run", "--resume")
    assert (resumed.code, "finished" in resumed.error) == (0, True), resumed.error
    kept = command("train", *damaged, "--keep-all", "--output", tmp_path / "all", *FAST)
    assert kept.code == 0, kept.error
    assert "409 training pairs" in kept.error
    assert not (tmp_path / "all" / "left-out.tsv").exists()


@pytest.mark.parametrize("languages", ["pt-BR:en", "pt_BR-en", "zh-Hans:en", "en:de-AT", "xyz-en", "DE-EN"])
def test_tags_with_regions_are_languages(languages: str) -> None:
    first, second = parse_languages(languages)
    assert {first, second} == set(languages.split(":" if ":" in languages else "-"))


def test_a_file_after_a_complete_option_is_refused(files: tuple[str, str], tmp_path: Path, command: Command) -> None:
    """Otherwise a second test file would be training text."""
    outcome = command("init", *files, "--test", "one.tsv", "two.tsv", "--output", tmp_path / "recipe.toml")
    assert outcome.code == 2
    assert "two.tsv: to add it to --test, repeat --test before it" in outcome.error


def test_missing_and_repeated_files_are_refused(files: tuple[str, str], tmp_path: Path, command: Command) -> None:
    output = ("--output", tmp_path / "recipe.toml")
    source, target = files
    mistakes = {
        (source,): "needs a second one",
        ("-",): "save standard input to one",
        (source, source): "given twice",
        (*files, "--validation", target): "needs a second one",
        (*files, "--languages", "de-DE"): "the same language",
        (*files, "--minutes", "inf"): "--minutes",
        (*files, "--minutes", "0"): "--minutes",
    }
    for arguments, message in mistakes.items():
        refused = command("init", *arguments, *output)
        assert (refused.code, message in refused.error) == (2, True), refused.error
    assert not (tmp_path / "recipe.toml").exists()


def test_names_that_are_no_text_files_are_explained(corpus: Path, tmp_path: Path, command: Command) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "odd{lang}.tsv").write_text("a\tb\n", "utf-8")
    (tmp_path / "empty.tmx").write_text("<tmx version='1.4'><header srclang='de'/><body></body></tmx>", "utf-8")
    target = corpus / "train.en"
    mistakes: dict[tuple[str | Path, ...], str] = {
        (tmp_path / "folder",): "folder: is a directory; name the files in it",
        (tmp_path / "folder", target): "folder: is a directory",
        (target, tmp_path / "folder", "--languages", "en-de"): "folder: is a directory",
        (tmp_path / "odd{lang}.tsv", "--languages", "de-en"): "rename the file",
        (tmp_path / "empty.tmx",): "empty.tmx: no unit with text in a language",
    }
    for arguments, message in mistakes.items():
        refused = command("init", *arguments, "--output", tmp_path / "recipe.toml")
        assert (refused.code, message in refused.error) == (2, True), refused.error


def test_options_of_files_have_no_meaning_for_a_recipe(command: Command) -> None:
    for arguments in (("train", "quickstart"), ("distill", "runs/none")):
        both = command(*arguments, "--minutes", "3", "--set", "training.steps=1")
        assert both.code == 2
        assert "--minutes and --set training.steps=1: both say how long to train" in both.error
    refused = command("train", "quickstart", "--languages", "de-en")
    assert refused.code == 2
    assert "--languages is for files of text; change the recipe, or use --set" in refused.error
