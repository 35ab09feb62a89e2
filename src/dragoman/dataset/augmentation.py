"""Training pairs that are changed in some epochs, as the settings of `training.augmentation` demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from dragoman.dataset.buckets import Group, Indices
from dragoman.dataset.encode import PairEncoder
from dragoman.dataset.prepare import Dataset
from dragoman.dataset.token_store import IdStore, PairStore
from dragoman.settings import Augmentation, Recipe
from dragoman.text.augmentation import TEXT_CHANGES, to_title_case, to_upper_case
from dragoman.text.normalization import METASPACE
from dragoman.text.tokenizer import Tokenizer

Integers = NDArray[np.integer[Any]]
IdPair = tuple[Any, Any]
"""The ids of a source and of its target, as arrays or lists."""

KINDS = tuple(Augmentation.model_fields)
STREAM = 1  # distinguishes these random numbers from those of the order of an epoch
CHUNK = 100_000  # pairs whose lengths are planned at once

_BYTE = regex.compile("<0x[0-9A-F]{2}>")


class PairAugmenter:
    """Changes pairs, each in at most one way, which depends only on the seed, the epoch and the index of the pair.

    Batches are planned before the text is changed, so the lengths of changed pairs are estimated. A pair that would
    become longer than planned, or than `data.max_tokens`, remains unchanged.

    Args:
        recipe: Shares, seed, languages and limits.
        data: The pairs, their tokenizers and the dictionary.
    """

    def __init__(self, recipe: Recipe, data: Dataset) -> None:
        self._pairs, self._seed, self._limit = data.train, recipe.training.seed, recipe.data.max_tokens
        self._tokenizers, self._languages = (
            (data.source, data.target),
            (recipe.data.source_language, recipe.data.target_language),
        )
        words = PairEncoder(data.source, data.target, self._limit)
        self._words = words.encode([each for each, _ in data.dictionary], [each for _, each in data.dictionary])
        shares = recipe.training.augmentation.model_dump()
        shares["single_words"] *= len(self._words) > 0
        self._bounds = np.round(np.minimum(np.cumsum([0, *shares.values()]), 1) * 2**32).astype(np.int64)
        self._draws = lru_cache(maxsize=2)(self._draw)  # of this epoch, and of the next one
        sides = list(zip(self._tokenizers, self._languages, strict=True))
        self._lengths_of_tokens = {
            "upper_case": [_lengths_after(to_upper_case, *side) for side in sides],
            "title_case": [_lengths_after(to_title_case, *side, only_first=True) for side in sides],
        }

    def lengths(self, epoch: int) -> tuple[Integers, Integers]:
        """The planned number of tokens of each source and of each target in an epoch, eos included, (pairs,) each."""
        draws = self._draws(epoch)
        lengths = self._pairs.source.lengths, self._pairs.target.lengths
        for number, kind in enumerate(KINDS):
            chosen = np.flatnonzero((draws >= self._bounds[number]) & (draws < self._bounds[number + 1]))
            for start in range(0, len(chosen), CHUNK):
                part = chosen[start : start + CHUNK]
                for side, planned in zip(lengths, self._planned_lengths(kind, part, draws[part]), strict=True):
                    side[part] = planned
        return lengths[0] + 1, lengths[1] + 1

    def change(self, groups: Sequence[Group]) -> list[PairStore]:
        """The pairs of groups, changed; all groups at once, which is faster."""
        indices = np.concatenate([each for each, _ in groups])
        epochs = np.repeat([epoch for _, epoch in groups], [len(each) for each, _ in groups]).tolist()
        draws = np.concatenate([self._draws(epoch)[each] for each, epoch in groups])
        pairs: list[IdPair] = [(self._pairs.source[index], self._pairs.target[index]) for index in indices]
        longest = np.zeros((2, len(pairs)), np.int64)
        texts: dict[int, tuple[str, str]] = {}
        kinds = np.searchsorted(self._bounds[1:], draws, side="right")
        for number, kind in enumerate(TEXT_CHANGES):
            places = np.flatnonzero(kinds == number)
            longest[:, places] = self._planned_lengths(kind, indices[places], draws[places])
            for place in places.tolist():
                seed = f"{self._seed} {epochs[place]} {indices[place]}"
                if changed := self._change_text(kind, pairs[place], seed):
                    texts[place] = changed
        for place, *pair in zip(texts, *self._encode(list(texts.values())), strict=True):
            if 0 < len(pair[0]) <= longest[0, place] and 0 < len(pair[1]) <= longest[1, place]:
                pairs[place] = pair[0], pair[1]
        words = np.flatnonzero(kinds == len(TEXT_CHANGES))
        for place, entry in zip(words.tolist(), self._entries(draws[words]).tolist(), strict=True):
            pairs[place] = self._words.source[entry], self._words.target[entry]
        ends = np.cumsum([len(each) for each, _ in groups]).tolist()
        parts = (pairs[start:end] for start, end in pairwise([0, *ends]))
        sides = (zip(*part, strict=True) for part in parts)
        return [PairStore(IdStore.of(sources), IdStore.of(targets)) for sources, targets in sides]

    def _draw(self, epoch: int) -> NDArray[np.uint32]:
        """A random number for each pair, (pairs,)."""
        generator = np.random.Generator(np.random.PCG64([self._seed, epoch, STREAM]))
        return generator.integers(2**32, size=len(self._pairs), dtype=np.uint32)

    def _planned_lengths(self, kind: str, indices: Indices, draws: Integers) -> list[Integers]:
        """The planned number of tokens of sources and targets that are changed in one way, (indices,) each."""
        if kind == "single_words":
            words = self._entries(draws)
            return [self._words.source.lengths[words], self._words.target.lengths[words]]
        sides = self._pairs.source, self._pairs.target
        if kind in self._lengths_of_tokens:
            tables = self._lengths_of_tokens[kind]
            lengths = [_sum_over_tokens(side, indices, table) for side, table in zip(sides, tables, strict=True)]
        else:
            lengths = [side.offsets[indices + 1] - side.offsets[indices] for side in sides]
        if kind == "typos":
            lengths[0] = lengths[0] + 2 + lengths[0] // 6
        return [np.minimum(each, self._limit) for each in lengths]

    def _change_text(self, kind: str, pair: IdPair, seed: str) -> tuple[str, str] | None:
        """A pair as text, changed in one way; None if it remains unchanged, or its text is unknown."""
        source, target = self._tokenizers
        if source.vocabulary.unk in pair[0] or target.vocabulary.unk in pair[1]:
            return None
        texts = source.decode(pair[0]), target.decode(pair[1])
        changed = TEXT_CHANGES[kind](*texts, self._languages, seed)
        return changed if changed != texts else None

    def _encode(self, texts: Sequence[tuple[str, str]]) -> tuple[list[list[int]], list[list[int]]]:
        source, target = self._tokenizers
        return source.encode([text for text, _ in texts]), target.encode([text for _, text in texts])

    def _entries(self, draws: Integers) -> Indices:
        """The entries of the dictionary that replace pairs: equal shares of the random numbers."""
        first, end = self._bounds[-2:]
        entries: Indices = (draws - first) * len(self._words) // (end - first)
        return entries


def _lengths_after(
    change: Callable[[str, str], str], tokenizer: Tokenizer, language: str, only_first: bool = False
) -> Integers:
    """How many tokens each token of a vocabulary becomes when its text is changed; an estimate, at least 1.

    Args:
        change: Changes a text in a language.
        tokenizer: The tokenizer with the vocabulary.
        language: The code of the language.
        only_first: Whether only the first token of a word is changed.
    """
    special = set(tokenizer.vocabulary.special_ids)
    texts = [
        token.replace(METASPACE, " ").strip()
        if index not in special and not _BYTE.fullmatch(token) and (tokenizer.starts_word(token) or not only_first)
        else ""
        for index, token in enumerate(tokenizer.vocabulary.tokens)
    ]
    encoded = tokenizer.encode([change(text, language) for text in texts])
    return np.array([max(1, len(ids)) for ids in encoded])


def _sum_over_tokens(sentences: IdStore, indices: Indices, values: Integers) -> Integers:
    """The sum of the values of the tokens of each of some sentences, (indices,)."""
    firsts, ends = sentences.offsets[indices], sentences.offsets[indices + 1]
    starts = np.cumsum(ends - firsts) - (ends - firsts)
    tokens = np.arange(int((ends - firsts).sum())) + np.repeat(firsts - starts, ends - firsts)
    sums: Integers = np.add.reduceat(values[sentences.ids[tokens]], starts) if len(indices) else starts
    return sums
