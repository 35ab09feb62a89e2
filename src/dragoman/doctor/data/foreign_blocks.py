"""Blocks of lines with a side in another language, such as a file of another corpus that was appended by mistake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dragoman.doctor.data.corpus_statistics import CorpusStatistics
from dragoman.doctor.data.line_languages import OWN, LineLanguages
from dragoman.doctor.data.line_statistics import Flags
from dragoman.doctor.data.pair_scores import PairScores
from dragoman.doctor.data.stretches import find_peaks
from dragoman.languages.function_words import LANGUAGES_WITH_FUNCTION_WORDS

Side = Literal["source", "target"]

OTHER_LINE_WEIGHT = 2.0  # in a block, lines in another language outnumber the others by this factor
MAX_TRANSLATION = 0.0  # nats of the remaining lines of a block that are in another language, too


@dataclass(frozen=True)
class ForeignBlock:
    """Lines from `first` to `last`, counted from 1, most of which have a side in another language.

    Attributes:
        first: The first line.
        last: The last line.
        side: The side that is in another language, or None if that is unknown.
        language: The other language, or None if that is unknown.
    """

    first: int
    last: int
    side: Side | None
    language: str | None


def find_foreign_blocks(statistics: CorpusStatistics, wrong_language: Flags) -> list[ForeignBlock]:
    """The blocks of lines with a side in another language, given the lines that are recognized."""
    evidence = np.where(wrong_language, 1.0, -OTHER_LINE_WEIGHT)
    return [_describe(statistics, first, last) for first, last in find_peaks(evidence)]


def flag_lines_of_blocks(blocks: Sequence[ForeignBlock], scores: PairScores) -> Flags:
    """The lines of blocks that are recognized as another language, or that translate nothing."""
    flags: Flags = np.zeros(len(scores.wrong_language), np.bool_)
    for block in blocks:
        flags[block.first - 1 : block.last] = True
    flags &= scores.wrong_language | (scores.translation <= MAX_TRANSLATION)
    return flags


def count_outside(flags: Flags, blocks: Sequence[ForeignBlock]) -> int:
    """How many lines with a flag are in no block."""
    return int(flags.sum()) - sum(int(flags[block.first - 1 : block.last].sum()) for block in blocks)


def _describe(statistics: CorpusStatistics, first: int, last: int) -> ForeignBlock:
    """The block between two indices, with the side and the language that most of its lines have."""
    found: tuple[int, Side | None, str | None] = (0, None, None)
    sides: tuple[tuple[Side, LineLanguages], ...] = (
        ("source", statistics.source.languages),
        ("target", statistics.target.languages),
    )
    for side, languages in sides:
        counts = np.bincount(languages[first : last + 1] - OWN, minlength=2)
        counts[0] = 0  # lines in their own language
        language = int(counts.argmax()) + OWN
        if counts[language - OWN] > found[0]:
            found = int(counts.max()), side, LANGUAGES_WITH_FUNCTION_WORDS[language]
    return ForeignBlock(first + 1, last + 1, found[1], found[2])
