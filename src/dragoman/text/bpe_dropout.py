"""BPE-dropout: the same words split into different subwords at random (Provilkov et al. 2020)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.text.normalization import METASPACE
from dragoman.text.subword import SubwordTokenizer

TokenIds = Sequence[int] | NDArray[np.integer[Any]]

VARIANTS = 16
"""Segmentations drawn per word; each occurrence of the word uses one of them."""


class BPEDropout:
    """Segments words again, skipping each BPE merge with some probability (algorithm 1 of the paper).

    The segmentations of a word are drawn once and depend only on the seed and the word. Choosing among them is fast
    and independent of the words seen before.

    Args:
        tokenizer: The BPE tokenizer that produced the ids.
        probability: Probability of skipping a merge, 0 to 1.
        seed: Decides which segmentations are drawn.
        limit: Sentences that would have more subwords than this are returned unchanged.
    """

    def __init__(self, tokenizer: SubwordTokenizer, probability: float, seed: int, limit: int) -> None:
        assert tokenizer.kind == "bpe"
        self.probability, self.seed, self.limit = probability, seed, limit
        self._tokens, self._ids = tokenizer.vocabulary.tokens, tokenizer.vocabulary.ids
        self._ranks = {merge: rank for rank, merge in enumerate(tokenizer.merges())}
        self._merged = {"".join(merge) for merge in self._ranks}
        self._variants = lru_cache(maxsize=2**17)(self._draw)

    def __call__(self, ids: TokenIds, generator: np.random.Generator) -> TokenIds:
        """The ids of the same sentence in other subwords."""
        words: list[list[int]] = []
        for index in ids:
            if not words or self._tokens[index].startswith(METASPACE):
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
        subwords = [symbol for index in word for symbol in self._symbols(self._tokens[index])]
        while len(subwords) > 1:
            kept = [
                (rank, position)
                for position, pair in enumerate(pairwise(subwords))
                if (rank := self._ranks.get(pair)) is not None and generator.random() >= self.probability
            ]
            if not kept:
                break
            _, position = min(kept)
            subwords[position : position + 2] = ["".join(subwords[position : position + 2])]
        return [self._ids[subword] for subword in subwords]

    def _symbols(self, token: str) -> Sequence[str]:
        """The characters that were merged into a token; byte tokens and unk are a single symbol."""
        return token if token in self._merged else [token]
