"""Texts that are not in the language of their side of the corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.character_model import CharacterModel
from dragoman.doctor.data.languages import LANGUAGES_WITH_STOPWORDS, stopword_hashes
from dragoman.doctor.data.length_model import Floats
from dragoman.doctor.data.line_statistics import Flags
from dragoman.doctor.data.words import HASH_BITS, HASHES, Words

STOPWORD_RATE = 0.01  # typical frequency of one stopword in its language
MAX_STOPWORD_EVIDENCE = 4.0  # nats that one stopword may contribute
COMMON_RATE = 5e-4  # frequency of words that are usual on this side of the corpus …
COMMON_WORD_PENALTY = 2.0  # … and each is evidence against another language, in nats
MIN_EVIDENCE = 6.0  # nats
MIN_STOPWORDS = 2  # different ones
UNKNOWN_RATE = 5e-5  # words that are rarer on this side of the corpus …
UNKNOWN_COUNT = 5  # … or occur less often are unknown
MIN_UNKNOWN_WORDS, MIN_UNKNOWN_SHARE = 4, 0.6  # of a text in a language without known stopwords
MAX_TRANSLATION_EVIDENCE = -0.5  # nats that such a text may have for being a translation
CERTAIN_LETTERS = -1.4, -5.0  # its letters are so much less usual than the mean, in nats and in standard deviations, …
UNTRANSLATED = -3.0  # … or, if it is certainly no translation, …
UNUSUAL_LETTERS = -1.15, -3.5  # … so much
MAX_STOPWORD_DEVIATION = -2.0  # standard deviations, if the text has stopwords of another language


class ForeignLanguageDetector:
    """Finds texts of one side of a corpus that are in a language that the corpus does not have."""

    def __init__(self, word_counts: NDArray[np.int64], characters: CharacterModel, languages: Sequence[str]) -> None:
        """Prepare the detector.

        Args:
            word_counts: How often each word occurs on this side of the corpus, by its hash, (hashes,).
            characters: The letters on this side of the corpus.
            languages: Codes of the languages of the corpus.
        """
        self._characters = characters
        total = max(1, int(word_counts.sum()))
        rates = (word_counts + 0.5) / total
        self._common = rates >= COMMON_RATE
        self._unknown = word_counts < max(UNKNOWN_COUNT, UNKNOWN_RATE * total)
        self._is_stopword = np.zeros(HASHES, np.bool_)
        self._evidence: list[tuple[NDArray[np.int64], Floats]] = []
        for language in LANGUAGES_WITH_STOPWORDS:
            if language not in languages:
                hashes = stopword_hashes(language)
                hashes = hashes[rates[hashes] < STOPWORD_RATE]
                self._is_stopword[hashes] = True
                evidence = np.minimum(np.log(STOPWORD_RATE / rates[hashes]), MAX_STOPWORD_EVIDENCE)
                self._evidence.append((hashes, evidence))

    def flag(self, texts: Sequence[str], words: Words, translation: Floats) -> Flags:
        """Texts in another language.

        Args:
            texts: The texts.
            words: The words of the texts, without those that are also on the other side.
            translation: Evidence that each text and the other side are translations, in nats, (texts,).
        """
        unknown = words.sum_by_text(self._unknown[words.hashes].astype(float))
        unknown_words = (unknown >= MIN_UNKNOWN_WORDS) & (unknown >= MIN_UNKNOWN_SHARE * words.counts)
        unknown_words &= translation <= MAX_TRANSLATION_EVIDENCE
        stopwords = np.zeros(len(texts), np.bool_)
        penalties = COMMON_WORD_PENALTY * words.sum_by_text(self._common[words.hashes].astype(float))
        for evidence, count in self._stopword_evidence(words):
            stopwords |= (evidence - penalties >= MIN_EVIDENCE) & (count >= MIN_STOPWORDS)
        flags: Flags = unknown_words | stopwords
        for index in flags.nonzero()[0].tolist():  # few, because letters are slow to examine
            difference, deviation = self._characters.compare(texts[index])
            limits = CERTAIN_LETTERS if translation[index] > UNTRANSLATED else UNUSUAL_LETTERS
            flags[index] = (stopwords[index] and deviation <= MAX_STOPWORD_DEVIATION) or (
                unknown_words[index] and difference <= limits[0] and deviation <= limits[1]
            )
        return flags

    def _stopword_evidence(self, words: Words) -> Iterator[tuple[Floats, NDArray[np.int64]]]:
        """For each language, the evidence of its stopwords in each text and the number of different ones."""
        indices = self._is_stopword[words.hashes].nonzero()[0]
        keys = np.unique((words.text_indices[indices] << HASH_BITS) | words.hashes[indices])
        texts, hashes, size = keys >> HASH_BITS, keys & (HASHES - 1), len(words.bounds) - 1
        for stopwords, evidence in self._evidence:
            found = np.isin(hashes, stopwords)
            places = np.searchsorted(stopwords, hashes[found])
            total = np.bincount(texts[found], evidence[places], size).astype(np.float64)
            yield total, np.bincount(texts[found], minlength=size).astype(np.int64)
