"""Texts that are not in the language of their side of the corpus.

The evidence is a sum of log-likelihood ratios of two hypotheses: the text is in the language of its side, or it is not.
A text in the language of its side consists mostly of words that are common there. A text in another language consists
mostly of words that are rare there, has unusual letters, perhaps words that are frequent in a known language, and is no
translation of the other side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import regex
from numpy.typing import NDArray

from dragoman.doctor.data.character_model import CharacterModel
from dragoman.doctor.data.length_model import Floats
from dragoman.doctor.data.line_statistics import Flags
from dragoman.doctor.data.words import HASH_BITS, HASHES, Words, function_word_hashes
from dragoman.languages.codes import primary_language
from dragoman.languages.function_words import LANGUAGES_WITH_FUNCTION_WORDS
from dragoman.languages.sentence_marks import OPENING, SENTENCE_ENDS

_RARE, _COMMON, _LINKED, _OTHER = range(4)  # kinds of words on a side of the corpus
RARE_RATE, RARE_COUNT = 5e-5, 5  # words with a lower frequency or count are rare
COMMON_RATE = 5e-4  # words with a higher frequency are common; others are linked to words of the other side, or not
FOREIGN_SHARES = np.array([0.75, 0.03, 0.15, 0.07])  # of the kinds of words in a text in another language
WORD_EVIDENCE = np.array([[-3.0, -3.0, -1.0, 0.0], [2.5, 0.0, 0.0, 2.5]])  # nats, at least and at most, of each kind
FUNCTION_WORD_RATE = 0.01  # typical frequency in its language
FUNCTION_WORD_EVIDENCE = -1.0, 4.0  # nats of a word that is a function word of another language
CLEAR_FUNCTION_WORD = 1.5  # nats

MAX_WORDS, MAX_LETTERS, MAX_NO_TRANSLATION = 20.0, 10.0, 3.0  # nats that each kind of evidence may contribute
MIN_WORDS = 3
MIN_MEAN = 0.5  # nats of a word; a text that contains a quotation has less
MIN_EVIDENCE = np.array([17.0, 14.0, 12.0])  # nats of a text with no, one, and more clear function words …
MIN_LETTERS = np.array([3.0, 1.0, -np.inf])  # … and so many of them due to its letters

# Identifiers, numbers, abbreviations, and words with a capital letter that do not start a sentence.
_NAMES = regex.compile(
    r"(?<!\S)\S*(?:[\p{Nd}_@#&/\\=<>{}|]|\p{Ll}\p{Lu}|\p{Lu}\P{L}*\p{Lu})\S*"
    rf"|(?<=(?![{SENTENCE_ENDS}:]|{OPENING})\S\s+{OPENING}*)\p{{Lu}}\S*"
)


def without_names(text: str) -> str:
    """The text without words that may be names or identifiers, which belong to no language."""
    return _NAMES.sub(" ", text)


class ForeignLanguageDetector:
    """Finds texts of one side of a corpus that are in a language that the corpus does not have."""

    def __init__(
        self, word_counts: NDArray[np.int64], linked: Flags, characters: CharacterModel, languages: tuple[str, str]
    ) -> None:
        """Prepare the detector.

        Args:
            word_counts: How often each word occurs on this side of the corpus, by its hash, (hashes,).
            linked: Which words have translations on the other side of the corpus, (hashes,).
            characters: The letters on this side of the corpus.
            languages: Codes of the languages of this side and of the other side.
        """
        self._characters = characters
        total = max(1, int(word_counts.sum()))
        rates = (word_counts + 0.5) / total
        kinds = np.where(linked, _LINKED, _OTHER)
        kinds[rates >= COMMON_RATE] = _COMMON
        kinds[word_counts < max(RARE_COUNT, RARE_RATE * total)] = _RARE
        shares = np.bincount(kinds, word_counts, len(FOREIGN_SHARES)) / total
        own = function_word_hashes(languages[0])
        kinds[own] = _COMMON
        self._evidence = np.clip(np.log(FOREIGN_SHARES / np.maximum(shares, 1e-3)), *WORD_EVIDENCE)[kinds]
        self._languages = []
        expected = set(map(primary_language, languages))
        for other in LANGUAGES_WITH_FUNCTION_WORDS:
            if other not in expected:
                hashes = function_word_hashes(other)
                evidence = np.clip(np.log(FUNCTION_WORD_RATE / rates[hashes]), *FUNCTION_WORD_EVIDENCE)
                evidence[np.isin(hashes, own)] = FUNCTION_WORD_EVIDENCE[0]
                self._languages.append((hashes, evidence))

    def flag(self, texts: Sequence[str], words: Words, translation: Floats) -> Flags:
        """Texts in another language.

        Args:
            texts: The texts, without names.
            words: The words of these texts, without those that are also on the other side.
            translation: Evidence that each text and the other side are translations, in nats, (texts,).
        """
        evidence, clear = self._word_evidence(words)
        no_translation = np.minimum(-translation, MAX_NO_TRANSLATION)
        required = np.maximum(MIN_EVIDENCE[clear] - no_translation - evidence, MIN_LETTERS[clear])  # of the letters
        flags: Flags = (words.counts >= MIN_WORDS) & (required <= MAX_LETTERS)
        for index in flags.nonzero()[0].tolist():  # few, because letters are slow to examine
            flags[index] = self._characters.foreign_evidence(texts[index]) >= required[index]
        return flags

    def _word_evidence(self, words: Words) -> tuple[Floats, NDArray[np.int64]]:
        """The evidence of the words of each text in nats, and how many are clear function words, at most two."""
        size = len(words.bounds) - 1
        keys = np.unique((words.text_indices << HASH_BITS) | words.hashes)  # a repeated word is no further evidence
        texts, hashes = keys >> HASH_BITS, keys & (HASHES - 1)
        total = np.bincount(texts, self._evidence[hashes], size)
        most, clear = total.copy(), np.zeros(size, np.int64)
        for function_words, evidence in self._languages:
            found = np.isin(hashes, function_words)
            where, values = texts[found], evidence[np.searchsorted(function_words, hashes[found])]
            known = total + np.bincount(where, values - self._evidence[hashes[found]], size)
            better = known > most
            most[better] = known[better]
            clear[better] = np.bincount(where, values >= CLEAR_FUNCTION_WORD, size)[better]
        enough = most >= MIN_MEAN * np.bincount(texts, minlength=size)
        return np.where(enough, np.minimum(most, MAX_WORDS), -np.inf), np.minimum(clear, 2)
