"""Rows that are kept move as little as possible."""

from __future__ import annotations

from itertools import product

import pytest

from dragoman.search.beam import fill_gaps

SUBSETS = [[row for row, kept in enumerate(flags) if kept] for flags in product([True, False], repeat=6)]


@pytest.mark.parametrize("kept", SUBSETS, ids=str)
def test_the_last_rows_fill_the_gaps(kept: list[int]) -> None:
    order = fill_gaps(kept)
    assert sorted(order) == kept
    assert all(row == place or row >= len(kept) for place, row in enumerate(order))
