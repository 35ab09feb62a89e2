"""Lines whose translations are a few lines away, as in blocks of ten lines that were shuffled or shifted.

Longer stretches are found by `alignment`. Here, each source of a group of doubtful lines is compared with all targets
around it. A source and a target are exchanged if they fit each other much better than both fit their own lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.chunked_reader import ChunkedReader
from dragoman.doctor.data.length_model import Floats, LengthModel
from dragoman.doctor.data.line_statistics import Flags
from dragoman.doctor.data.pair_scores import PairScores
from dragoman.doctor.data.words import concatenate_words, find_words

REACH = 9  # lines between a source and its translation
WINDOW, MIN_DOUBTFUL = 10, 4  # lines of a group, and how many of them must be doubtful
DOUBT_SHARE, MAX_DOUBT = 0.5, 4.0  # of the usual evidence, in nats; lines with less are doubtful
BATCH_LINES = 4000  # that are compared at a time
MIN_FIT, MIN_ADVANTAGE = 2.0, 3.0  # nats of a source and a target, and more than with their own lines
MAX_WORDS, MAX_LENGTHS = 12.0, 3.0  # nats that the words and the lengths of one pair may contribute
MIN_EXCHANGED, MIN_EVIDENCE = 3, 20.0  # pairs in a group of lines, and the sum of their advantages in nats


def flag_exchanged(reader: ChunkedReader, lengths: LengthModel, scores: PairScores, excluded: Flags) -> Flags:
    """The lines whose translations are among the lines around them.

    Args:
        reader: Reads the corpus.
        lengths: The lengths of its lines.
        scores: What the words of its pairs show.
        excluded: Lines that are not looked at, because they are explained or show nothing.
    """
    flags = np.zeros(len(lengths), np.bool_)
    if scores.links is None or len(lengths) < 2 * WINDOW:
        return flags
    doubtful = (scores.translation < min(DOUBT_SHARE * scores.usual, MAX_DOUBT)) & ~excluded
    ranges = list(_groups(doubtful))
    batch: list[tuple[int, int]] = []
    for first, stop in [*ranges, (0, 0)]:
        if batch and (stop == 0 or sum(end - begin for begin, end in batch) + stop - first > BATCH_LINES):
            for indices in _find(reader, lengths, scores, batch, doubtful):
                flags[indices] = True
            batch = []
        batch.append((first, stop))
    return flags & ~excluded


def _groups(doubtful: Flags) -> Iterator[tuple[int, int]]:
    """Ranges [first, stop) of lines that may contain exchanged ones, with the lines around them."""
    size = len(doubtful)
    sums = np.concatenate(([0], np.cumsum(doubtful)))
    starts = (sums[WINDOW:] - sums[:-WINDOW] >= MIN_DOUBTFUL).nonzero()[0]
    first, stop = 0, -WINDOW - REACH  # before all lines
    for start in starts.tolist():
        if start - REACH > stop:
            if stop > 0:
                yield first, stop
            first = max(0, start - REACH)
        stop = min(size, start + WINDOW + REACH)
    if stop > 0:
        yield first, stop


def _find(
    reader: ChunkedReader, lengths: LengthModel, scores: PairScores, ranges: Sequence[tuple[int, int]], doubtful: Flags
) -> Iterator[list[int]]:
    """The exchanged lines of each group."""
    assert scores.links is not None
    texts = list(reader.read_ranges(ranges))
    sources = concatenate_words([find_words(side) for side, _ in texts])
    targets = concatenate_words([find_words(side) for _, side in texts])
    lines = np.concatenate([np.arange(first, stop) for first, stop in ranges])
    places = np.arange(len(lines))

    def fit(shift: int) -> Floats:
        """How well each source fits the target `shift` lines below it, in nats."""
        others = np.clip(places + shift, 0, len(lines) - 1)
        words = scores.links.evidence(sources, targets.select(others))  # type: ignore[union-attr]
        likely = lengths.fit(lines, lines[others])
        total: Floats = np.clip(words, -MAX_WORDS, MAX_WORDS) + np.clip(likely, -MAX_LENGTHS, MAX_LENGTHS)
        return np.where((words >= MIN_FIT) | (shift == 0), total, -np.inf)

    own = fit(0)
    exchanged: list[tuple[float, int, int]] = []
    for shift in [*range(-REACH, 0), *range(1, REACH + 1)]:
        others = np.clip(places + shift, 0, len(lines) - 1)
        near = lines[others] - lines == shift
        advantage = np.minimum(fit(shift) - own, fit(shift) - own[others])
        for place in (near & (advantage >= MIN_ADVANTAGE)).nonzero()[0].tolist():
            exchanged.append((float(advantage[place]), place, place + shift))
    yield from _confirm(_match(exchanged), lines, own, doubtful)


def _match(exchanged: list[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
    """The best pairs of a source and a target, each of which is in one pair only."""
    sources, targets = set[int](), set[int]()
    matched = []
    for advantage, source, target in sorted(exchanged, reverse=True):
        if source not in sources and target not in targets:
            sources.add(source)
            targets.add(target)
            matched.append((advantage, source, target))
    return matched


def _confirm(
    matched: list[tuple[float, int, int]], lines: NDArray[np.int64], own: Floats, doubtful: Flags
) -> Iterator[list[int]]:
    """The lines of groups with enough evidence: those of the pairs, and doubtful ones between and next to them."""
    spans = sorted((min(source, target), max(source, target), advantage) for advantage, source, target in matched)
    groups: list[list[tuple[int, int, float]]] = []
    for span in spans:
        if groups and span[0] <= max(end for _, end, _ in groups[-1]) + 1:
            groups[-1].append(span)
        else:
            groups.append([span])
    for group in groups:
        if len(group) < MIN_EXCHANGED or sum(advantage for *_, advantage in group) < MIN_EVIDENCE:
            continue
        first, last = min(span[0] for span in group), max(span[1] for span in group)
        involved = {place for span in group for place in span[:2]}
        while first > 0 and lines[first - 1] == lines[first] - 1 and own[first - 1] < 0 and last - first < WINDOW:
            first -= 1
        while last + 1 < len(lines) and lines[last + 1] == lines[last] + 1 and own[last + 1] < 0:
            if last - first >= WINDOW:
                break
            last += 1
        yield [
            int(lines[place])
            for place in range(first, last + 1)
            if place in involved or own[place] < 0 or doubtful[lines[place]]
        ]
