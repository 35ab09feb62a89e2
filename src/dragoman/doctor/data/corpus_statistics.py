"""Statistics of a corpus: a few dozen bytes per pair, collected while the corpus is read once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.character_model import CharacterModel
from dragoman.doctor.data.chunked_reader import Chunk, ChunkedReader
from dragoman.doctor.data.line_languages import OWN, LineLanguageFinder, LineLanguages
from dragoman.doctor.data.line_statistics import (
    Digests,
    Flags,
    LineStatistics,
    compute_line_statistics,
    join_statistics,
    normalize,
)
from dragoman.doctor.data.lost_letters import Spellings, flag_replaced_letters
from dragoman.doctor.data.words import HASHES, Words, concatenate_words, find_words
from dragoman.system.resumable import run_blocks

SAMPLE_LINES = 24_000  # lines at the start of a corpus that are all in the sample
SAMPLE_CHUNK_LINES = 200  # lines at the start of each later chunk that are in the sample
FIRST_TEXTS, TEXTS_PER_CHUNK = 4_000, 20  # lines of the first and of each later chunk whose letters are counted

MAX_VOCABULARY = 1_000_000  # words of a side; of more, those that occurred once are forgotten
SAMPLE_TEXTS = 1_000  # of these lines, which show the language of the side

NO_LANGUAGES: LineLanguages = np.zeros(0, np.int8)
MIN_OWN_SHARE = 0.25  # of the pairs; if fewer are in the languages of the corpus, all pairs are learned from

CAPITALS_SHARE = 0.8  # of the letters of a text that is written in capitals


@dataclass(frozen=True)
class SideStatistics:
    """Statistics of one side of a corpus.

    Attributes:
        lengths: Characters of each line.
        digests: A hash of each line that ignores case, spaces and punctuation.
        scripts: The index in `SCRIPTS` of each line's script; 0 if no script is predominant.
        languages: The language of each line that seems to be in another one than its side.
        texts: A sample of the lines; pairs with equal sides do not count.
        word_counts: How often each word occurs, by its hash, in pairs without a side in another language.
        sample: The words of a sample of the lines of these pairs.
        characters: The letters of a smaller sample of these lines.
        spellings: How often each word occurs on this side, in lower case.
        mixture: Lines that show whether there is a second language.
        doubled: Lines that consist of the same text twice.
        ends: The last character of each line, see `LineStatistics`.
        last_words: The hash of the last word of each line; -1 if it has none.
    """

    lengths: NDArray[np.uint32]
    digests: Digests
    scripts: NDArray[np.uint8]
    languages: LineLanguages
    texts: list[str]
    word_counts: NDArray[np.int64]
    sample: Words
    characters: CharacterModel
    spellings: Spellings
    mixture: list[str]
    doubled: Flags
    ends: NDArray[np.uint32]
    last_words: NDArray[np.int32]


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
    def own(self) -> Flags:
        """Pairs whose sides both seem to be in the languages of the corpus."""
        own: Flags = (self.source.languages == OWN) & (self.target.languages == OWN)
        return own

    @property
    def pair_digests(self) -> Digests:
        """A hash of each pair."""
        digests: Digests = self.source.digests * np.int64(0x9E3779B97F4A7C1) + self.target.digests
        return digests


class _Texts:
    """What some lines of one side show about its language."""

    def __init__(self) -> None:
        self.word_counts = np.zeros(HASHES, np.int64)
        self.sample: list[Words] = []
        self.texts: list[str] = []

    def add(self, texts: list[str], words: Words, chosen: NDArray[np.int64], in_sample: int) -> None:
        """Add some lines of a chunk.

        Args:
            texts: The lines of the chunk.
            words: Their words.
            chosen: The indices of the lines to add.
            in_sample: How many lines at the start of the chunk are in the sample.
        """
        np.add.at(self.word_counts, words.select(chosen).hashes, 1)
        self.sample.append(words.select(chosen[chosen < in_sample]))
        self.texts += [texts[index] for index in chosen[: TEXTS_PER_CHUNK if self.texts else FIRST_TEXTS]]

    def evenly(self, size: int) -> list[str]:
        """At most so many of the texts, evenly spread."""
        return self.texts[:: -(-len(self.texts) // size) or 1]

    def join(self, other: _Texts) -> _Texts:
        """What these and other lines show."""
        joined = _Texts()
        joined.word_counts = self.word_counts + other.word_counts
        joined.sample, joined.texts = self.sample + other.sample, self.texts + other.texts
        return joined


class _Side:
    """Collects the statistics of one side.

    Attributes:
        own: The lines of pairs in the languages of the corpus.
        others: The lines of pairs with a side in another language.
    """

    def __init__(self) -> None:
        self.lines: list[LineStatistics] = []
        self.languages: list[LineLanguages] = []
        self.own, self.others = _Texts(), _Texts()
        self.spellings = Spellings()
        self.mixture: list[str] = []
        self.last_words: list[NDArray[np.int32]] = []

    def join(self, learn_from_all: bool) -> tuple[SideStatistics, LineStatistics]:
        """The statistics of the side, learned from all pairs or from those in its own language, and of its lines."""
        lines, languages = join_statistics(self.lines), np.concatenate([NO_LANGUAGES, *self.languages])
        every = self.own.join(self.others)
        used = every if learn_from_all else self.own
        learned = used.word_counts, concatenate_words(used.sample), CharacterModel(used.texts)
        return SideStatistics(
            lines.lengths,
            lines.digests,
            lines.scripts,
            languages,
            every.evenly(SAMPLE_TEXTS),
            *learned,
            self.spellings,
            self.mixture,
            lines.doubled,
            lines.ends,
            np.concatenate([np.zeros(0, np.int32), *self.last_words]),
        ), lines


@dataclass(frozen=True)
class _ChunkStatistics:
    """What a chunk shows by itself.

    Attributes:
        words: The words of each side.
        lines: Statistics of the lines of each side.
        languages: The languages of the lines of each side.
        equal: Pairs with equal sides.
        recapitalized: Of these, those in which only some words differ in case.
        invalid: Pairs with a side that is not valid UTF-8.
        replaced: Pairs with a side whose letters were replaced by question marks or escapes.
        spellings: How often each word occurs on each side.
    """

    words: tuple[Words, Words]
    lines: tuple[LineStatistics, LineStatistics]
    languages: tuple[LineLanguages, LineLanguages]
    equal: Flags
    recapitalized: Flags
    invalid: Flags
    replaced: Flags
    spellings: tuple[Spellings, Spellings]


def collect_statistics(reader: ChunkedReader) -> CorpusStatistics:
    """Read a corpus once and collect its statistics."""
    sides = _Side(), _Side()
    nothing = np.zeros(0, np.bool_)
    invalid, equal, recapitalized, replaced = [nothing], [nothing], [nothing], [nothing]
    finders = LineLanguageFinder(reader.source_language), LineLanguageFinder(reader.target_language)
    for block in run_blocks(partial(_examine, finders), reader.chunks(), processes=None):
        part = block.result
        _add_chunk(block.items, part, sides)
        invalid.append(part.invalid)
        replaced.append(part.replaced)
        equal.append(part.equal)
        recapitalized.append(part.recapitalized)
    in_own = [np.concatenate([NO_LANGUAGES, *side.languages]) == OWN for side in sides]
    few_own = int((in_own[0] & in_own[1]).sum()) < MIN_OWN_SHARE * len(in_own[0])
    (source_side, source_lines), (target_side, target_lines) = (side.join(few_own) for side in sides)
    flags = _flag_pairs(source_lines, target_lines, np.concatenate(invalid), np.concatenate(replaced))
    all_equal = np.concatenate(equal) & source_lines.lettered
    return CorpusStatistics(
        source_side, target_side, flags, all_equal, np.concatenate(recapitalized), source_lines.translatable
    )


def _examine(finders: tuple[LineLanguageFinder, LineLanguageFinder], chunk: Chunk) -> _ChunkStatistics:
    words = find_words(chunk.sources), find_words(chunk.targets)
    equal: Flags = words[0].letters == words[1].letters
    return _ChunkStatistics(
        words,
        (_line_statistics(chunk.sources), _line_statistics(chunk.targets)),
        (finders[0].find(words[0]), finders[1].find(words[1])),
        equal,
        _flag_recapitalized(chunk, equal),
        np.isin(np.arange(len(chunk)), list(chunk.invalid_utf8)),
        flag_replaced_letters(chunk.sources, chunk.targets),
        (Spellings.count(chunk.sources), Spellings.count(chunk.targets)),
    )


def _line_statistics(texts: list[str]) -> LineStatistics:
    return compute_line_statistics(texts, [normalize(text) for text in texts])


def _add_chunk(chunk: Chunk, part: _ChunkStatistics, sides: tuple[_Side, _Side]) -> None:
    """Add the statistics of a chunk to those of both sides."""
    different = ~part.equal
    own = (part.languages[0] == OWN) & (part.languages[1] == OWN)
    in_sample = len(chunk) if chunk.first_line <= SAMPLE_LINES else SAMPLE_CHUNK_LINES
    for number, (side, texts) in enumerate(zip(sides, (chunk.sources, chunk.targets), strict=True)):
        side.lines.append(part.lines[number])
        side.languages.append(part.languages[number])
        side.last_words.append(part.words[number].last)
        side.spellings.add(part.spellings[number], MAX_VOCABULARY)
        side.mixture += texts if chunk.first_line <= SAMPLE_LINES else texts[:: len(texts) // SAMPLE_CHUNK_LINES or 1]
        side.own.add(texts, part.words[number], (different & own).nonzero()[0], in_sample)
        side.others.add(texts, part.words[number], (different & ~own).nonzero()[0], in_sample)


def _flag_recapitalized(chunk: Chunk, equal: Flags) -> Flags:
    """Of the pairs with equal sides, those in which only some words differ in case."""
    flags = np.zeros(len(chunk), np.bool_)
    for index in equal.nonzero()[0].tolist():
        if chunk.sources[index] != chunk.targets[index]:
            sides = ["".join(filter(str.isalpha, side)) for side in (chunk.sources[index], chunk.targets[index])]
            capitals = [sum(map(str.isupper, side)) / max(1, len(side)) for side in sides]
            flags[index] = sides[0] != sides[1] and all(0 < share < CAPITALS_SHARE for share in capitals)
    return flags


def _flag_pairs(
    source: LineStatistics, target: LineStatistics, invalid_utf8: Flags, replaced: Flags
) -> dict[str, Flags]:
    # A text of a script outside of ASCII may have lost all letters.
    lost = (~source.lettered & target.translatable) | (~target.lettered & source.translatable)
    damaged = source.encoding_damage | target.encoding_damage | replaced | (lost & ~source.blank & ~target.blank)
    return {
        "empty-side": source.blank | target.blank,
        "invalid-utf8": invalid_utf8,
        "encoding-damage": damaged & ~invalid_utf8,
        # Tags on both sides may be text to translate, such as messages of a program.
        "markup": source.entities | target.entities | (source.tags ^ target.tags),
        "control-characters": source.control_characters | target.control_characters,
        "over-long": source.over_long | target.over_long,
    }
