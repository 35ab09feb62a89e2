"""The best run is the one that trying all runs finds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.best_run import find_best_run


@given(st.lists(st.integers(-5, 5), max_size=12), st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)))
def test_no_run_gains_more(values: list[int], gaining: set[int], forbidden: set[int]) -> None:
    gains = {index: float(value) for index, value in enumerate(values) if index in gaining}
    losses = [math.inf if index in forbidden else abs(value) for index, value in enumerate(values)]

    def loss(index: int) -> float:
        return losses[index] if index < len(values) else math.inf

    runs = [(first, last) for first in range(len(values)) for last in range(first, len(values))]
    sums = {run: sum(gains.get(index, -loss(index)) for index in range(run[0], run[1] + 1)) for run in runs}
    found = find_best_run(gains, loss)
    if found is None:
        assert all(total <= 0 for total in sums.values())
    else:
        assert sums[found] == pytest.approx(max(sums.values()))


def test_equal_runs_give_the_first() -> None:
    assert find_best_run({1: 2.0, 5: 2.0}, lambda index: 1.0) == (1, 1)
    assert find_best_run({1: 2.0, 3: 2.0}, lambda index: 1.0) == (1, 3)
    assert find_best_run({1: -1.0, 2: 0.0}, lambda index: 1.0) is None
