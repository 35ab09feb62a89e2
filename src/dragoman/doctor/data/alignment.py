"""Find stretches of a corpus whose lines are not translations of each other.

The words of a translation belong to words of its source. Where they do not, line after line, and where the targets some
lines further up or down fit better, or no worse, source and target are misaligned. If the corpus is too small to learn
which words belong together, or if it has no words, the lengths of the lines are used: the length of a sentence predicts
the length of its translation (Gale and Church 1993).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dragoman.doctor.data.chunked_reader import ChunkedReader
from dragoman.doctor.data.length_model import MAX_SHIFT, WINDOW, Floats, LengthModel, correlation
from dragoman.doctor.data.line_statistics import Flags
from dragoman.doctor.data.pair_scores import PairScores
from dragoman.doctor.data.realignment import MAX_LINE_EVIDENCE, Block
from dragoman.doctor.data.stretches import MIN_EVIDENCE, Stretch, best_part, best_prefix, find_peaks, merge_stretches

USUAL_SHARE, MAX_DOUBTFUL_EVIDENCE = 0.5, 4.0  # of the median evidence of a pair; lines below it may be misaligned
BLOCK_LINES = 500  # lines that are examined at a time
MAX_JOINED_LINES = 20_000  # between two stretches with the same shift
MIN_UNEXPLAINED_EVIDENCE = 60.0  # nats of the lengths in a stretch that no shift explains
MIN_LINES_BY_LENGTH = 25  # of a stretch that only the lengths show
MIN_CORRELATION = 0.3  # of the lengths in a corpus that is not misaligned as a whole
MAX_UNRELATED_CORRELATION = 0.25  # of the lengths in a stretch of unrelated lines


def find_misaligned(reader: ChunkedReader, model: LengthModel, scores: PairScores, unreadable: Flags) -> list[Stretch]:
    """Find the misaligned stretches of a corpus.

    Args:
        reader: Reads the corpus, if any lines have to be examined again.
        model: The lengths of the lines.
        scores: What the words of the pairs show.
        unreadable: Pairs with an empty or damaged side. They fit nothing, which is no evidence.
    """
    if len(model) < 2 * MIN_LINES_BY_LENGTH:
        return []
    if scores.links is not None:
        found = merge_stretches(list(_find_by_words(reader, scores, unreadable)))
        return merge_stretches([*found, *_find_more(reader, scores, found)])
    lengths_vary = min(model.source.std(), model.target.std()) > 0.1
    if len(model) >= WINDOW and model.correlation < MIN_CORRELATION and lengths_vary:
        return [Stretch(1, len(model), model.common_shift(~unreadable) or None)]
    return merge_stretches(list(_find_by_lengths(model, unreadable)))


def _find_by_words(reader: ChunkedReader, scores: PairScores, unreadable: Flags) -> Iterator[Stretch]:
    assert scores.links is not None
    doubt = min(USUAL_SHARE * scores.usual, MAX_DOUBTFUL_EVIDENCE)
    evidence = _clip_evidence(doubt - scores.translation.astype(float), unreadable)
    ranges = [
        (start, min(start + BLOCK_LINES, last + 1))
        for first, last in find_peaks(evidence)
        for start in range(first, last + 1, BLOCK_LINES)
    ]
    size, margin = len(evidence), MAX_SHIFT
    around = [(max(0, start - margin), min(size, stop + margin)) for start, stop in ranges]
    for (start, _), (sources, targets) in zip(around, reader.read_ranges(around), strict=True):
        for stretch in Block(scores.links, scores.usual, sources, targets).find_misaligned():
            yield Stretch(start + stretch.first + 1, start + stretch.last + 1, stretch.shift)


def _find_more(reader: ChunkedReader, scores: PairScores, stretches: Sequence[Stretch]) -> Iterator[Stretch]:
    """More lines that belong to shifted stretches, before, after or between them.

    After a missing line, the rest of a file is shifted, also where the words of single lines do not show it clearly.
    """
    assert scores.links is not None
    size = len(scores.translation)
    nearby = [each for each in _lines_nearby(stretches, size) if each.first <= each.last]
    around = [(max(0, each.first - 1 - MAX_SHIFT), min(size, each.last + MAX_SHIFT)) for each in nearby]
    for lines, (start, _), (sources, targets) in zip(nearby, around, reader.read_ranges(around), strict=True):
        advantage = Block(scores.links, scores.usual, sources, targets).advantage(lines.shift)
        advantage = advantage[lines.first - 1 - start : lines.last - start]
        if lines.after and lines.before and advantage.sum() >= 0:
            yield Stretch(lines.first, lines.last, lines.shift)
            continue
        if lines.after and (count := best_prefix(advantage)):
            yield Stretch(lines.first, lines.first + count - 1, lines.shift)
        if lines.before and (count := best_prefix(advantage[::-1])):
            yield Stretch(lines.last - count + 1, lines.last, lines.shift)


@dataclass(frozen=True)
class _Nearby:
    """Lines from `first` to `last`, after or before a stretch with a shift, or between two."""

    first: int
    last: int
    shift: int
    after: bool
    before: bool


def _lines_nearby(stretches: Sequence[Stretch], size: int) -> Iterator[_Nearby]:
    """The lines next to shifted stretches, in ascending order."""
    ends = [Stretch(0, 0, None), *stretches, Stretch(size + 1, size + 1, None)]
    for one, other in pairwise(ends):
        first, last = one.last + 1, other.first - 1
        if one.shift is not None and one.shift == other.shift and last - first < MAX_JOINED_LINES:
            yield _Nearby(first, last, one.shift, after=True, before=True)
            continue
        if one.shift is not None:
            yield _Nearby(first, min(last, first + BLOCK_LINES - 1), one.shift, after=True, before=False)
        if other.shift is not None:
            yield _Nearby(max(first, last - BLOCK_LINES + 1), last, other.shift, after=False, before=True)


def _find_by_lengths(model: LengthModel, unreadable: Flags) -> Iterator[Stretch]:
    evidence = _clip_evidence(model.unpaired_log_likelihood() - model.log_likelihood(0), unreadable)
    for first, last in find_peaks(evidence):
        stretch = _find_shift(model, first, last)
        if not stretch and evidence[first : last + 1].sum() >= MIN_UNEXPLAINED_EVIDENCE:
            stretch = Stretch(first + 1, last + 1, None) if _is_unrelated(model, first, last) else None
        if stretch and stretch.last - stretch.first + 1 >= MIN_LINES_BY_LENGTH:
            yield stretch


def _clip_evidence(evidence: Floats, unreadable: Flags) -> Floats:
    """The evidence that each line is misaligned, within the limits of a line."""
    clipped: Floats = np.clip(evidence, -MAX_LINE_EVIDENCE, MAX_LINE_EVIDENCE)
    return np.where(unreadable, np.minimum(clipped, 0.0), clipped)


def _find_shift(model: LengthModel, first: int, last: int) -> Stretch | None:
    """The part of a stretch that a shift of one side aligns, or None if no shift aligns it well enough."""
    around = slice(max(0, first - MIN_LINES_BY_LENGTH), min(len(model), last + 1 + MIN_LINES_BY_LENGTH))
    inner = slice(first - around.start, last + 1 - around.start)
    unshifted = model.log_likelihood(0, around)
    gains = {
        shift: np.clip(model.log_likelihood(shift, around) - unshifted, -MAX_LINE_EVIDENCE, MAX_LINE_EVIDENCE)
        for shift in range(-MAX_SHIFT, MAX_SHIFT + 1)
        if shift and last - first >= abs(shift)
    }
    best = max(gains, key=lambda shift: float(gains[shift][inner].sum()), default=0)
    if not best or gains[best][inner].sum() < MIN_EVIDENCE:
        return None
    start, end = best_part(gains[best])
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
