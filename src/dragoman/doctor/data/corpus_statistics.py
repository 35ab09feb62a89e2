"""Statistics of a corpus: a few dozen bytes per pair, collected while the corpus is read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.chunked_reader import ChunkedReader
from dragoman.doctor.data.line_statistics import (
    Digests,
    Flags,
    LineStatistics,
    compute_line_statistics,
    join_statistics,
    normalize,
)

COUNTED_LINES = 24_000  # lines at the start of a corpus whose words are all counted
COUNTED_CHUNK_LINES = 200  # lines at the start of each later chunk whose words are counted


@dataclass(frozen=True)
class SideStatistics:
    """Statistics of one side of a corpus.

    Attributes:
        lengths: Characters of each line.
        digests: A hash of each line that ignores case and spacing.
        scripts: The index in `SCRIPTS` of each line's script; 0 if no script is predominant.
        word_counts: Frequencies of the words in a sample of the lines, in lower case.
    """

    lengths: NDArray[np.uint32]
    digests: Digests
    scripts: NDArray[np.uint8]
    word_counts: Counter[str]


@dataclass(frozen=True)
class CorpusStatistics:
    """Statistics of both sides of a corpus, and the pairs with problems that are visible in the pair itself.

    Attributes:
        source: Statistics of the source.
        target: Statistics of the target.
        flags: For each code of a finding, the pairs that have the problem.
    """

    source: SideStatistics
    target: SideStatistics
    flags: dict[str, Flags]

    def __len__(self) -> int:
        return len(self.source.lengths)

    @property
    def pair_digests(self) -> Digests:
        """A hash of each pair."""
        digests: Digests = self.source.digests * np.int64(0x9E3779B97F4A7C1) + self.target.digests
        return digests


def collect_statistics(reader: ChunkedReader) -> CorpusStatistics:
    """Read a corpus once and collect its statistics."""
    source_parts: list[LineStatistics] = []
    target_parts: list[LineStatistics] = []
    source_words, target_words = Counter[str](), Counter[str]()
    invalid_parts = [np.zeros(0, np.bool_)]
    for chunk in reader.chunks():
        counted = len(chunk) if chunk.first_line <= COUNTED_LINES else COUNTED_CHUNK_LINES
        source_parts.append(_add_lines(chunk.sources, source_words, counted))
        target_parts.append(_add_lines(chunk.targets, target_words, counted))
        invalid_parts.append(np.isin(np.arange(len(chunk)), list(chunk.invalid_utf8)))
    source, target = join_statistics(source_parts), join_statistics(target_parts)
    return CorpusStatistics(
        SideStatistics(source.lengths, source.digests, source.scripts, source_words),
        SideStatistics(target.lengths, target.digests, target.scripts, target_words),
        _flag_pairs(source, target, np.concatenate(invalid_parts)),
    )


def _add_lines(texts: Sequence[str], word_counts: Counter[str], counted: int) -> LineStatistics:
    """The statistics of lines; the words of the first `counted` lines are added to `word_counts`."""
    normalized = [normalize(text) for text in texts]
    word_counts.update(word for text in normalized[:counted] for word in text.split())
    return compute_line_statistics(texts, normalized)


def _flag_pairs(source: LineStatistics, target: LineStatistics, invalid_utf8: Flags) -> dict[str, Flags]:
    return {
        "empty-side": source.blank | target.blank,
        "invalid-utf8": invalid_utf8,
        "encoding-damage": (source.encoding_damage | target.encoding_damage) & ~invalid_utf8,
        "control-characters": source.control_characters | target.control_characters,
        "over-long": source.over_long | target.over_long,
        "copied-source": (source.digests == target.digests) & source.translatable,
    }
