"""Stretches of a corpus whose lines are not translations of each other, found by how long they are.

The length of a translation tells much about that of its source (Gale and Church 1993). Where it tells less than the
lengths of the neighbourhood do, line after line, the two sides have come apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST = 2.0  # nats that one line may say for or against
ALARM = 25.0  # nats that a stretch must say; sound corpora reach 8, and 31 where their kind of text changes
UNRELATED = 60.0  # nats for a stretch that no shift explains
FALL = 15.0  # nats that end a stretch
SHIFTS = 30  # lines by which sides may have come apart to be told
NEIGHBOURS = 200  # lines that tell what lengths are usual
CLASSES = 8  # of lengths
SHORTEST = 25  # lines of a stretch that is told of


@dataclass(frozen=True)
class Stretch:
    """Lines first to last, from 1, whose target stands `shift` lines further down (None: not found nearby)."""

    first: int
    last: int
    shift: int | None


def misaligned(source_lengths: NDArray[np.uint32], target_lengths: NDArray[np.uint32]) -> list[Stretch]:
    """The stretches in which pairs are wrong.

    Args:
        source_lengths: Characters of each source, (pairs,).
        target_lengths: Characters of each target, (pairs,).
    """
    if len(source_lengths) < 2 * SHORTEST:
        return []
    source, target = np.log(source_lengths + 3.0), np.log(target_lengths + 3.0)
    usual = _correlation(source, target)
    if len(source) >= NEIGHBOURS and usual < 0.3 and min(source.std(), target.std()) > 0.1:
        return [Stretch(1, len(source), None)]
    paired = _PairLikelihood(source, target)
    evidence = np.clip(_alone_likelihood(target) - paired(0), -MOST, MOST)
    stretches = []
    for first, last in _stretches(evidence):
        strong = float(evidence[first : last + 1].sum()) >= UNRELATED
        stretch = _explain(first, last, source, target, paired, usual, strong)
        if stretch is not None and stretch.last - stretch.first + 1 >= SHORTEST:
            stretches.append(stretch)
    return _merge(stretches)


class _PairLikelihood:
    """Log-likelihood of each target's length given that of the source some lines further up.

    Short texts differ more in length from their translations than long ones: each class of length has its deviation.
    """

    def __init__(self, source: Floats, target: Floats) -> None:
        self.source, self.target = source, target
        classes = max(1, min(CLASSES, len(source) // NEIGHBOURS))
        inner = np.quantile(source, np.linspace(0, 1, classes + 1)[1:-1])
        self.kind = np.searchsorted(inner, source)
        ratio = target - source
        self.mean, self.deviation = np.zeros(classes), np.ones(classes)
        for kind in set(self.kind.tolist()):
            own = ratio[self.kind == kind]
            self.mean[kind] = np.median(own)
            # the nearest 30 % of a normal distribution are within 0.385 deviations, however wrong the other 70 % are
            self.deviation[kind] = max(float(np.quantile(np.abs(own - self.mean[kind]), 0.3)) / 0.385, 0.1)

    def __call__(self, shift: int) -> Floats:
        places = np.clip(np.arange(len(self.source)) + shift, 0, len(self.source) - 1)
        return _normal(self.target[places] - self.source, self.mean[self.kind], self.deviation[self.kind])


def _alone_likelihood(target: Floats) -> Floats:
    """Log-likelihood of each target's length given those of its neighbours."""
    window = min(NEIGHBOURS, len(target))
    padded = np.pad(target, (window // 2, window - window // 2 - 1), mode="reflect")
    sums, squares = (np.concatenate(([0.0], np.cumsum(values))) for values in (padded, padded**2))
    mean = (sums[window:] - sums[:-window]) / window
    variance = (squares[window:] - squares[:-window]) / window - mean**2
    return _normal(target, mean, np.sqrt(np.maximum(variance, 0.01)))


def _normal(x: Floats, mean: Floats | float, deviation: Floats | float) -> Floats:
    result: Floats = -0.5 * ((x - mean) / deviation) ** 2 - np.log(deviation)
    return result


def _stretches(evidence: Floats) -> list[tuple[int, int]]:
    """Where evidence adds up to ALARM and more, as places [first, last]; it starts anew wherever it falls to zero."""
    found: list[tuple[int, int]] = []
    total = peak = 0.0
    first = last = 0
    for place, value in enumerate(evidence.tolist()):
        total += value
        if total > peak:
            peak, last = total, place
        elif total <= 0 or (peak >= ALARM and total < peak - FALL):
            if peak >= ALARM:
                found.append((first, last))
            total = peak = 0.0
            first = last = place + 1
    if peak >= ALARM:
        found.append((first, last))
    return found


def _explain(
    first: int, last: int, source: Floats, target: Floats, paired: _PairLikelihood, usual: float, strong: bool
) -> Stretch | None:
    """Say by how many lines a stretch is shifted, or that its lengths are unrelated; None if neither."""
    around = slice(max(0, first - SHORTEST), min(len(source), last + 1 + SHORTEST))
    straight = paired(0)[around]
    inner = slice(first - around.start, last + 1 - around.start)
    gains = {
        shift: np.clip(paired(shift)[around] - straight, -MOST, MOST)
        for shift in range(-SHIFTS, SHIFTS + 1)
        if shift and last - first >= abs(shift)
    }
    best = max(gains, key=lambda shift: float(gains[shift][inner].sum()), default=0)
    straight_correlation = _correlation(source[first : last + 1], target[first : last + 1])
    if best and gains[best][inner].sum() >= ALARM:
        start, end = _best_part(gains[best])
        places = np.arange(around.start + start, around.start + end + 1)
        moved = _correlation(source[places], target[np.clip(places + best, 0, len(target) - 1)])
        if moved > max(0.5 * usual, straight_correlation + 0.3):
            return Stretch(int(places[0]) + 1, int(places[-1]) + 1, best)
    here = slice(first, last + 1)
    expected = 1 - float((paired.deviation[paired.kind[here]] ** 2).mean()) / max(float(target[here].var()), 1e-9)
    unrelated = straight_correlation < 0.25 < min(usual - 0.25, expected - 0.25) and strong
    return Stretch(first + 1, last + 1, None) if unrelated else None


def _merge(stretches: list[Stretch]) -> list[Stretch]:
    """Join neighbours that are shifted alike."""
    merged: list[Stretch] = []
    for stretch in stretches:
        before = merged[-1] if merged else None
        if before and before.shift == stretch.shift and stretch.first - before.last <= NEIGHBOURS:
            merged[-1] = Stretch(before.first, max(before.last, stretch.last), before.shift)
        else:
            merged.append(stretch)
    return merged


def _best_part(gain: Floats) -> tuple[int, int]:
    """First and last place of the part with the largest sum."""
    sums = np.concatenate(([0.0], np.cumsum(gain)))
    rises = sums - np.minimum.accumulate(sums)
    end = int(rises.argmax())
    start = int(sums[: end + 1].argmin())
    return start, end - 1


def _correlation(one: Floats, other: Floats) -> float:
    if min(one.std(), other.std()) < 1e-9:
        return 1.0
    return float(np.corrcoef(one, other)[0, 1])
