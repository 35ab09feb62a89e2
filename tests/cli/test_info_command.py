"""`dragoman info` and `dragoman settings`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.recipe import load_recipe, save_recipe
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command, RecipeMaker


def test_info_of_recipe_run_and_bundle_agree(
    finished_run: Path, command: Command, make_recipe: RecipeMaker, translator: Translator, tmp_path: Path
) -> None:
    save_recipe(make_recipe(), tmp_path / "tiny.toml")
    paths = (tmp_path / "tiny.toml", finished_run, finished_run / "bundle")
    recipe, run, bundle = (json.loads(command("info", path, "--json").out) for path in paths)
    assert run == bundle
    assert recipe["kind"] == "recipe"
    for key in ("parameters", "vocabulary", "settings"):
        assert recipe[key] == bundle[key]
    *parts, total = bundle["parameters"].values()
    assert total == sum(parts) == sum(parameter.numel() for parameter in translator.bundle.model.parameters())
    assert bundle["vocabulary"] == {"source": 400, "target": 400}
    assert bundle["scores"] == translator.bundle.scores != {}
    text = command("info", finished_run).out
    assert f"total: {total:,}" in text
    assert "beam_size: 3" in text


def test_info_counts_the_vocabulary_of_words(command: Command, make_recipe: RecipeMaker, tmp_path: Path) -> None:
    save_recipe(make_recipe("text.tokenizer=whitespace", "text.joint=false", "model.tie=none"), tmp_path / "words.toml")
    about = json.loads(command("info", tmp_path / "words.toml", "--json").out)
    sizes = about["vocabulary"]
    assert sizes["source"] != sizes["target"]
    d_model = about["settings"]["model"]["d_model"]
    assert about["parameters"]["source_embedding"] == sizes["source"] * d_model
    assert about["parameters"]["output"] == sizes["target"] * d_model
    wider = json.loads(command("info", tmp_path / "words.toml", "--json", "--set", "model.d_model=64").out)
    assert wider["parameters"]["source_embedding"] == 2 * about["parameters"]["source_embedding"]


def test_words_of_pairs_that_are_left_out_are_not_counted(
    command: Command, make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    recipe = make_recipe("text.tokenizer=whitespace", "text.joint=false", "model.tie=none", "data.clean=true")
    for language in ("de", "en"):  # the same words on both sides
        (tmp_path / f"copied.{language}").write_text("Untranslated copies of one sentence.\n", "utf-8")
    train = (*recipe.data.train, f"{tmp_path}/copied.{{lang}}")
    damaged = recipe.model_copy(update={"data": recipe.data.model_copy(update={"train": train})})
    sizes = []
    for each in (recipe, damaged):
        save_recipe(each, tmp_path / "words.toml")
        sizes.append(json.loads(command("info", tmp_path / "words.toml", "--json").out)["vocabulary"])
    assert sizes[0] == sizes[1]


def test_info_of_an_unfinished_run_shows_the_latest_scores(
    finished_run: Path, command: Command, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    shutil.rmtree(run / "bundle")
    about = json.loads(command("info", run, "--json").out)
    assert about["kind"] == "unfinished run"
    assert about["resume"] == f"dragoman train {run}/recipe.toml --output {run} --resume"
    assert about["scores"]["step"] == 120
    (run / "metrics.jsonl").unlink()
    assert json.loads(command("info", run, "--json").out)["scores"] == {}
    recipe = load_recipe(run / "recipe.toml")
    text = recipe.text.model_copy(update={"tokenizer": "whitespace"})
    gone = recipe.data.model_copy(update={"train": ("gone.{lang}",)})
    save_recipe(recipe.model_copy(update={"text": text, "data": gone}), run / "recipe.toml")
    again = json.loads(command("info", run, "--json").out)
    assert again["vocabulary"] == about["vocabulary"], "of the tokenizers, without the text"


def test_info_of_a_student_that_is_not_compared_says_how_to_do_it(
    finished_run: Path, command: Command, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    assert "comparison" not in json.loads(command("info", run, "--json").out)
    (run / "not-compared.json").touch()
    about = json.loads(command("info", run, "--json").out)
    assert about["comparison"].endswith(f"run: dragoman train {run}/recipe.toml --output {run} --resume")


def test_settings_lists_advanced_settings_only_on_request(command: Command) -> None:
    basic, all_settings = command("settings").out, command("settings", "--advanced").out
    assert set(basic.splitlines()) < set(all_settings.splitlines())
    assert "training.augmentation.typos = 0.0" in basic
    assert "training.minutes" in basic
    assert "\ntraining." not in command("settings", "decoding").out


def test_settings_rejects_unknown_sections(command: Command) -> None:
    outcome = command("settings", "trainin")
    assert outcome.code == 2
    assert "did you mean 'training'" in outcome.error
