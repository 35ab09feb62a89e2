"""dragoman distill with a teacher behind an address: the time for translating, and what --resume may not change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from teacher_server import TeacherServer, caption_pairs, serve_teacher

from dragoman.corpus.pair import Pair
from dragoman.recipe import save_recipe
from dragoman.settings import Recipe

if TYPE_CHECKING:
    from conftest import Command

LINES = 60


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return caption_pairs(LINES)


@pytest.fixture
def server(pairs: list[Pair]) -> Iterator[TeacherServer]:
    table = {pair.source: pair.target for pair in pairs}
    with serve_teacher(TeacherServer(table.__getitem__)) as running:
        yield running


@pytest.fixture
def distill(server: TeacherServer, pairs: list[Pair], command: Command, tmp_path: Path) -> Callable[..., Any]:
    (tmp_path / "mono.de").write_text("".join(f"{pair.source}\n" for pair in pairs), "utf-8")

    def run(*options: Any) -> Any:
        arguments = ("--teacher", server.address, "--model", "m", "--languages", "de-en")
        files = ("--mono", tmp_path / "mono.de", "--output", tmp_path / "run")
        return command("distill", *arguments, *files, *options)

    return run


@pytest.fixture(autouse=True)
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Recipe]:
    """The recipes of trained students; training is not what is tested here."""
    recipes: list[Recipe] = []

    def train(recipe: Recipe, run: Path, **options: Any) -> bool:
        run.mkdir(exist_ok=True)
        save_recipe(recipe, run / "recipe.toml")
        recipes.append(recipe)
        return True

    monkeypatch.setattr("dragoman.training.run.run.train", train)
    return recipes


def test_resuming_refuses_other_options(distill: Any, server: TeacherServer, tmp_path: Path) -> None:
    """As for a bundle, while translating and later."""
    server.faults.extend([*[""] * 2, *[404] * 100])
    assert distill("--minutes", "1").code == 2
    (tmp_path / "other.de").write_text("Ein anderer Satz.\n", "utf-8")
    changes: dict[str, list[Any]] = {
        "--teacher": ["--teacher", f"{server.address}/other"],
        "--model": ["--model", "other"],
        "--mono": ["--mono", tmp_path / "other.de"],
        "--languages": ["--languages", "de-nl"],
        "--minutes": ["--minutes", "3"],
        "--size": ["--size", "base"],
    }
    for is_trained in (False, True):
        for name, options in changes.items():
            outcome = distill(*options, "--resume")
            assert (outcome.code, f"was started with another {name}; to cont" in outcome.error) == (2, True), name
            assert ("dragoman train" in outcome.error) is is_trained
        server.faults.clear()
        outcome = distill("--resume")
        assert outcome.code == 0, outcome.error


@pytest.mark.parametrize("is_hanging", [False, True])
def test_translating_ends_in_time(
    is_hanging: bool,
    distill: Any,
    server: TeacherServer,
    trained: list[Recipe],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is not translated by then is counted, and the answers are kept; a server that hangs is not waited for."""
    monkeypatch.setattr("dragoman.planning.student.TRANSLATION_SHARE", 2 / 60)
    translate = server.translate

    def slow(text: str) -> str:
        time.sleep(60 if is_hanging and len(server.prompts) > 1 else 0.1)
        return translate(text)

    server.translate = slow
    started = time.monotonic()
    outcome = distill("--minutes", "1", "--parallel", "1")
    assert outcome.code == 0, outcome.error
    assert time.monotonic() - started < 50
    written = len((tmp_path / "run.de").read_text("utf-8").splitlines())
    assert 0 < written < LINES
    assert f"no time for {LINES - written} of {LINES} sentences" in outcome.error
    assert ("; training takes " in outcome.error, "translating takes" in outcome.error) == (True, False)
    assert (tmp_path / "run.partial" / "answers.jsonl").is_file()
    assert "{lang}" not in outcome.error
    (recipe,) = trained
    assert str(recipe.distillation.translated_by).startswith("the language model m (of a random sample")


def test_a_server_that_answers_nothing_in_time_is_left(
    distill: Any, server: TeacherServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.planning.student.TRANSLATION_SHARE", 1 / 60)
    server.seconds = 30.0
    for options, reason in (
        ((), "nothing is translated in time; allow more time"),
        (("--teacher", "http://127.0.0.1:9/v1"), "connection refused; start the server, or correct its address"),
    ):
        outcome = distill("--minutes", "1", *options)
        assert (outcome.code, reason in outcome.error) == (2, True), outcome.error
        assert "{lang}" not in outcome.error
        assert not (tmp_path / "run").exists()


def test_a_text_that_is_too_short_can_be_extended(
    distill: Any, server: TeacherServer, pairs: list[Pair], tmp_path: Path
) -> None:
    """The answers are kept, and what was written of them does not stop the same command."""
    lines = (tmp_path / "mono.de").read_text("utf-8")
    (tmp_path / "mono.de").write_text(f"{pairs[0].source}\n", "utf-8")
    for option, advice in (((), "keeps the translations; to use them, add --resume"), ((), "add --resume to use them")):
        outcome = distill(*option)
        assert (outcome.code, advice in outcome.error) == (2, True), outcome.error
    assert len(server.bodies) == 1
    (tmp_path / "mono.de").write_text(lines, "utf-8")
    outcome = distill("--resume")
    assert outcome.code == 0, outcome.error
    assert len((tmp_path / "run.en").read_text("utf-8").splitlines()) == LINES
    assert not (tmp_path / "run.partial").exists()
