"""Paths that are no bundles: messages name the run that is meant, and what to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.system.run_paths import explain_no_bundle


def make_run(path: Path, *, finished: bool = True) -> None:
    (path / "checkpoints" / "step-00000010").mkdir(parents=True)
    (path / "recipe.toml").touch()
    if finished:
        (path / "bundle").mkdir()
        (path / "bundle" / "bundle.json").touch()


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory has one finished and one unfinished run, and an empty directory."""
    monkeypatch.chdir(tmp_path)
    make_run(Path("runs/quickstart"))
    make_run(Path("runs/stopped"), finished=False)
    Path("empty").mkdir()
    Path("text.de").touch()
    return Path("runs")


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("runs", "runs/quickstart"),
        ("runs/", "runs/quickstart"),
        ("runs/quikstart", "runs/quickstart"),
        ("runs/quikstart/bundle", "runs/quickstart"),
        ("runs/quickstart/bundel", "runs/quickstart"),
        ("runs/quickstart/checkpoints", "runs/quickstart"),
        ("runs/quickstart/checkpoints/step-00000010", "runs/quickstart"),
        ("runs/quickstart/recipe.toml", "runs/quickstart"),
        ("runs/quickstart/bundle/model.safetensors", "runs/quickstart/bundle"),
    ],
)
@pytest.mark.parametrize("absolute", [False, True])
def test_the_run_that_is_meant_is_named(path: str, meant: str, absolute: bool) -> None:
    place: Callable[[str], Path] = Path.cwd().joinpath if absolute else Path
    error = explain_no_bundle(place(path))
    assert error.meant == place(meant)
    assert str(error).endswith(f"; did you mean {place(meant)}?")


@pytest.mark.parametrize("path", ["rusn/quickstart", "quickstart"])
def test_runs_are_looked_for_in_their_usual_directory(path: str) -> None:
    assert explain_no_bundle(Path(path)).meant == Path("runs/quickstart")


@pytest.mark.parametrize("path", ["nothing", "empty", "text.de", "Ein Hund läuft.", "quickstar/nothing"])
def test_the_only_finished_run_is_named(path: str) -> None:
    error = explain_no_bundle(Path(path))
    assert (error.meant, error.similar) == (Path("runs/quickstart"), False)
    assert str(error).endswith("; the only finished run is runs/quickstart")
    make_run(Path("runs/second"))
    assert str(explain_no_bundle(Path(path))).endswith("; finished runs: runs/quickstart, runs/second")


@pytest.mark.parametrize("path", ["runs/stopped", "runs/stopped/checkpoints", "runs/stopped/checkpoints/step-00000010"])
def test_unfinished_runs_are_finished_with_a_command(path: str) -> None:
    command = "dragoman train runs/stopped/recipe.toml --output runs/stopped --resume"
    assert f"this run has no bundle yet; finish it with: {command}" in str(explain_no_bundle(Path(path)))


def test_recipes_are_trained_with_a_command() -> None:
    Path("my.toml").touch()
    assert str(explain_no_bundle(Path("my.toml"))).endswith("train a translator with: dragoman train my.toml")
    make_run(Path("runs/my"))
    assert explain_no_bundle(Path("my.toml")).meant == Path("runs/my")


def test_directories_of_several_or_unfinished_runs_are_listed() -> None:
    make_run(Path("runs/second"))
    assert "choose one: runs/quickstart, runs/second" in str(explain_no_bundle(Path("runs")))
    make_run(Path("others/a"), finished=False)
    assert "none of them is finished: others/a" in str(explain_no_bundle(Path("others")))


def test_a_recipe_in_a_directory_above_is_no_run() -> None:
    Path("recipe.toml").touch()
    assert "no bundle yet" not in str(explain_no_bundle(Path("nothing")))


@pytest.mark.parametrize("path", ["a" * 300, "a/" * 3000, "loop", "loop/x", ".", "/", "runs/quickstart/" + "b" * 300])
def test_odd_paths_are_explained(path: str) -> None:
    os.symlink("loop", "loop")
    assert str(explain_no_bundle(Path(path)))
