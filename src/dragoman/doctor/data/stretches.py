"""Stretches of lines, and where a sum of evidence shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.doctor.data.length_model import Floats

MIN_EVIDENCE = 25.0  # nats of a stretch
MAX_DROP = 15.0  # a stretch ends where its evidence has dropped by this many nats
MIN_LINES = 15  # of a stretch
MAX_GAP = 20  # lines between stretches with the same shift that are joined


@dataclass(frozen=True)
class Stretch:
    """Misaligned lines from `first` to `last`, counted from 1.

    The translation of each source is `shift` lines further down, or further up if negative; None: no shift aligns them.
    """

    first: int
    last: int
    shift: int | None


def find_peaks(evidence: Floats) -> list[tuple[int, int]]:
    """Indices [first, last] of stretches whose evidence sums to at least `MIN_EVIDENCE`.

    The sum restarts where it falls to zero; a stretch ends where the sum is highest.
    """
    found: list[tuple[int, int]] = []
    total = peak = 0.0
    first = last = 0
    for index, value in enumerate(evidence.tolist()):
        total += value
        if total > peak:
            peak, last = total, index
        elif total <= 0 or (peak >= MIN_EVIDENCE and total < peak - MAX_DROP):
            if peak >= MIN_EVIDENCE:
                found.append((first, last))
            total = peak = 0.0
            first = last = index + 1
    if peak >= MIN_EVIDENCE:
        found.append((first, last))
    return found


def best_part(gain: Floats) -> tuple[int, int]:
    """First and last index of the part with the largest sum."""
    sums = np.concatenate(([0.0], np.cumsum(gain)))
    rises = sums - np.minimum.accumulate(sums)
    end = int(rises.argmax())
    start = int(sums[: end + 1].argmin())
    return start, end - 1


def best_prefix(gain: Floats) -> int:
    """The number of values at the start whose sum is largest."""
    return int(np.concatenate(([0.0], np.cumsum(gain))).argmax())


def merge_stretches(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Join neighboring stretches that have the same shift."""
    merged: list[Stretch] = []
    for stretch in sorted(stretches, key=lambda each: each.first):
        previous = merged[-1] if merged else None
        if previous and previous.shift == stretch.shift and stretch.first - previous.last <= _gap(stretch):
            merged[-1] = Stretch(previous.first, max(previous.last, stretch.last), previous.shift)
        else:
            merged.append(stretch)
    return merged


def _gap(stretch: Stretch) -> int:
    return MAX_GAP if stretch.shift is not None else 1
