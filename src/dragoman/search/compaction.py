"""Removing ended sentences from a batch."""

from __future__ import annotations

from collections.abc import Sequence


def fill_gaps(kept: Sequence[int]) -> list[int]:
    """The indices of the rows to keep, which ascend, in an order in which few rows move.

    The last rows take the places of the removed ones: rows 0, 2, 3 and 5 of 6 become 0, 5, 2, 3.
    """
    size, found = len(kept), set(kept)
    last = iter([row for row in kept if row >= size])
    return [row if row in found else next(last) for row in range(size)]
