"""Changes to sentences that are given as ids: the same as in `dragoman.text.augmentation`, but much faster.

Tokenizers encode each word independently of the others. So each changed word is encoded once and then remembered.
Reserved tokens, which stand for placeholders and the like, remain.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.languages.sentence_marks import without_end
from dragoman.text.augmentation import add_typos, to_title_case, to_upper_case
from dragoman.text.multilingual import without_language
from dragoman.text.tokenizer import Tokenizer

Word = tuple[int, ...]
Ids = NDArray[np.integer[Any]]

REMEMBERED = 2**16  # changed words of each kind


class SentenceChanges:
    """Changes the sentences of one side.

    Args:
        tokenizer: The tokenizer that produced the ids.
        language: The code of the language.
    """

    def __init__(self, tokenizer: Tokenizer, language: str) -> None:
        self._tokenizer, self._language = tokenizer, language
        self._languages = set(tokenizer.all_language_ids)
        self._unchanged = {tokenizer.vocabulary.unk, *self._languages}
        self._words_only = without_language(tokenizer)
        self._starts = [tokenizer.starts_word(token) for token in tokenizer.vocabulary.tokens]
        self._upper = self._remembered(lambda text: to_upper_case(text, language))
        self._title = self._remembered(lambda text: to_title_case(text, language))
        self._without_end = self._remembered(without_end)

    def upper_case(self, ids: Ids) -> list[int]:
        """The sentence in capital letters."""
        return [index for word in self._words(ids) for index in self._upper(word)]

    def title_case(self, ids: Ids) -> list[int]:
        """The sentence with a capital letter at the start of every word."""
        return [index for word in self._words(ids) for index in self._title(word)]

    def without_end(self, ids: Ids) -> list[int]:
        """The sentence without the punctuation at its end; empty if there is nothing else but its language."""
        numbers = ids.tolist()
        while not self._languages.issuperset(numbers):
            first = len(numbers) - 1
            while first and not self._starts[numbers[first]]:
                first -= 1
            if rest := self._without_end(tuple(numbers[first:])):
                return [*numbers[:first], *rest]
            del numbers[first:]
        return []

    def typos(self, ids: Ids, seed: str) -> list[int]:
        """The sentence with typing errors; unchanged if it contains unk, whose text is unknown."""
        if self._tokenizer.vocabulary.unk in ids:
            return list(map(int, ids))
        text = add_typos(self._tokenizer.decode_masked(ids.tolist()), Random(seed))
        return self._tokenizer.encode_masked([text])[0]

    def _words(self, ids: Ids) -> list[Word]:
        numbers = ids.tolist()
        firsts = [place for place, number in enumerate(numbers) if place and self._starts[number]]
        return [tuple(numbers[start:end]) for start, end in pairwise([0, *firsts, len(numbers)])]

    def _remembered(self, change: Callable[[str], str]) -> Callable[[Word], Word]:
        """The function that applies a change to a word."""

        def change_word(word: Word) -> Word:
            if not self._unchanged.isdisjoint(word):
                return word
            return tuple(self._words_only.encode_masked([change(self._words_only.decode_masked(word))])[0])

        return lru_cache(maxsize=REMEMBERED)(change_word)
