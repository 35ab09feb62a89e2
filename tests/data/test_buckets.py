"""Batches of like length: everything once, under the budget, with little padding."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dragoman.data.buckets import Indices, cut, plan_epoch

BUDGET = 100


@pytest.fixture
def lengths() -> tuple[Indices, Indices]:
    generator = np.random.default_rng(1)
    source = generator.integers(1, 40, 500)
    target = np.maximum(1, source + generator.integers(-5, 6, 500))
    source[7], target[11] = BUDGET + 50, BUDGET + 1  # too long for any batch
    return source, target


def same(ours: list[Indices], theirs: list[Indices]) -> bool:
    return [batch.tolist() for batch in ours] == [batch.tolist() for batch in theirs]


def padded(lengths: Indices, batch: Indices) -> int:
    """Cells of a side of a batch."""
    return int(lengths[batch].max()) * len(batch)


@pytest.mark.parametrize("epoch", [0, 1, 7])
def test_every_pair_is_there_once(lengths: tuple[Indices, Indices], epoch: int) -> None:
    batches = plan_epoch(*lengths, BUDGET, seed=1, epoch=epoch)
    assert sorted(np.concatenate(batches).tolist()) == list(range(500))


def test_seed_and_epoch_decide_the_plan(lengths: tuple[Indices, Indices]) -> None:
    first = plan_epoch(*lengths, BUDGET, seed=1, epoch=0)
    np.random.seed(5)  # the global generator plays no part
    assert same(plan_epoch(*lengths, BUDGET, seed=1, epoch=0), first)
    for seed, epoch in ((1, 1), (2, 0), (0, 1)):
        other = plan_epoch(*lengths, BUDGET, seed=seed, epoch=epoch)
        assert not same(other, first)
        composition, others = ({frozenset(batch.tolist()) for batch in plan} for plan in (first, other))
        assert composition != others, "not only the order of the batches changes"


def test_every_epoch_has_as_many_batches(lengths: tuple[Indices, Indices]) -> None:
    assert len({len(plan_epoch(*lengths, BUDGET, seed=1, epoch=epoch)) for epoch in range(10)}) == 1


@pytest.mark.parametrize("budget", [1, 30, BUDGET, 1000, 10**6])
def test_padded_sides_keep_to_the_budget(lengths: tuple[Indices, Indices], budget: int) -> None:
    for batch in plan_epoch(*lengths, budget, seed=1, epoch=0):
        assert len(batch) == 1 or max(padded(side, batch) for side in lengths) <= budget


def test_a_sentence_beyond_the_budget_makes_its_own_batch(lengths: tuple[Indices, Indices]) -> None:
    batches = [batch.tolist() for batch in plan_epoch(*lengths, BUDGET, seed=1, epoch=0)]
    assert [7] in batches
    assert [11] in batches


def test_batches_come_in_no_order_of_length(lengths: tuple[Indices, Indices]) -> None:
    batches = plan_epoch(*lengths, BUDGET, seed=1, epoch=0)
    means = [float(lengths[1][batch].mean()) for batch in batches]
    assert abs(np.corrcoef(means, range(len(means)))[0, 1]) < 0.3


@pytest.mark.parametrize("sort", [False, True])
def test_a_cut_keeps_the_order_and_fills_each_batch(lengths: tuple[Indices, Indices], sort: bool) -> None:
    source, target = lengths
    order = np.argsort(target, kind="stable") if sort else np.arange(len(target))
    batches = cut(source, target, order, BUDGET)
    assert np.concatenate(batches).tolist() == order.tolist()
    for batch, following in pairwise(batches):
        assert len(batch) == 1 or max(padded(source, batch), padded(target, batch)) <= BUDGET
        larger = np.append(batch, following[0])
        assert max(padded(source, larger), padded(target, larger)) > BUDGET


def test_nothing_makes_no_batches() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert cut(nothing, nothing, nothing, BUDGET) == []
    assert plan_epoch(nothing, nothing, BUDGET, seed=1, epoch=0) == []


def words(path: Path) -> Indices:
    """Words of each line, and one more for eos."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return np.array([len(line.split()) + 1 for line in lines])


@pytest.mark.parametrize(("budget", "share"), [(1024, 0.985), (4096, 0.965)])
def test_little_of_multi30k_is_padding(data_directory: Path, budget: int, share: float) -> None:
    source, target = (words(data_directory / "multi30k" / name) for name in ("train.de.gz", "train.en.gz"))
    batches = plan_epoch(source, target, budget, seed=1, epoch=0)
    cells = sum(padded(source, batch) + padded(target, batch) for batch in batches)
    assert share < (source.sum() + target.sum()) / cells <= 1


@pytest.mark.parametrize("most", [1, 3, 10**6])
def test_no_batch_has_more_sentences_than_asked_for(lengths: tuple[Indices, Indices], most: int) -> None:
    batches = plan_epoch(*lengths, BUDGET, seed=1, epoch=0, batch_sentences=most)
    assert max(map(len, batches)) == min(most, max(map(len, plan_epoch(*lengths, BUDGET, seed=1, epoch=0))))
    assert sorted(np.concatenate(batches).tolist()) == list(range(500))
    for batch in batches:
        assert len(batch) == 1 or max(padded(side, batch) for side in lengths) <= BUDGET
