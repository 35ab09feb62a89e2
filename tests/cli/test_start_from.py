"""`dragoman init` and `dragoman train` on files of text, starting from a bundle."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dragoman.bundle import Bundle
from dragoman.planning.adaptation import SAME_TEXT
from dragoman.planning.plan import Texts, plan_recipe
from dragoman.recipe import load_recipe
from dragoman.settings import FilePair

if TYPE_CHECKING:
    from conftest import Command

FAST = ("--set", "training.steps=3", "--set", "training.validations=1")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def files(corpus: Path) -> tuple[str, str]:
    return str(corpus / "train.de"), str(corpus / "train.en")


def changed_bundle(run: Path, path: Path, **changes: Any) -> Path:
    """A copy of a run's bundle, with another recipe."""
    bundle = Bundle.load(run)
    data, text = (getattr(bundle.recipe, name).model_copy(update=changes.get(name, {})) for name in ("data", "text"))
    replace(bundle, recipe=bundle.recipe.model_copy(update={"data": data, "text": text})).save(path)
    return path


def test_init_takes_text_and_model_of_the_bundle(
    files: tuple[str, str], finished_run: Path, tmp_path: Path, command: Command
) -> None:
    plain, adapted = tmp_path / "plain.toml", tmp_path / "adapted.toml"
    assert command("init", *files, "--output", plain, "--minutes", "5").code == 0
    outcome = command("init", *files, "--output", adapted, "--minutes", "5", "--start-from", finished_run)
    assert outcome.code == 0, outcome.error
    assert f"starts from {finished_run}, with its vocabulary" in outcome.out
    old, new, other = (load_recipe(path) for path in (finished_run / "recipe.toml", adapted, plain))
    assert (new.text, new.decoding) == (old.text, old.decoding)
    assert new.model == old.model.model_copy(update={"dropout": new.model.dropout})
    assert new.training.start_from == str(finished_run)
    assert new.training.learning_rate < other.training.learning_rate
    assert 0 < new.training.warmup_steps <= 100
    assert new.name == "de-en-adapted"
    assert len(new.data.weighted) == 1, "the bundle was trained on the same text"
    outcome = command("info", adapted)
    assert outcome.code == 0, outcome.error
    run = tmp_path / "run"
    outcome = command("train", adapted, "--output", run, *FAST)
    assert outcome.code == 0, outcome.error
    assert "before and after training" in outcome.error
    assert "is better than the new translator" not in outcome.error


def test_a_training_that_makes_the_bundle_worse_warns(
    files: tuple[str, str], finished_run: Path, tmp_path: Path, command: Command
) -> None:
    run, too_high = tmp_path / "run", ("--set", "training.learning_rate=0.5", "--set", "training.start_share=0.0")
    outcome = command("train", *files, "--start-from", finished_run, "--output", run, *FAST, *too_high)
    assert outcome.code == 0, outcome.error
    assert f"warning: on validation, {finished_run} is better than the new translator" in outcome.error


def test_text_of_the_bundle_is_mixed_in(corpus: Path, finished_run: Path, tmp_path: Path, command: Command) -> None:
    new, recipe = (str(corpus / "test.de"), str(corpus / "test.en")), tmp_path / "adapted.toml"
    outcome = command("init", *new, "--output", recipe, "--start-from", finished_run)
    assert outcome.code == 0, outcome.error
    assert "its training text is mixed in, 1 pair for each new one" in outcome.out
    mine, old = load_recipe(recipe).data.weighted
    assert old.corpus == load_recipe(finished_run / "recipe.toml").data.train[0]
    assert (mine.weight, 0 < old.weight < 1) == (1.0, True)
    outcome = command("train", recipe, "--output", tmp_path / "run", *FAST)
    assert outcome.code == 0, outcome.error


def test_a_run_with_text_of_the_bundle_can_be_resumed(
    corpus: Path, files: tuple[str, str], finished_run: Path, tmp_path: Path, command: Command
) -> None:
    new, run = (str(corpus / "test.de"), str(corpus / "test.en")), tmp_path / "run"
    start = ("--start-from", finished_run, "--output", run, *FAST)
    assert command("train", *new, *start).code == 0
    assert len(load_recipe(run / "recipe.toml").data.train) == 2
    outcome = command("train", *new, *start, "--resume")
    assert outcome.code == 0, outcome.error
    other = command("train", *files, *start, "--resume")
    assert (other.code, "another training text" in other.error) == (2, True), other.error


