"""Students that learn from finished translators, also after interruptions."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dragoman.bundle import Bundle
from dragoman.corpus.corpus import read_texts
from dragoman.errors import UserError
from dragoman.recipe import build_recipe
from dragoman.synthesis import block
from dragoman.system.files import sha256
from dragoman.training import stages
from dragoman.training.run import train
from dragoman.training.trainer import Trainer

if TYPE_CHECKING:
    from dragoman.settings import Recipe


class Killed(BaseException):
    """The process was killed."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(block, "BLOCK", 10)
    monkeypatch.setattr("dragoman.training.student_card.MAX_PAIRS", 5)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def make_student(
    recipe_document: dict[str, Any], corpus: Path, finished_run: Path, tmp_path: Path
) -> Callable[..., Recipe]:
    """Makes recipes of students that learn from the tiny run, for 40 pairs."""
    for language in ("de", "en"):
        lines = (corpus / f"train.{language}").read_text("utf-8").splitlines(True)[:40]
        (tmp_path / f"train.{language}").write_text("".join(lines), "utf-8")

    def make(*overrides: str) -> Recipe:
        document = recipe_document | {
            "data": recipe_document["data"] | {"train": [f"{tmp_path}/train.{{lang}}"]},
            "model": recipe_document["model"] | {"d_model": 16},
            "training": recipe_document["training"] | {"steps": 12, "validations": 2, "checkpoint_minutes": 0.0001},
            "decoding": recipe_document["decoding"] | {"beam_size": 1},
            "distillation": {"teachers": [str(finished_run)]},
        }
        return build_recipe(document, overrides)

    return make


def texts(run: Path, name: str) -> tuple[list[str], list[str]]:
    return read_texts(run / f"{name}.source", run / f"{name}.target")


def test_a_student_learns_from_the_translations(make_student: Any, finished_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert train(make_student(), run)
    originals, distilled = texts(run, "text/train-0"), texts(run, "synthetic/distillation-0")
    assert set(distilled[0]) <= set(originals[0])
    assert distilled[1] != originals[1]
    student, teacher = Bundle.load(run), Bundle.load(finished_run)
    assert student.source.to_json() == teacher.source.to_json()
    (learned,) = student.recipe.data.weighted
    assert "distillation-0.source" in str(learned.corpus)
    card = (run / "bundle" / "README.md").read_text("utf-8")
    rows = [line for line in card.splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[1] for row in rows[2:]] == [
        "beam 3, length penalty 1, max_length 40",
        *["greedy, max_length 40"] * 2,
    ]
    print(card)
    report = (run / "report.html").read_text("utf-8")
    assert "Teacher, greedy" in report
