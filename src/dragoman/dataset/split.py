"""Which pairs of the training corpora are learnt from, and what vocabulary they give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.corpus.pair import Corpus, Pair
from dragoman.settings import Recipe, Text
from dragoman.text.registry import train_tokenizers
from dragoman.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class TrainingText:
    """The pairs of some corpora with text on both sides, of fit length and not held out.

    They are read anew each time they are asked for: no more than one is in memory.
    """

    corpora: Sequence[Corpus]
    max_characters: int | None
    held_out: Sequence[Pair] = ()

    def complete(self) -> Iterator[Pair]:
        """All pairs with text on both sides, long ones and those held out too."""
        return (pair for corpus in self.corpora for pair in corpus.read() if pair.complete)

    def __iter__(self) -> Iterator[Pair]:
        return without(self.held_out, (pair for pair in self.complete() if is_short(pair, self.max_characters)))


def is_short(pair: Pair, limit: int | None) -> bool:
    """Whether both sides have fewer characters than `data.max_characters`."""
    return limit is None or (len(pair.source) < limit and len(pair.target) < limit)


def choose_held_out(number: int, count: int, seed: int) -> list[int]:
    """At most `count` random ones of a number of pairs, and no more than a tenth, in rising order."""
    count = min(count, max(1, number // 10))
    chosen = np.random.Generator(np.random.PCG64(seed)).permutation(number)[:count]
    return sorted(chosen.tolist())


def without(held: Sequence[Pair], pairs: Iterable[Pair]) -> Iterator[Pair]:
    """The pairs that share no side with those held out."""
    sources, targets = {pair.source for pair in held}, {pair.target for pair in held}
    return (pair for pair in pairs if pair.source not in sources and pair.target not in targets)


def evenly(pairs: Iterable[Pair], number: int, limit: int) -> Iterator[Pair]:
    """At most `limit` of a number of pairs, evenly spread."""
    return (pair for index, pair in enumerate(pairs) if (index + 1) * limit // number > index * limit // number)


def sample_size(text: Text, number: int) -> int:
    """How many of a number of pairs the vocabulary is learnt from."""
    return min(number, text.subword_pairs) if text.tokenizer in ("bpe", "unigram") else number


def learn_tokenizers(recipe: Recipe, sources: Iterable[str], targets: Iterable[str]) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of a recipe; the sources are all read before the targets."""
    data = recipe.data
    return train_tokenizers(
        sources, targets, recipe.text, source_language=data.source_language, target_language=data.target_language
    )
