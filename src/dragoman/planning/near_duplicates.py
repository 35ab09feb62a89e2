"""How many sentences of a text have a similar one, as in manuals and software."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.dataset.match_index import MatchIndex
from dragoman.dataset.token_store import IdStore

COUNTED = 500  # sentences, evenly spaced


class NearDuplicates:
    """Compares sentences by their words, as `MatchIndex` compares them by their tokens."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self._sentences: list[list[int]] = []

    def add(self, texts: Sequence[str]) -> None:
        """Add some of the sentences that follow each other; some ten thousand are enough."""
        for text in texts:
            words = text.casefold().split()
            self._sentences.append([self._words.setdefault(word, len(self._words)) for word in words])

    @property
    def share(self) -> float:
        """The share of sentences that have a similar one, but not only equal ones."""
        if not self._sentences:
            return 0.0
        index, count = MatchIndex(IdStore.of(self._sentences)), len(self._sentences)
        counted = np.linspace(0, count - 1, min(COUNTED, count)).astype(int).tolist()
        return sum(self._has_similar(index, self._sentences[each]) for each in counted) / len(counted)

    def _has_similar(self, index: MatchIndex, sentence: list[int]) -> bool:
        return index.find(sentence, excluded=lambda other: self._sentences[other] == sentence) is not None
