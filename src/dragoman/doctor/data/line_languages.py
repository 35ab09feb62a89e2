"""Lines that their function words show to be in another language than their side of the corpus.

A large part of a side in another language would count as part of the language of the side: its words would be common
there. Therefore these lines are recognized before anything is learned from the corpus. Single lines are judged later,
with more evidence, by `ForeignLanguageDetector`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.words import HASHES, Words, function_word_hashes
from dragoman.languages.codes import primary_language
from dragoman.languages.function_words import LANGUAGES_WITH_FUNCTION_WORDS

LineLanguages = NDArray[np.int8]
"""For each line, the index in `LANGUAGES_WITH_FUNCTION_WORDS` of the language that it seems to be in, or `OWN`."""

OWN = -1  # the language of the side, or an unknown one
OWN_WORD_FACTOR = 2  # a line has at least this many times as many function words of another language


class LineLanguageFinder:
    """Finds lines in other languages than that of their side.

    Args:
        language: Code of the language of the side. If its function words are not known, no line is found.
    """

    def __init__(self, language: str) -> None:
        code = primary_language(language)
        self._language = LANGUAGES_WITH_FUNCTION_WORDS.index(code) if code in LANGUAGES_WITH_FUNCTION_WORDS else None
        self._sets = np.zeros(HASHES, np.uint16)  # bit i: the word is a function word of language i
        for index, other in enumerate(LANGUAGES_WITH_FUNCTION_WORDS):
            self._sets[function_word_hashes(other)] |= np.uint16(1 << index)

    def find(self, words: Words) -> LineLanguages:
        """The language of each line, given its words, (lines,)."""
        size = len(words.bounds) - 1
        found, most = np.full(size, OWN, np.int8), np.zeros(size)
        if self._language is None:
            return found
        sets = self._sets[words.hashes]
        lines, sets = words.text_indices[sets > 0], sets[sets > 0]
        own = _contain(sets, self._language)
        for index in range(len(LANGUAGES_WITH_FUNCTION_WORDS)):
            other = _contain(sets, index)  # words that both languages have show neither
            others = np.bincount(lines[other & ~own], minlength=size)
            owns = np.bincount(lines[own & ~other], minlength=size)
            better = (others >= OWN_WORD_FACTOR * owns) & (others > most)
            found[better], most[better] = index, others[better]
        return found


def _contain(sets: NDArray[np.uint16], language: int) -> NDArray[np.bool_]:
    contained: NDArray[np.bool_] = (sets >> np.uint16(language)) & np.uint16(1) > 0
    return contained