def test_train_on_files_can_be_resumed(
    files: tuple[str, str], finished_run: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    start = ("--start-from", finished_run)
    outcome = command("train", *files, *start, *FAST)
    assert outcome.code == 0, outcome.error
    assert (tmp_path / "runs" / "de-en-adapted" / "bundle" / "bundle.json").is_file()
    assert command("train", *files, *start, "--resume", *FAST).code == 0
    for override in ("data.clean=false", "training.minutes=none"):
        outcome = command("train", *files, *start, "--resume", *FAST, "--set", override)
        assert "another --" not in outcome.error, outcome.error
    other = command("train", *files, "--start-from", "runs/other", "--resume", *FAST)
    assert (other.code, "runs/other: no such bundle" in other.error) == (2, True), other.error


def test_problems_of_the_bundle_are_found_before_training(
    files: tuple[str, str], finished_run: Path, tmp_path: Path, command: Command
) -> None:
    outcome = command("init", *files, "--output", tmp_path / "recipe.toml", "--start-from", tmp_path / "none")
    assert (outcome.code, "no such" in outcome.error) == (2, True), outcome.error
    assert not (tmp_path / "recipe.toml").exists()
    named = command("train", finished_run / "recipe.toml", "--start-from", finished_run)
    assert (named.code, "--set training.start_from=…" in named.error) == (2, True)


def test_train_starts_from_a_bundle_of_other_languages_with_another_vocabulary(
    files: tuple[str, str], finished_run: Path, tmp_path: Path, command: Command
) -> None:
    french = changed_bundle(finished_run, tmp_path / "french", data={"target_language": "fr"})
    start = ("train", *files, "--start-from", french, "--output", tmp_path / "run", *FAST)
    refused = command(*start, "--set", "training.new_vocabulary=false")
    assert (refused.code, "translates de-fr, not de-en" in refused.error) == (2, True), refused.error
    outcome = command(*start)
    assert outcome.code == 0, outcome.error
    assert f"starts from {french}, with another vocabulary" in outcome.error
    assert load_recipe(tmp_path / "run" / "recipe.toml").training.start_share == 0


def test_the_plan_compares_the_tokens_of_a_new_vocabulary(files: tuple[str, str], finished_run: Path) -> None:
    texts = Texts(("de", "en"), [FilePair(source=files[0], target=files[1])], clean=False)
    learned = "training.new_vocabulary=true"
    same, alike, other = (
        plan_recipe(texts, 1, None, start_from=str(finished_run), overrides=overrides)
        for overrides in ((), (learned,), (learned, "text.vocabulary_size=2000"))
    )
    assert same.start
    assert alike.start
    assert other.start
    assert same.start.known_tokens == 1 >= alike.start.known_tokens > other.start.known_tokens > 0
    assert same.recipe().training.start_share > 0


def test_the_plan_compares_new_text_with_that_of_the_bundle(corpus: Path, finished_run: Path) -> None:
    texts = Texts(("de", "en"), [FilePair(source=str(corpus / "test.de"), target=str(corpus / "test.en"))], clean=False)
    planned = plan_recipe(texts, 1, None, start_from=str(finished_run))
    assert planned.facts.old_likeness > SAME_TEXT
    assert "the new text is like the old one" in planned.choices["training.start_share"].reason


def test_the_plan_counts_tokens_of_the_vocabulary_that_is_learned(
    files: tuple[str, str], finished_run: Path, tmp_path: Path
) -> None:
    # The bundle has never seen these letters, so it splits them into bytes.
    for path in files:
        text = Path(path).read_text().translate({code: code + 0x380 for code in range(ord("a"), ord("z") + 1)})
        (tmp_path / Path(path).name).write_text(text)
    languages = changed_bundle(
        finished_run, tmp_path / "other", data={"source_language": "el", "target_language": "ru"}
    )
    texts = Texts(
        ("el", "ru"), [FilePair(source=str(tmp_path / "train.de"), target=str(tmp_path / "train.en"))], clean=False
    )
    learned = "training.new_vocabulary=true"
    old, new, smaller = (
        plan_recipe(texts, 1, None, start_from=str(languages), overrides=overrides).facts.target_tokens
        for overrides in ((), (learned,), (learned, "text.vocabulary_size=300"))
    )
    assert new < old / 2
    assert new < smaller < old


def test_a_lower_cased_bundle_is_announced(
    files: tuple[str, str], finished_run: Path, tmp_path: Path, command: Command
) -> None:
    lower = changed_bundle(finished_run, tmp_path / "lower", text={"lowercase": True})
    outcome = command("init", *files, "--output", tmp_path / "recipe.toml", "--start-from", lower)
    assert "converts text to lower case" in outcome.out
    assert load_recipe(tmp_path / "recipe.toml").text.lowercase


def test_a_bundle_for_short_sentences_limits_the_training_pairs(
    files: tuple[str, str], finished_run: Path, tmp_path: Path, command: Command
) -> None:
    bundle = Bundle.load(finished_run)
    model = bundle.recipe.model.model_copy(update={"max_length": 20})
    data = bundle.recipe.data.model_copy(update={"max_tokens": 19})
    recipe = bundle.recipe.model_copy(update={"model": model, "data": data})
    shutil.rmtree(tmp_path / "short", ignore_errors=True)
    replace(bundle, recipe=recipe).save(tmp_path / "short")
    outcome = command("init", *files, "--output", tmp_path / "recipe.toml", "--start-from", tmp_path / "short")
    assert outcome.code == 0, outcome.error
    assert load_recipe(tmp_path / "recipe.toml").data.max_tokens == 19


def test_files_without_languages_have_those_of_the_bundle(
    files: tuple[str, str], finished_run: Path, tmp_path: Path, command: Command
) -> None:
    assert command("convert", *files, tmp_path / "pairs.tsv").code == 0
    given: list[str | Path] = [
        "init",
        tmp_path / "pairs.tsv",
        "--output",
        tmp_path / "adapted.toml",
        "--start-from",
        finished_run,
    ]
    outcome = command(*given)
    assert outcome.code == 0, outcome.error
    assert "de-en-adapted: 400 training pairs" in outcome.out
