"""The best run of consecutive numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def find_best_run(gains: Mapping[int, float], loss: Callable[[int], float]) -> tuple[int, int] | None:
    """The first and the last number of the run with the largest sum, of which the first one is found.

    The time depends on the gains only: a run ends as soon as it loses what it gained.

    Args:
        gains: What some numbers gain; this may be negative.
        loss: What any other number loses; infinity if it must not be in a run.

    Returns:
        None if no run gains anything.
    """
    best, best_gain = None, 0.0
    after_last_run = -1
    for start in sorted(gains):
        if start < after_last_run:
            continue
        index, gain = start, gains[start]
        while gain > 0:
            if gain > best_gain:
                best, best_gain = (start, index), gain
            index += 1
            gain += gains[index] if index in gains else -loss(index)
        after_last_run = index + 1
    return best
