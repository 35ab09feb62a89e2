"""Compare the two sides of each pair, with what was learned from the whole corpus."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.chunked_reader import Chunk, ChunkedReader
from dragoman.doctor.data.corpus_statistics import CorpusStatistics
from dragoman.doctor.data.foreign_language import ForeignLanguageDetector
from dragoman.doctor.data.language_classifier import LanguageClassifier
from dragoman.doctor.data.length_model import Floats
from dragoman.doctor.data.line_statistics import Flags
from dragoman.doctor.data.scripts import most_common_script
from dragoman.doctor.data.word_links import WordLinks
from dragoman.doctor.data.words import HASH_BITS, Words, find_words

Scores = NDArray[np.float32]

MIN_ADVANTAGE = 0.7  # mean evidence of pairs over that of shuffled pairs, in nats, of links that are used …
MIN_ADVANTAGE_ERRORS = 5.0  # … which are also this many standard errors
MIN_LANGUAGE_EVIDENCE = 4.0  # nats that show the language of a text
MIN_WORD_EVIDENCE = 0.8  # nats per word that show that most of a text is in a language
MIN_WORDS = 3  # of a text whose language is certain
MAX_DOUBTFUL_EVIDENCE = 3.0  # nats of a text that may be in another language
MAX_DOUBTFUL_TRANSLATION, MAX_TRANSLATION = 6.0, 4.0  # nats that such a text, and others, may have for being a …
MAX_REST = 2.0  # … translation, with all words and without those that are on both sides
MIN_CONFIRMED_EVIDENCE = 2.0  # nats of the words of a text whose letters also show its language:
MAX_DEVIATION = -2.5  # in its own language they are at least so unusual, in standard deviations, …
MIN_DEVIATION_DIFFERENCE = 2.5  # … and in the other language so much more usual


@dataclass(frozen=True)
class PairScores:
    """What the words of each pair show; each array has one value per pair.

    Attributes:
        links: Which words translate each other; None if the words of the corpus do not show it.
        translation: Evidence that the sides are translations of each other, in nats; 0 without links.
        source_language: Evidence that the source is in the source language and not in the target language, in nats.
        target_language: The same for the target, which normally has negative values.
        wrong_language: Pairs with a side in the language of the other side, or in a third language.
        name: Of the pairs with a side in an unusual script, those whose source or target consists of words of the other
            side, such as names and commands.
    """

    links: WordLinks | None
    translation: Scores
    source_language: Scores
    target_language: Scores
    wrong_language: Flags
    name: Flags


class _Scorer:
    """Scores chunks of a corpus."""

    def __init__(self, statistics: CorpusStatistics, languages: tuple[str, str]) -> None:
        source, target = statistics.source, statistics.target
        self._classifier = LanguageClassifier(source.word_counts, target.word_counts)
        self._unusual_script = _has_unusual_script(source.scripts) | _has_unusual_script(target.scripts)
        self._same_script = most_common_script(source.scripts) == most_common_script(target.scripts)
        self._characters = source.characters, target.characters
        self._detectors = [
            ForeignLanguageDetector(side.word_counts, side.characters, languages) for side in (source, target)
        ]
        links = WordLinks(source.sample, target.sample)
        advantage, error = links.advantage
        known = advantage >= max(MIN_ADVANTAGE, MIN_ADVANTAGE_ERRORS * error)
        self.links = links if known else None

    def score(self, chunk: Chunk) -> list[NDArray[np.generic]]:
        """The arrays of `PairScores` for the pairs of a chunk, in its order."""
        source, target = find_words(chunk.sources), find_words(chunk.targets)
        translation = self.links.evidence(source, target) if self.links else np.zeros(len(chunk))
        languages = self._classifier.score(source), self._classifier.score(target)
        return [
            translation.astype(np.float32),
            *(language.astype(np.float32) for language in languages),
            self._flag_languages(chunk, (source, target), translation, languages),
            self._flag_names(source, target, self._unusual_script[chunk.indices]),
        ]

    def _flag_languages(
        self, chunk: Chunk, words: tuple[Words, Words], translation: Floats, languages: tuple[Floats, Floats]
    ) -> Flags:
        """Pairs with a side in the wrong language. A pair whose words translate each other has none."""
        flags = np.zeros(len(chunk), np.bool_)
        doubtful = (languages[0] < MAX_DOUBTFUL_EVIDENCE) | (languages[1] > -MAX_DOUBTFUL_EVIDENCE)
        candidates = (translation <= np.where(doubtful, MAX_DOUBTFUL_TRANSLATION, MAX_TRANSLATION)).nonzero()[0]
        # Names, quotations and commands are in the same language on both sides.
        sides = _without_shared(*(side.select(candidates) for side in words))
        rest = self.links.evidence(*sides) if self.links else np.zeros(len(candidates))
        for side, texts, own in zip(sides, (chunk.sources, chunk.targets), (0, 1), strict=True):
            chosen = [texts[index] for index in candidates]
            found = self._detectors[own].flag(chosen, side, rest)
            evidence = (1 if own else -1) * self._classifier.score(side)
            # If the scripts differ, a text in the other language is in the wrong script.
            for index in (self._same_script & (evidence >= MIN_CONFIRMED_EVIDENCE)).nonzero()[0]:
                found[index] |= self._is_other_language(
                    chosen[index], float(evidence[index]), int(side.counts[index]), own
                )
            flags[candidates] |= found & (rest <= MAX_REST)
        return flags

    def _is_other_language(self, text: str, evidence: float, words: int, own: int) -> bool:
        """Whether a text is in the language of the other side, given the evidence of its words."""
        deviation, other = (self._characters[side].compare(text)[1] for side in (own, 1 - own))
        if words >= MIN_WORDS and evidence >= max(MIN_LANGUAGE_EVIDENCE, MIN_WORD_EVIDENCE * words):
            return deviation < other
        return deviation <= MAX_DEVIATION and deviation <= other - MIN_DEVIATION_DIFFERENCE

    def _flag_names(self, source: Words, target: Words, unusual: Flags) -> Flags:
        """Of some pairs, those in which all words of one side are also on the other side."""
        flags = np.zeros(len(unusual), np.bool_)
        indices = unusual.nonzero()[0]
        rest = _without_shared(source.select(indices), target.select(indices))
        flags[indices] = np.minimum(rest[0].counts, rest[1].counts) == 0
        return flags


def score_pairs(reader: ChunkedReader, statistics: CorpusStatistics) -> PairScores:
    """Read a corpus again and score its pairs."""
    scorer = _Scorer(statistics, (reader.source_language, reader.target_language))
    parts = [scorer.score(chunk) for chunk in chain([Chunk(1, [], [], set())], reader.chunks())]
    return PairScores(scorer.links, *(np.concatenate(column) for column in zip(*parts, strict=True)))


def _without_shared(source: Words, target: Words) -> tuple[Words, Words]:
    """The words of pairs without those that are on both sides of a pair."""
    source_keys, target_keys = ((words.text_indices << HASH_BITS) | words.hashes for words in (source, target))
    return source.filter(~np.isin(source_keys, target_keys)), target.filter(~np.isin(target_keys, source_keys))


def _has_unusual_script(scripts: NDArray[np.uint8]) -> Flags:
    flags: Flags = (scripts > 0) & (scripts != most_common_script(scripts))
    return flags
