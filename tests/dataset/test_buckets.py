"""Batches of like length: everything once, under the budget, with little padding."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dragoman.dataset.buckets import Indices, plan_epoch, split_into_batches

BUDGET = 100


@pytest.fixture
def lengths() -> tuple[Indices, Indices]:
    generator = np.random.default_rng(1)
    source = generator.integers(1, 40, 500)
    target = np.maximum(1, source + generator.integers(-5, 6, 500))
    source[7], target[11] = BUDGET + 50, BUDGET + 1  # too long for any batch
    return source, target


def same(ours: Iterable[Indices], theirs: Iterable[Indices]) -> bool:
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
    batches = split_into_batches(source, target, order, BUDGET)
    assert np.concatenate(batches).tolist() == order.tolist()
    for batch, following in pairwise(batches):
        assert len(batch) == 1 or max(padded(source, batch), padded(target, batch)) <= BUDGET
        larger = np.append(batch, following[0])
        assert max(padded(source, larger), padded(target, larger)) > BUDGET


def test_nothing_makes_no_batches() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert list(split_into_batches(nothing, nothing, nothing, BUDGET)) == []
    assert list(plan_epoch(nothing, nothing, BUDGET, seed=1, epoch=0)) == []


def words(path: Path) -> Indices:
    """Words of each line, and one more for eos."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return np.array([len(line.split()) + 1 for line in lines])


@pytest.mark.parametrize(("budget", "share"), [(1024, 0.985), (4096, 0.965)])
def test_little_of_multi30k_is_padding(data_directory: Path, budget: int, share: float) -> None:
    source, target = (words(data_directory / "multi30k" / name) for name in ("train.de.gz", "train.en.gz"))
    batches = plan_epoch(source, target, budget, seed=1, epoch=0)
    padded_tokens = sum(padded(source, batch) + padded(target, batch) for batch in batches)
    assert share < (source.sum() + target.sum()) / padded_tokens <= 1


@pytest.mark.parametrize("most", [1, 3, 10**6])
def test_no_batch_has_more_sentences_than_asked_for(lengths: tuple[Indices, Indices], most: int) -> None:
    batches = plan_epoch(*lengths, BUDGET, seed=1, epoch=0, batch_sentences=most)
    assert max(map(len, batches)) == min(most, max(map(len, plan_epoch(*lengths, BUDGET, seed=1, epoch=0))))
    assert sorted(np.concatenate(batches).tolist()) == list(range(500))
    for batch in batches:
        assert len(batch) == 1 or max(padded(side, batch) for side in lengths) <= BUDGET


def plan_plainly(
    source: Indices, target: Indices, batch_tokens: int, seed: int, epoch: int, most: int | None
) -> list[Indices]:
    """What `plan_epoch` is to give: one sort by three keys, and a walk from sentence to sentence."""
    generator = np.random.Generator(np.random.PCG64([seed, epoch]))
    longest, difference = np.maximum(source, target), source - target
    difference = np.where(longest % 2, difference, -difference)
    order = np.lexsort((generator.permutation(len(longest)), difference, longest))
    batches = cut_plainly(longest, order, batch_tokens, most)
    return [batches[index] for index in generator.permutation(len(batches))]


def cut_plainly(longest: Indices, order: Indices, batch_tokens: int, most: int | None) -> list[Indices]:
    batches: list[list[int]] = []
    for index in order.tolist():
        larger = [*batches[-1], index] if batches else [index]
        fits = longest[larger].max() * len(larger) <= batch_tokens and len(larger) <= (most or len(order))
        if batches and fits:
            batches[-1] = larger
        else:
            batches.append([index])
    return [np.array(batch) for batch in batches]


@pytest.mark.parametrize("most", [None, 1, 4])
@pytest.mark.parametrize("budget", [1, 20, 150, 10**6])
@pytest.mark.parametrize("longest", [2, 12, 90, 100_000])
def test_the_quick_plan_is_the_plain_one(longest: int, budget: int, most: int | None) -> None:
    generator = np.random.default_rng(longest)
    for epoch, pairs in enumerate((1, 2, 7, 60)):
        source, target, order = *generator.integers(1, longest, (2, pairs)), generator.permutation(pairs)
        assert same(
            plan_epoch(source, target, budget, 3, epoch, most), plan_plainly(source, target, budget, 3, epoch, most)
        )
        assert same(
            split_into_batches(source, target, order, budget, most),
            cut_plainly(np.maximum(source, target), order, budget, most),
        )


def test_a_plan_is_small() -> None:
    """Neither the plan nor planning takes many bytes a pair; a Python object takes 28 at the least."""
    pairs = 500_000
    lengths = np.random.default_rng(1).integers(1, 40, (2, pairs)).astype(np.int32)
    tracemalloc.start()
    plan = plan_epoch(lengths[0], lengths[1], 1024, seed=1, epoch=0)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(plan) > 1
    assert kept < 6 * pairs
    assert peak < 28 * pairs
