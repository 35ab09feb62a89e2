"""The built-in recipes: the sizes of their models, and a short run of each with a small model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import dragoman
from dragoman.dataset.batch import Batch
from dragoman.dataset.pairs import read_pairs
from dragoman.recipe import load_recipe
from dragoman.settings import Recipe
from dragoman.system.files import sha256
from dragoman.training.loop.trainer import Trainer
from dragoman.training.run.describe import describe
from dragoman.training.run.log import read_metrics
from dragoman.training.run.run import train

RECIPES = sorted((Path(__file__).parents[1] / "recipes").glob("*.toml"))
NAMES = [path.stem for path in RECIPES if path.stem != "own-data"]  # that one needs the user's corpora
PUBLISHED = {
    "r0-de-en-words": (19_214, 10_837, None),
    "r1-de-en-torch": (19_214, 10_837, None),
    "r3-en-de-paper": (5_893, 7_853, 55_179_437),
    "r4-en-hi-bpe": (30_000, 30_000, 40_433_968),
}
"""Source and target vocabulary size, and number of parameters if known, of the systems that recipes reproduce."""

ON_THE_HUB = {
    "r4-en-hi-bpe": ["iitb-hetc-sample-en-hi:dev", "hindi-visual-genome:dev"],
    "transformer-base": ["wmt-news-de-en:dev"],
    "transformer-big": ["wmt-news-de-en:dev"],
}
"""Recipes whose corpora are on the hub, and corpora of the mirror that short runs use instead."""

PAIRS, TESTED = 600, 40
"""Sentence pairs of a short run, and how many of them it is scored on."""

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


def short_recipe(name: str, data_directory: Path, directory: Path, *overrides: str) -> Recipe:
    """A built-in recipe with a small model, few steps and the first pairs of its, or similar, validation corpora."""
    recipe = load_recipe(Path(name))
    pairs = read_pairs(ON_THE_HUB.get(name, recipe.data.validation), recipe.data, data_directory)[:PAIRS]
    corpora = []
    for split, count in (("train", PAIRS), ("validation", TESTED), ("test", TESTED)):
        lines = "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs[:count])
        (directory / f"{split}.tsv").write_text(lines, "utf-8")
        corpora.append(f'data.{split}=["{directory}/{split}.tsv"]')
    vocabulary = ["text.vocabulary_size=500"] if recipe.text.tokenizer in ("bpe", "unigram") else []
    return load_recipe(Path(name), [*SMALLER, *corpora, *vocabulary, *overrides])


@pytest.mark.parametrize("name", PUBLISHED)
def test_sizes_equal_those_of_the_published_system(name: str, data_directory: Path) -> None:
    source, target, parameters = PUBLISHED[name]
    about = describe(Path(name), data_directory=data_directory)
    assert about["vocabulary"] == {"source": source, "target": target}
    assert parameters is None or about["parameters"]["total"] == parameters


@pytest.mark.parametrize("name", NAMES)
def test_only_the_write_up_that_reports_it_has_a_teacher_forced_bleu(name: str) -> None:
    assert load_recipe(Path(name)).training.teacher_forced_bleu == (name == "r3-en-de-paper")


@pytest.mark.parametrize(("name", "millions"), [("transformer-base", 65), ("transformer-big", 213)])
def test_sizes_are_close_to_those_of_the_paper(name: str, millions: int) -> None:
    """Vaswani et al. 2017, table 3, whose numbers are rounded, for a vocabulary of about 37,000."""
    assert describe(Path(name))["parameters"]["total"] / 1e6 == pytest.approx(millions, rel=0.03)


@pytest.mark.usefixtures("unchecked_text")
@pytest.mark.parametrize("name", NAMES)
def test_short_run_trains_and_translates(name: str, data_directory: Path, tmp_path: Path) -> None:
    recipe = short_recipe(name, data_directory, tmp_path)
    assert train(recipe, tmp_path / name)
    translator = dragoman.load(tmp_path / name)
    texts = ["Ein Hund läuft .", "", "1 5 3"]
    assert len(translator(texts)) == 3
    uncached = dragoman.load(tmp_path / name, recipe.decoding.model_copy(update={"cache": False}))
    assert [str(one) for one in uncached(texts)] == [str(one) for one in translator(texts)]
    assert (tmp_path / name / "report.html").stat().st_size > 10_000


@pytest.mark.slow
def test_r4_in_six_sessions_equals_r4_in_one(
    data_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With accumulation, clipping, half precision and more than one epoch, as in the published system."""
    recipe = short_recipe("r4-en-hi-bpe", data_directory, tmp_path, "training.steps=30")
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert train(recipe, whole)
    take_step = Trainer.take_step

    def take_step_and_stop(trainer: Trainer, batches: Sequence[list[Batch]]) -> None:
        take_step(trainer, batches)
        trainer.stop.requested = trainer.state.progress.step in (3, 8, 12, 19, 27)

    monkeypatch.setattr(Trainer, "take_step", take_step_and_stop)
    sessions = [train(recipe, stopped, resume=session > 0) for session in range(6)]
    assert sessions == [False] * 5 + [True]
    assert sha256(stopped / "bundle" / "model.safetensors") == sha256(whole / "bundle" / "model.safetensors")
    assert max(line["epoch"] for line in read_metrics(stopped / "metrics.jsonl")) > 1
