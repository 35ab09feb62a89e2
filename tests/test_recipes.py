"""The recipes that come with dragoman: what they promise, and a short run of each on cut-down sizes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import dragoman
from dragoman.dataset.batch import Batch
from dragoman.recipe import load_recipe
from dragoman.system.files import sha256
from dragoman.training.describe import describe
from dragoman.training.metrics_file import read_metrics
from dragoman.training.run import train
from dragoman.training.trainer import Trainer

RECIPES = sorted((Path(__file__).parents[1] / "recipes").glob("*.toml"))
NAMES = [path.stem for path in RECIPES if path.stem != "own-data"]  # whose corpora are yours
PUBLISHED = {
    "r0-de-en-words": (19_214, 10_837, None),
    "r1-de-en-torch": (19_214, 10_837, None),
    "r3-en-de-paper": (5_893, 7_853, 55_179_437),
    "r4-en-hi-bpe": (30_000, 30_000, 40_433_968),
}
"""Vocabulary sizes, and parameters where they are known, of the systems that recipes reproduce."""

SMALLER = (
    "model.d_model=32",
    "model.heads=2",
    "model.d_ff=64",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "training.batch_tokens=1024",
    "training.validations=2",
    "training.validation_sentences=8",
    "training.device=cpu",
    "training.steps=6",
    "decoding.max_length=12",
)


def cut_down(name: str) -> list[str]:
    """Overrides for a run of seconds: a small model, little text."""
    recipe = load_recipe(Path(name))
    corpora = {"train": recipe.data.validation, "validation": recipe.data.validation, "test": recipe.data.validation}
    overrides = [*SMALLER, *(f"data.{split}={json.dumps(list(names))}" for split, names in corpora.items())]
    if recipe.text.tokenizer in ("bpe", "unigram"):
        overrides.append("text.vocabulary_size=500")
    return overrides


@pytest.mark.parametrize("name", PUBLISHED)
def test_sizes_are_those_of_the_published_system(name: str, data_directory: Path) -> None:
    source, target, parameters = PUBLISHED[name]
    about = describe(Path(name), data_directory=data_directory)
    assert about["vocabulary"] == {"source": source, "target": target}
    assert parameters is None or about["parameters"]["total"] == parameters


@pytest.mark.parametrize(("name", "millions"), [("transformer-base", 65), ("transformer-big", 213)])
def test_sizes_are_those_of_the_paper(name: str, millions: int) -> None:
    """Table 3, which rounds, and has a vocabulary of about 37,000."""
    assert describe(Path(name))["parameters"]["total"] / 1e6 == pytest.approx(millions, rel=0.03)


@pytest.mark.parametrize("name", NAMES)
def test_a_short_run_trains_and_translates(name: str, data_directory: Path, tmp_path: Path) -> None:
    recipe = load_recipe(Path(name), cut_down(name))
    assert train(recipe, tmp_path / name, data_directory=data_directory)
    translator = dragoman.load(tmp_path / name)
    texts = ["Ein Hund läuft .", "", "1 5 3"]
    assert len(translator(texts)) == 3
    uncached = dragoman.load(tmp_path / name, recipe.decoding.model_copy(update={"cache": False}))
    assert [str(one) for one in uncached(texts)] == [str(one) for one in translator(texts)]
    assert (tmp_path / name / "report.html").stat().st_size > 10_000


def test_r4_in_six_sessions_is_r4_in_one(data_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the write-up trained it: accumulation, clipping, half precision, and the second epoch begun on the way."""
    recipe = load_recipe(Path("r4-en-hi-bpe"), [*cut_down("r4-en-hi-bpe"), "training.steps=30"])
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert train(recipe, whole, data_directory=data_directory)
    step = Trainer.take_step

    def stop_after_it(trainer: Trainer, batches: Sequence[list[Batch]]) -> None:
        step(trainer, batches)
        trainer.stop = trainer.state.progress.step in (3, 8, 12, 19, 27)

    monkeypatch.setattr(Trainer, "take_step", stop_after_it)
    sessions = [train(recipe, stopped, data_directory=data_directory, resume=session > 0) for session in range(6)]
    assert sessions == [False] * 5 + [True]
    assert sha256(stopped / "bundle" / "model.safetensors") == sha256(whole / "bundle" / "model.safetensors")
    assert max(line["epoch"] for line in read_metrics(stopped / "metrics.jsonl")) > 1
