"""Corpora with weights: how often each pair is seen in an epoch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from preparation import treat_as_large

from dragoman.dataset.buckets import draw_pairs
from dragoman.dataset.prepare import Dataset, prepare
from dragoman.doctor.data.cleaned_text import clean_data
from dragoman.errors import UserError
from dragoman.recipe import build_recipe
from dragoman.system.progress import no_log
from dragoman.training.loop.batches import BatchStream
from dragoman.training.loop.progress import Progress

if TYPE_CHECKING:
    from dragoman.settings import Recipe

Seen = Counter[tuple[tuple[int, ...], tuple[int, ...]]]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def make_recipe_of(recipe_document: dict[str, Any]) -> Any:
    def make(*train: Any, **data: Any) -> Recipe:
        return build_recipe(recipe_document | {"data": recipe_document["data"] | {"train": list(train)} | data})

    return make


def weighted(corpus: Any, weight: float) -> dict[str, Any]:
    return {"corpus": corpus, "weight": weight}


def epoch(recipe: Recipe, data: Dataset, number: int = 0) -> Seen:
    """The pairs of an epoch, and how often each is seen."""
    plan = BatchStream(recipe, data, Progress()).plan(number)
    pairs = ((data.train.source[index], data.train.target[index]) for batch in plan for index in batch)
    return Counter((tuple(source.tolist()), tuple(target.tolist())) for source, target in pairs)


@pytest.mark.parametrize("weight", [1.0, 2.0, 7.0])
def test_whole_weights_repeat_each_pair(weight: float) -> None:
    for number in (0, 1, 999):
        drawn = draw_pairs(np.full(500, weight, np.float32), seed=3, epoch=number)
        assert np.array_equal(drawn, np.repeat(np.arange(500), int(weight)))


def test_fractions_draw_other_pairs_in_each_epoch_and_all_in_the_end() -> None:
    weights = np.array([0.25, 2.5] * 400, np.float32)
    counts = [np.bincount(draw_pairs(weights, 3, number), minlength=800) for number in range(4)]
    assert np.array_equal(sum(counts), np.array([1, 10] * 400)), "each pair four times its weight"
    for count in counts:
        assert set(count[::2].tolist()) == {0, 1}
        assert set(count[1::2].tolist()) == {2, 3}
        assert 60 < count[::2].sum() < 140
    again = np.bincount(draw_pairs(weights, 3, 2), minlength=800)
    other = np.bincount(draw_pairs(weights, 4, 2), minlength=800)
    assert np.array_equal(again, counts[2])
    assert not np.array_equal(other, counts[2])


@pytest.mark.parametrize("large", [False, True])
def test_weight_2_is_the_corpus_listed_twice(
    large: bool, make_recipe_of: Any, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:
        treat_as_large(monkeypatch, tmp_path)
    first, second = (f"{corpus}/{name}.{{lang}}" for name in ("train", "test"))
    recipe, listed = make_recipe_of(first, weighted(second, 2.0)), make_recipe_of(first, second, second)
    plain = prepare(listed, None, None, no_log)
    data = prepare(recipe, None, (plain.source, plain.target), no_log)
    assert len(data.train) < len(plain.train)
    assert epoch(recipe, data) == epoch(listed, plain)
    assert epoch(recipe, data, 1) == epoch(listed, plain, 1)


def test_a_weight_does_not_change_what_is_prepared(make_recipe_of: Any, corpus: Path) -> None:
    text = f"{corpus}/train.{{lang}}"
    plain, data = (prepare(make_recipe_of(each), None, None, no_log) for each in (text, weighted(text, 1.0)))
    assert data.train.weights is None
    assert np.array_equal(plain.train.source.ids, data.train.source.ids)
    half = prepare(make_recipe_of(weighted(text, 0.5)), None, None, no_log)
    assert half.train.weights is not None
    assert set(half.train.weights.tolist()) == {0.5}
    assert np.array_equal(plain.train.source.ids, half.train.source.ids)


@pytest.mark.parametrize(
    ("weights", "is_new"), [((0.5, 1), True), ((1, 1), False), ((1, 5), False), ((0.1, 0.5), False)]
)
def test_no_validation_text_is_held_out_of_corpora_that_are_only_mixed_in(
    weights: tuple[float, float], is_new: bool, make_recipe_of: Any, corpus: Path
) -> None:
    new = set((corpus / "test.de").read_text("utf-8").splitlines())
    corpora = (
        weighted(f"{corpus}/{name}.{{lang}}", weight) for name, weight in zip(("train", "test"), weights, strict=True)
    )
    recipe = make_recipe_of(*corpora, validation=[], validation_pairs=20)
    held_out = {pair.source for pair in prepare(recipe, None, None, no_log).validation}
    assert (held_out <= new) == is_new


def test_few_pairs_with_a_low_weight_leave_epochs_empty(make_recipe_of: Any, corpus: Path) -> None:
    recipe = make_recipe_of(weighted(f"{corpus}/test.{{lang}}", 0.01))
    stream = BatchStream(recipe, prepare(recipe, None, None, no_log), Progress())
    batches = [stream.next_step() for _ in range(5)]
    assert all(group.target_tokens for step in batches for batch in step for group in batch)
    assert stream.groups_per_epoch >= 1


def test_cleaned_corpora_keep_their_weights(make_recipe_of: Any, corpus: Path, tmp_path: Path) -> None:
    sides = {language: (corpus / f"train.{language}").read_text("utf-8").splitlines() for language in ("de", "en")}
    for name, lines in (("first", slice(0, 150)), ("second", slice(140, 400))):  # ten duplicates
        for language, texts in sides.items():
            (tmp_path / f"{name}.{language}").write_text("\n".join(texts[lines]) + "\n", "utf-8")
    entries = [weighted(f"{tmp_path}/{name}.{{lang}}", weight) for name, weight in (("first", 0.5), ("second", 3.0))]
    recipe = make_recipe_of(*entries)
    data = recipe.data.model_copy(update={"clean": True})
    cleaned, copy = clean_data(data, None, no_log)
    assert copy is not None
    assert copy.left_out >= 10
    assert [each.weight for each in cleaned.weighted] == [0.5, 3.0]
    prepared = prepare(recipe.model_copy(update={"data": cleaned}), None, None, no_log)
    assert prepared.train.weights is not None
    second = set(sides["de"][150:])
    for index, weight in enumerate(prepared.train.weights.tolist()):
        text = prepared.source.decode(prepared.train.source[index].tolist())
        assert text in second or weight == 0.5
        assert text in sides["de"][:150] or weight == 3.0
    twice = recipe.data.model_copy(update={"train": recipe.data.train[:1] * 2, "clean": True})
    with pytest.raises(UserError, match="is listed twice"):
        clean_data(twice, None, no_log)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"corpus": "a.tsv", "weight": 0}, "weight = 0: must be a number >= 0.001 and <= 1,000"),
        ({"corpus": "a.tsv", "weight": "much"}, "data.train[0]"),
        ({"weight": 2}, "data.train[0].corpus: missing"),
    ],
)
def test_invalid_weights_are_refused(entry: dict[str, Any], message: str, make_recipe_of: Any) -> None:
    with pytest.raises(UserError) as refused:
        make_recipe_of(entry)
    assert message in str(refused.value)
    assert "data.train =" not in str(refused.value)
