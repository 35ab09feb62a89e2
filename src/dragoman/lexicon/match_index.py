"""Finding the most similar one of many sentences, which are given as ids.

The similarity is 1 - (edit distance) / (length of the longer sentence), in tokens (Bulté and Tezcan 2019, equation 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from dragoman.text.id_store import IdStore

MIN_SCORE = 0.5
"""The translation of a less similar sentence is not used.

In LibreOffice's validation text, 0.5 to 0.6 give the same scores, and larger numbers give lower ones. A sentence with
this similarity always shares a pair of neighboring tokens with the text.
"""

READ_PLACES = 5000
"""How many places of token pairs are looked up for a text, those of rarer pairs first."""

COMPARED = 50
"""How many sentences are compared with a text token by token: those that share the most pairs with it."""

Integers = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class FoundSentence:
    """A similar sentence: its index, and its similarity from 0 to 1."""

    index: int
    score: float


class MatchIndex:
    """Sentences, by the pairs of neighboring tokens that they contain.

    Args:
        sentences: The sentences, at least one. Copies of one sentence would hide others, see `COMPARED`.
    """

    def __init__(self, sentences: IdStore) -> None:
        self._sentences = sentences
        self._edge = int(sentences.ids.max(initial=0)) + 1  # stands for the beginning and the end of a sentence
        count = len(sentences)
        rows = np.repeat(np.arange(count), sentences.lengths + 1)
        places = np.sort(self._token_pairs(sentences) * count + rows)  # much faster than np.unique
        pairs, rows = np.divmod(places[np.diff(places, prepend=-1) > 0], count)
        self._rows = rows.astype(np.int32)  # the sentences that contain each pair, one pair after another
        self._pairs, starts = np.unique(pairs, return_index=True)
        self._starts = np.append(starts, len(pairs))

    def find(self, ids: Sequence[int], excluded: Callable[[int], bool] | None = None) -> FoundSentence | None:
        """The most similar sentence, the first one of several; None if none has `MIN_SCORE`.

        Args:
            ids: The tokens of a text.
            excluded: Whether a sentence, given by its index, does not count.
        """
        text, found = list(ids), []
        for index in self._candidates(text):
            other = self._sentences[index].tolist()
            score = Levenshtein.normalized_similarity(text, other, score_cutoff=MIN_SCORE)
            if score >= MIN_SCORE and not (excluded and excluded(index)):
                found.append(FoundSentence(index, score))
        return min(found, key=lambda each: (-each.score, each.index), default=None)

    def _candidates(self, text: list[int]) -> list[int]:
        """The sentences that share the most pairs with a text, in relation to their length."""
        pairs = np.unique(self._token_pairs(IdStore.of([text])))
        places = np.searchsorted(self._pairs, pairs).clip(max=len(self._pairs) - 1)
        places = places[self._pairs[places] == pairs]
        frequencies = self._starts[places + 1] - self._starts[places]
        rarest = np.argsort(frequencies, kind="stable")
        read = np.searchsorted(np.cumsum(frequencies[rarest]), READ_PLACES, side="right")
        chosen = places[rarest[: max(1, int(read))]]
        if not len(chosen):
            return []
        rows = np.concatenate([self._rows[self._starts[place] : self._starts[place + 1]] for place in chosen])
        candidates, shared = np.unique(rows, return_counts=True)
        lengths = self._sentences.offsets[candidates + 1] - self._sentences.offsets[candidates]
        best = np.lexsort((candidates, -shared / (len(text) + lengths + 1)))[:COMPARED]
        found: list[int] = candidates[best].tolist()
        return found

    def _token_pairs(self, sentences: IdStore) -> Integers:
        """A number for each pair of neighboring tokens, one sentence after another, edges included."""
        count, edge = len(sentences), self._edge
        tokens = np.full(len(sentences.ids) + count + 1, edge, np.int64)
        sentence = np.repeat(np.arange(count), sentences.lengths)  # of each token
        tokens[np.arange(len(sentences.ids)) + sentence + 1] = np.minimum(sentences.ids, edge)
        return tokens[:-1] * (edge + 1) + tokens[1:]
