"""BPE-dropout: the same words in other subwords, so that a model sees what they are made of (Provilkov et al. 2020)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.text.normalization import MARK
from dragoman.text.subword import SubwordTokenizer

Ids = Sequence[int] | NDArray[np.integer[Any]]

VARIANTS = 16
"""Segmentations drawn of each word; each time the word is met, one of them is taken."""


class BPEDropout:
    """Segments words anew, each merge of BPE left out with some probability (algorithm 1).

    Segmentations of a word are drawn once, from the seed and the word alone: choosing among them is quick, and needs no
    memory of what was met before.

    Args:
        tokenizer: A BPE tokenizer, the source of the ids.
        probability: Of leaving a merge out, 0 to 1.
        seed: Another one gives other segmentations.
        limit: Sentences that would be longer than this many subwords stay as they are.
    """

    def __init__(self, tokenizer: SubwordTokenizer, probability: float, seed: int, limit: int) -> None:
        assert tokenizer.kind == "bpe"
        self.probability, self.seed, self.limit = probability, seed, limit
        self._tokens, self._ids = tokenizer.vocabulary.tokens, tokenizer.vocabulary.ids
        self._ranks = {merge: rank for rank, merge in enumerate(tokenizer.merges())}
        self._learnt = {"".join(merge) for merge in self._ranks}
        self._variants = lru_cache(maxsize=2**17)(self._draw)

    def __call__(self, ids: Ids, generator: np.random.Generator) -> Ids:
        """The same sentence in other subwords."""
        words: list[list[int]] = []
        for index in ids:
            if not words or self._tokens[index].startswith(MARK):
                words.append([])
            words[-1].append(int(index))
        choices = generator.integers(VARIANTS, size=len(words)).tolist()
        changed = [
            index for word, choice in zip(words, choices, strict=True) for index in self._variants(tuple(word))[choice]
        ]
        return changed if len(changed) <= self.limit else ids

    def _draw(self, word: tuple[int, ...]) -> list[list[int]]:
        generator = random.Random(f"{self.seed} {word}")
        return [self._segment(word, generator) for _ in range(VARIANTS)]

    def _segment(self, word: tuple[int, ...], generator: random.Random) -> list[int]:
        pieces = [character for index in word for character in self._characters(self._tokens[index])]
        while len(pieces) > 1:
            kept = [
                (rank, position)
                for position, pair in enumerate(pairwise(pieces))
                if (rank := self._ranks.get(pair)) is not None and generator.random() >= self.probability
            ]
            if not kept:
                break
            _, position = min(kept)
            pieces[position : position + 2] = ["".join(pieces[position : position + 2])]
        return [self._ids[piece] for piece in pieces]

    def _characters(self, token: str) -> Sequence[str]:
        """What a token was merged from; bytes and unk were not."""
        return token if token in self._learnt else [token]
