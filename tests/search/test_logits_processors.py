"""Logits processors remove exactly the tokens they should, and keep the other probabilities in proportion."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
import torch
from torch import Tensor

from dragoman.search.logits_processors import (
    apply_processors,
    forbid,
    minimum_length,
    no_repeat_ngram,
    temperature,
    top_k,
    top_p,
)

close = torch.testing.assert_close
NOTHING = torch.empty(20, 0, dtype=torch.int64)


@pytest.fixture
def logits() -> Tensor:
    return torch.randn(20, 6, generator=torch.Generator().manual_seed(1)) * 2


def kept(processed: Tensor) -> list[set[int]]:
    """The ids of each row that can still be chosen."""
    return [set(row.isfinite().nonzero()[:, 0].tolist()) for row in processed]


def smallest_sets(logits: Tensor, p: float) -> list[set[int]]:
    """Of all sets of ids that reach p, one with the fewest ids, and of those the likeliest."""
    chosen = []
    for probabilities in logits.softmax(dim=-1).tolist():
        sets = (each for size in range(1, 7) for each in combinations(range(6), size))
        reaching = [each for each in sets if sum(probabilities[index] for index in each) >= p - 1e-6]
        fewest = min(map(len, reaching))
        likeliest = max(
            (each for each in reaching if len(each) == fewest), key=lambda each: sum(probabilities[i] for i in each)
        )
        chosen.append(set(likeliest))
    return chosen


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8, 0.95, 1.0])
def test_top_p_keeps_the_smallest_set(logits: Tensor, p: float) -> None:
    processed = top_p(p)(logits, NOTHING)
    assert kept(processed) == smallest_sets(logits, p)
    assert torch.equal(processed[processed.isfinite()], logits[processed.isfinite()])


def test_top_p_ends_as_soon_as_it_is_reached() -> None:
    (ids,) = kept(top_p(0.5)(torch.zeros(1, 4), NOTHING[:1]))
    assert len(ids) == 2, "two ids of probability 1/4 reach 1/2"


@pytest.mark.parametrize("k", [1, 3, 6, 50])
def test_top_k_keeps_the_likeliest(logits: Tensor, k: int) -> None:
    processed = top_k(k)(logits, NOTHING)
    assert kept(processed) == [set(sorted(range(6), key=lambda index: -row[index])[:k]) for row in logits.tolist()]
    assert torch.equal(processed[processed.isfinite()], logits[processed.isfinite()])


@pytest.mark.parametrize("ids", [[0], [5, 2], range(5)])
def test_forbidden_ids_have_no_probability(logits: Tensor, ids: list[int]) -> None:
    probabilities = forbid(ids)(logits.clone(), NOTHING).softmax(dim=-1)
    others = [index for index in range(6) if index not in ids]
    assert probabilities[:, list(ids)].max() == 0
    close(probabilities[:, others], logits[:, others].softmax(dim=-1))


@pytest.mark.parametrize("value", [0.25, 0.5, 1.0, 3.0])
def test_temperature_is_a_power_of_the_probabilities(logits: Tensor, value: float) -> None:
    powers = logits.softmax(dim=-1) ** (1 / value)
    close(temperature(value)(logits.clone(), NOTHING).softmax(dim=-1), powers / powers.sum(dim=-1, keepdim=True))


def test_processors_are_applied_in_order_in_float32(logits: Tensor) -> None:
    before = logits.bfloat16()
    unchanged = before.clone()
    processed = apply_processors([forbid([0]), temperature(0.5), top_k(2)], before.clone(), NOTHING)
    assert torch.equal(before, unchanged)
    assert processed.dtype == torch.float32
    for row, ids in zip(before.float(), kept(processed), strict=True):
        assert ids == set((row[1:].topk(2).indices + 1).tolist())
    finite = processed.isfinite()
    close(processed[finite], before.float()[finite] * 2)
    assert (processed[~finite] == -math.inf).all()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_only_tokens_that_repeat_an_ngram_are_forbidden(logits: Tensor, n: int) -> None:
    for length in range(8):
        tokens = torch.randint(6, (20, length), generator=torch.Generator().manual_seed(length))
        processed = no_repeat_ngram(n)(logits.clone(), tokens)
        for row, allowed in zip(tokens.tolist(), kept(processed), strict=True):
            seen = [tuple(row[start : start + n]) for start in range(length - n + 1)]
            end = row[length - n + 1 :] if n > 1 else []
            assert allowed == {token for token in range(6) if (*end, token) not in seen}
        assert torch.equal(processed[processed.isfinite()], logits[processed.isfinite()])


def test_eos_is_forbidden_before_the_minimum_length(logits: Tensor) -> None:
    for length in range(5):
        probabilities = minimum_length(3, eos=1)(logits.clone(), NOTHING.new_zeros(20, length)).softmax(dim=-1)
        assert bool((probabilities[:, 1] > 0).all()) == (length >= 3)
