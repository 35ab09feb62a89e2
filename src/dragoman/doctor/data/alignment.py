"""Find stretches of a corpus whose lines are not translations of each other, by the lengths of the lines.

The length of a sentence predicts the length of its translation. Where the lengths of the neighboring targets predict it
better, line after line, source and target are misaligned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.length_model import WINDOW, Floats, LengthModel, correlation

MAX_LINE_EVIDENCE = 2.0  # nats that one line may contribute
MIN_EVIDENCE = 25.0  # nats of a stretch; aligned corpora reach 8, and 31 where the kind of text changes
MIN_UNEXPLAINED_EVIDENCE = 60.0  # nats of a stretch that no shift explains
MAX_DROP = 15.0  # a stretch ends where its evidence has dropped by this many nats
MAX_SHIFT = 30  # lines
MIN_LINES = 25  # of a stretch
MIN_CORRELATION = 0.3  # of the lengths in a corpus that is not misaligned as a whole
MAX_UNRELATED_CORRELATION = 0.25  # of the lengths in a stretch of unrelated lines


@dataclass(frozen=True)
class Stretch:
    """Misaligned lines from `first` to `last`, counted from 1.

    The translation of each source is `shift` lines further down, or further up if negative; None: no shift aligns them.
    """

    first: int
    last: int
    shift: int | None


def find_misaligned(source_lengths: NDArray[np.uint32], target_lengths: NDArray[np.uint32]) -> list[Stretch]:
    """Find the misaligned stretches of a corpus.

    Args:
        source_lengths: Characters of each source, (pairs,).
        target_lengths: Characters of each target, (pairs,).
    """
    size = len(source_lengths)
    if size < 2 * MIN_LINES:
        return []
    model = LengthModel(source_lengths, target_lengths)
    lengths_vary = min(model.source.std(), model.target.std()) > 0.1
    if size >= WINDOW and model.correlation < MIN_CORRELATION and lengths_vary:
        return [Stretch(1, size, None)]
    evidence = model.unpaired_log_likelihood() - model.log_likelihood(0)
    evidence = np.clip(evidence, -MAX_LINE_EVIDENCE, MAX_LINE_EVIDENCE)
    stretches = []
    for first, last in _find_peaks(evidence):
        stretch = _find_shift(model, first, last)
        if not stretch and evidence[first : last + 1].sum() >= MIN_UNEXPLAINED_EVIDENCE:
            stretch = Stretch(first + 1, last + 1, None) if _is_unrelated(model, first, last) else None
        if stretch and stretch.last - stretch.first + 1 >= MIN_LINES:
            stretches.append(stretch)
    return _merge(stretches)


def _find_peaks(evidence: Floats) -> list[tuple[int, int]]:
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


def _find_shift(model: LengthModel, first: int, last: int) -> Stretch | None:
    """The part of a stretch that a shift of one side aligns, or None if no shift aligns it well enough."""
    around = slice(max(0, first - MIN_LINES), min(len(model), last + 1 + MIN_LINES))
    inner = slice(first - around.start, last + 1 - around.start)
    unshifted = model.log_likelihood(0)[around]
    gains = {
        shift: np.clip(model.log_likelihood(shift)[around] - unshifted, -MAX_LINE_EVIDENCE, MAX_LINE_EVIDENCE)
        for shift in range(-MAX_SHIFT, MAX_SHIFT + 1)
        if shift and last - first >= abs(shift)
    }
    best = max(gains, key=lambda shift: float(gains[shift][inner].sum()), default=0)
    if not best or gains[best][inner].sum() < MIN_EVIDENCE:
        return None
    start, end = _best_part(gains[best])
    indices = np.arange(around.start + start, around.start + end + 1)
    shifted_target = model.target[np.clip(indices + best, 0, len(model) - 1)]
    shifted_correlation = correlation(model.source[indices], shifted_target)
    if shifted_correlation <= max(0.5 * model.correlation, _correlation_within(model, first, last) + 0.3):
        return None
    return Stretch(int(indices[0]) + 1, int(indices[-1]) + 1, best)


def _is_unrelated(model: LengthModel, first: int, last: int) -> bool:
    """Whether the lengths in a stretch are much less correlated than elsewhere, although they vary enough to be."""
    stretch = slice(first, last + 1)
    target_variance = max(float(model.target[stretch].var()), 1e-9)
    explained_variance = 1 - float((model.deviation[stretch] ** 2).mean()) / target_variance
    expected = min(model.correlation, explained_variance) - 0.25
    return _correlation_within(model, first, last) < MAX_UNRELATED_CORRELATION < expected


def _correlation_within(model: LengthModel, first: int, last: int) -> float:
    return correlation(model.source[first : last + 1], model.target[first : last + 1])


def _merge(stretches: list[Stretch]) -> list[Stretch]:
    """Join neighboring stretches that have the same shift."""
    merged: list[Stretch] = []
    for stretch in stretches:
        previous = merged[-1] if merged else None
        if previous and previous.shift == stretch.shift and stretch.first - previous.last <= WINDOW:
            merged[-1] = Stretch(previous.first, max(previous.last, stretch.last), previous.shift)
        else:
            merged.append(stretch)
    return merged


def _best_part(gain: Floats) -> tuple[int, int]:
    """First and last index of the part with the largest sum."""
    sums = np.concatenate(([0.0], np.cumsum(gain)))
    rises = sums - np.minimum.accumulate(sums)
    end = int(rises.argmax())
    start = int(sums[: end + 1].argmin())
    return start, end - 1
