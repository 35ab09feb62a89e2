"""Statistics of a corpus: a few dozen bytes per pair, collected while the corpus is read once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.character_model import CharacterModel
from dragoman.doctor.data.chunked_reader import Chunk, ChunkedReader
from dragoman.doctor.data.line_statistics import (
    Digests,
    Flags,
    LineStatistics,
    compute_line_statistics,
    join_statistics,
    normalize,
)
from dragoman.doctor.data.words import HASHES, Words, concatenate_words, find_words

SAMPLE_LINES = 24_000  # lines at the start of a corpus that are all in the sample
SAMPLE_CHUNK_LINES = 200  # lines at the start of each later chunk that are in the sample
FIRST_TEXTS, TEXTS_PER_CHUNK = 4_000, 20  # lines of the first and of each later chunk whose letters are counted

CAPITALS_SHARE = 0.8  # of the letters of a text that is written in capitals


@dataclass(frozen=True)
class SideStatistics:
    """Statistics of one side of a corpus.

    Attributes:
        lengths: Characters of each line.
        digests: A hash of each line that ignores case, spaces and punctuation.
        scripts: The index in `SCRIPTS` of each line's script; 0 if no script is predominant.
        word_counts: How often each word occurs, by its hash; pairs with equal sides do not count.
        sample: The words of a sample of the lines; pairs with equal sides are left out.
        characters: The letters of a smaller sample of the lines.
    """

    lengths: NDArray[np.uint32]
    digests: Digests
    scripts: NDArray[np.uint8]
    word_counts: NDArray[np.int64]
    sample: Words
    characters: CharacterModel


@dataclass(frozen=True)
class CorpusStatistics:
    """Statistics of both sides of a corpus, and the pairs with problems that are visible in the pair itself.

    Attributes:
        source: Statistics of the source.
        target: Statistics of the target.
        flags: For each code of a finding, the pairs that have the problem.
        equal: Pairs whose sides have the same letters and digits, and at least one letter.
        recapitalized: Of these pairs, those in which only some words differ in case. They were edited: in German, an
            English term gets capital letters.
        translatable: Pairs whose source is so long that a translation must differ from it.
    """

    source: SideStatistics
    target: SideStatistics
    flags: dict[str, Flags]
    equal: Flags
    recapitalized: Flags
    translatable: Flags

    def __len__(self) -> int:
        return len(self.source.lengths)

    @property
    def pair_digests(self) -> Digests:
        """A hash of each pair."""
        digests: Digests = self.source.digests * np.int64(0x9E3779B97F4A7C1) + self.target.digests
        return digests


class _Side:
    """Collects the statistics of one side."""

    def __init__(self) -> None:
        self.lines: list[LineStatistics] = []
        self.word_counts = np.zeros(HASHES, np.int64)
        self.sample: list[Words] = []
        self.texts: list[str] = []

    def add(self, texts: list[str], words: Words, different: NDArray[np.int64], in_sample: int) -> None:
        """Add a chunk of lines.

        Args:
            texts: The lines.
            words: Their words.
            different: Indices of the lines that are not copies of the other side.
            in_sample: How many lines at the start of the chunk are in the sample.
        """
        self.lines.append(compute_line_statistics(texts, [normalize(text) for text in texts]))
        np.add.at(self.word_counts, words.select(different).hashes, 1)
        self.sample.append(words.select(different[different < in_sample]))
        self.texts += [texts[index] for index in different[: TEXTS_PER_CHUNK if self.texts else FIRST_TEXTS]]

    def join(self) -> tuple[SideStatistics, LineStatistics]:
        """The statistics of the side, and those of its lines."""
        lines = join_statistics(self.lines)
        sample = concatenate_words(self.sample)
        characters = CharacterModel(self.texts)
        return SideStatistics(lines.lengths, lines.digests, lines.scripts, self.word_counts, sample, characters), lines


def collect_statistics(reader: ChunkedReader) -> CorpusStatistics:
    """Read a corpus once and collect its statistics."""
    source, target = _Side(), _Side()
    nothing = np.zeros(0, np.bool_)
    invalid_parts, equal_parts, recapitalized_parts = [nothing], [nothing], [nothing]
    for chunk in reader.chunks():
        equal_parts.append(_add_chunk(chunk, source, target))
        recapitalized_parts.append(_flag_recapitalized(chunk, equal_parts[-1]))
        invalid_parts.append(np.isin(np.arange(len(chunk)), list(chunk.invalid_utf8)))
    (source_side, source_lines), (target_side, target_lines) = source.join(), target.join()
    flags = _flag_pairs(source_lines, target_lines, np.concatenate(invalid_parts))
    equal = np.concatenate(equal_parts) & source_lines.lettered
    recapitalized = np.concatenate(recapitalized_parts)
    return CorpusStatistics(source_side, target_side, flags, equal, recapitalized, source_lines.translatable)


def _add_chunk(chunk: Chunk, source: _Side, target: _Side) -> Flags:
    """Add a chunk to the statistics of both sides, and return which pairs have equal sides."""
    source_words, target_words = find_words(chunk.sources), find_words(chunk.targets)
    equal: Flags = source_words.letters == target_words.letters
    different = (~equal).nonzero()[0]
    in_sample = len(chunk) if chunk.first_line <= SAMPLE_LINES else SAMPLE_CHUNK_LINES
    source.add(chunk.sources, source_words, different, in_sample)
    target.add(chunk.targets, target_words, different, in_sample)
    return equal


def _flag_recapitalized(chunk: Chunk, equal: Flags) -> Flags:
    """Of the pairs with equal sides, those in which only some words differ in case."""
    flags = np.zeros(len(chunk), np.bool_)
    for index in equal.nonzero()[0].tolist():
        if chunk.sources[index] != chunk.targets[index]:
            sides = ["".join(filter(str.isalpha, side)) for side in (chunk.sources[index], chunk.targets[index])]
            capitals = [sum(map(str.isupper, side)) / max(1, len(side)) for side in sides]
            flags[index] = sides[0] != sides[1] and all(0 < share < CAPITALS_SHARE for share in capitals)
    return flags


def _flag_pairs(source: LineStatistics, target: LineStatistics, invalid_utf8: Flags) -> dict[str, Flags]:
    return {
        "empty-side": source.blank | target.blank,
        "invalid-utf8": invalid_utf8,
        "encoding-damage": (source.encoding_damage | target.encoding_damage) & ~invalid_utf8,
        # Tags on both sides may be text to translate, such as messages of a program.
        "markup": source.entities | target.entities | (source.tags ^ target.tags),
        "control-characters": source.control_characters | target.control_characters,
        "over-long": source.over_long | target.over_long,
    }
