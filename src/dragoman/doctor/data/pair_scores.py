"""Compare the two sides of each pair, with what was learned from the whole corpus."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.chunked_reader import Chunk, ChunkedReader
from dragoman.doctor.data.corpus_statistics import CorpusStatistics
from dragoman.doctor.data.foreign_language import ForeignLanguageDetector, without_names
from dragoman.doctor.data.held_out_sentences import HeldOutSentences
from dragoman.doctor.data.language_classifier import LanguageClassifier
from dragoman.doctor.data.length_model import Floats
from dragoman.doctor.data.line_statistics import Flags
from dragoman.doctor.data.lost_letters import LostLetters
from dragoman.doctor.data.second_language import SecondLanguage, find_second_language
from dragoman.doctor.data.word_links import WordLinks
from dragoman.doctor.data.words import HASH_BITS, Words, find_words
from dragoman.languages.scripts import most_common_script
from dragoman.system.resumable import run_blocks

Scores = NDArray[np.float32]

MIN_ADVANTAGE = 0.7  # mean evidence of pairs over that of shuffled pairs, in nats, of links that are used …
MIN_ADVANTAGE_ERRORS = 5.0  # … which are also this many standard errors
MAX_DOUBTFUL_EVIDENCE = 3.0  # nats of a text that may be in another language
MAX_DOUBTFUL_TRANSLATION, MAX_TRANSLATION = 6.0, 4.0  # nats that translations of such texts, and of others, exceed
MAX_WORD_TRANSLATION = 0.35  # nats per word of the longer side that they exceed, too
MIN_LANGUAGE_EVIDENCE = 4.0  # nats of the words of a text that show that it is in the language of the other side …
MIN_WORD_EVIDENCE, MIN_WORDS = 0.8, 3  # … so many per word, and of so many words
MAX_REST = 2.0  # nats that such a text may have for being a translation …
MIN_REST_FACTOR = 3.0  # … unless the evidence of the language is that many times as much
MIN_CONFIRMED_EVIDENCE = 2.0  # nats of the words of a text whose letters also show its language …
MIN_TOTAL_EVIDENCE = 10.0  # … with so many nats in total, …
MIN_LETTERS, MAX_LETTERS = 1.5, 6.0  # … at least and at most so many of them from its letters …
MAX_NO_TRANSLATION = 3.0  # … and at most so many because it is no translation
MIN_CHARACTERS = 6  # of such a text


@dataclass(frozen=True)
class PairScores:
    """What the words of the pairs show; each array has one value per pair.

    Attributes:
        links: Which words translate each other; None if the words of the corpus do not show it.
        usual: Median evidence that the sides are translations of each other, in nats; if most pairs are shifted, with
            each source next to its translation.
        translation: Evidence that the sides are translations of each other, in nats; 0 without links.
        source_tail: The same of the last words of the source only.
        target_tail: The same of the last words of the target only.
        source_language: Evidence that the source is in the source language and not in the target language, in nats.
        target_language: The same for the target, which normally has negative values.
        wrong_language: Pairs with a side in the language of the other side, or in a third language.
        name: Of the pairs with a side in an unusual script, those whose source or target consists of words of the other
            side, such as names and commands.
        lost_letters: Pairs with a side that lost its letters outside of ASCII.
        test_similar: Pairs that are nearly those of a validation or test corpus.
        second_language: Pairs with a side in the second language of this side.
        second_languages: The second language of each side, if there is one.
    """

    links: WordLinks | None
    usual: float
    translation: Scores
    source_tail: Scores
    target_tail: Scores
    source_language: Scores
    target_language: Scores
    wrong_language: Flags
    name: Flags
    lost_letters: Flags
    test_similar: Flags
    second_language: Flags
    second_languages: tuple[SecondLanguage | None, SecondLanguage | None]


class _Scorer:
    """Scores chunks of a corpus."""

    def __init__(
        self, statistics: CorpusStatistics, languages: tuple[str, str], shift: int, held_out: HeldOutSentences
    ) -> None:
        source, target = statistics.source, statistics.target
        self._classifier = LanguageClassifier(source.word_counts, target.word_counts)
        self._unusual_script = _has_unusual_script(source.scripts) | _has_unusual_script(target.scripts)
        self._same_script = most_common_script(source.scripts) == most_common_script(target.scripts)
        self._characters = source.characters, target.characters
        links = WordLinks(source.sample, target.sample, shift)
        self._detectors = [
            ForeignLanguageDetector(side.word_counts, linked, side.characters, codes)
            for side, linked, codes in zip((source, target), links.linked, (languages, languages[::-1]), strict=True)
        ]
        advantage, error = links.advantage
        known = advantage >= max(MIN_ADVANTAGE, MIN_ADVANTAGE_ERRORS * error)
        self.links = links if known else None
        self._held_out = held_out
        self._lost_letters = (
            LostLetters(source.spellings, target.spellings),
            LostLetters(target.spellings, source.spellings),
        )
        self.second_languages = find_second_language(source.mixture), find_second_language(target.mixture)

    def score(self, chunk: Chunk) -> list[NDArray[np.generic]]:
        """The arrays of `PairScores` for the pairs of a chunk, in its order."""
        source, target = find_words(chunk.sources), find_words(chunk.targets)
        parts = self.links.evidence_of_parts(source, target) if self.links else np.zeros((3, len(chunk)))
        translation = parts[0]
        languages = self._classifier.score(source), self._classifier.score(target)
        return [
            *(part.astype(np.float32) for part in parts),
            *(language.astype(np.float32) for language in languages),
            self._flag_languages(chunk, (source, target), translation, languages),
            self._flag_names(source, target, self._unusual_script[chunk.indices]),
            self._lost_letters[0].flag(chunk.sources, source) | self._lost_letters[1].flag(chunk.targets, target),
            self._held_out.flag(source, target) if self._held_out else np.zeros(len(chunk), np.bool_),
            self._flag_second_languages(chunk),
        ]

    def _flag_second_languages(self, chunk: Chunk) -> Flags:
        flags = np.zeros(len(chunk), np.bool_)
        for second, texts in zip(self.second_languages, (chunk.sources, chunk.targets), strict=True):
            if second:
                flags |= second.flag(texts)
        return flags

    def _flag_languages(
        self, chunk: Chunk, words: tuple[Words, Words], translation: Floats, languages: tuple[Floats, Floats]
    ) -> Flags:
        """Pairs with a side in the wrong language. A pair whose words translate each other has none."""
        flags = np.zeros(len(chunk), np.bool_)
        doubtful = (languages[0] < MAX_DOUBTFUL_EVIDENCE) | (languages[1] > -MAX_DOUBTFUL_EVIDENCE)
        limit = np.where(doubtful, MAX_DOUBTFUL_TRANSLATION, MAX_TRANSLATION)
        limit = np.maximum(limit, MAX_WORD_TRANSLATION * np.maximum(words[0].counts, words[1].counts))
        candidates = (translation <= limit).nonzero()[0]
        # Names, quotations and commands are in the same language on both sides.
        all_words = [side.select(candidates) for side in words]
        sides = _without_shared(*all_words)
        rest = self.links.evidence(*sides) if self.links else np.zeros(len(candidates))
        for side, texts, own in zip(sides, (chunk.sources, chunk.targets), (0, 1), strict=True):
            chosen = [texts[index] for index in candidates]
            nameless = [without_names(text) for text in chosen]
            nameless_words = _without_words_of(find_words(nameless), all_words[1 - own])
            found = self._detectors[own].flag(nameless, nameless_words, rest)
            evidence = (1 if own else -1) * self._classifier.score(side)
            # If the scripts differ, a text in the other language is in the wrong script.
            for index in (self._same_script & (evidence >= MIN_CONFIRMED_EVIDENCE)).nonzero()[0]:
                found[index] |= self._is_other_language(
                    chosen[index], float(evidence[index]), int(side.counts[index]), float(rest[index]), own
                )
            flags[candidates] |= found
        return flags

    def _is_other_language(self, text: str, evidence: float, words: int, translation: float, own: int) -> bool:
        """Whether a text is in the language of the other side, given the evidence of its words."""
        deviation, other = (self._characters[side].compare(text)[1] for side in (own, 1 - own))
        if translation > MAX_REST and evidence < MIN_REST_FACTOR * translation:
            return False
        if words >= MIN_WORDS and evidence >= max(MIN_LANGUAGE_EVIDENCE, MIN_WORD_EVIDENCE * words):
            return deviation < other
        letters = 0.5 * (min(deviation, 0.0) ** 2 - min(other, 0.0) ** 2)
        total = evidence + min(letters, MAX_LETTERS) + min(-translation, MAX_NO_TRANSLATION)
        return len(text) >= MIN_CHARACTERS and letters >= MIN_LETTERS and total >= MIN_TOTAL_EVIDENCE

    def _flag_names(self, source: Words, target: Words, unusual: Flags) -> Flags:
        """Of some pairs, those in which all words of one side are also on the other side."""
        flags = np.zeros(len(unusual), np.bool_)
        indices = unusual.nonzero()[0]
        rest = _without_shared(source.select(indices), target.select(indices))
        flags[indices] = np.minimum(rest[0].counts, rest[1].counts) == 0
        return flags


def score_pairs(
    reader: ChunkedReader, statistics: CorpusStatistics, shift: int, held_out: HeldOutSentences
) -> PairScores:
    """Read a corpus again and score its pairs.

    Args:
        reader: Reads the corpus.
        statistics: Statistics of the corpus.
        shift: How many lines below each source its translation is in most of the corpus.
        held_out: The sentences of validation and test corpora, which it must not contain.
    """
    scorer = _Scorer(statistics, (reader.source_language, reader.target_language), shift, held_out)
    blocks = run_blocks(scorer.score, chain([Chunk(1, [], [], set())], reader.chunks()), processes=None)
    columns = zip(*(block.result for block in blocks), strict=True)
    names = [field.name for field in fields(PairScores) if field.name not in ("links", "usual", "second_languages")]
    arrays = {name: np.concatenate(column) for name, column in zip(names, columns, strict=True)}
    usual = scorer.links.usual if shift and scorer.links else float(np.median(arrays["translation"]))
    return PairScores(links=scorer.links, usual=usual, second_languages=scorer.second_languages, **arrays)


def _without_shared(source: Words, target: Words) -> tuple[Words, Words]:
    """The words of pairs without those that are on both sides of a pair."""
    return _without_words_of(source, target), _without_words_of(target, source)


def _without_words_of(words: Words, others: Words) -> Words:
    """The words of texts without those that are also in other texts, which are compared one to one."""
    keys, other_keys = ((each.text_indices << HASH_BITS) | each.hashes for each in (words, others))
    return words.filter(~np.isin(keys, other_keys))


def _has_unusual_script(scripts: NDArray[np.uint8]) -> Flags:
    flags: Flags = (scripts > 0) & (scripts != most_common_script(scripts))
    return flags
