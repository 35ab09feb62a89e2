"""From corpora to tokenizers and ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.data.corpus import Pair, read_corpora
from dragoman.data.store import IdStore, PairStore
from dragoman.errors import UserError
from dragoman.settings import CorpusReference, Data, Recipe
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.training import train_tokenizers

Note = Callable[[str], None]


@dataclass(frozen=True)
class Prepared:
    """All that training reads: ids to learn from, and texts to validate on."""

    source: Tokenizer
    target: Tokenizer
    train: PairStore
    validation: list[Pair]
    dropped: int  # training pairs left out by the filters


def read_pairs(references: Sequence[CorpusReference], data: Data, data_directory: Path | None) -> list[Pair]:
    """All pairs of some corpora that have text on both sides."""
    pairs = read_corpora(
        references,
        source_language=data.source_language,
        target_language=data.target_language,
        data_directory=data_directory,
    )
    return [pair for pair in pairs if pair.complete]


def prepare(
    recipe: Recipe, data_directory: Path | None, tokenizers: tuple[Tokenizer, Tokenizer] | None, note: Note
) -> Prepared:
    """Read the corpora, learn the tokenizers unless given, and turn the training text into ids.

    Raises:
        UserError: A corpus is missing or broken, or no pair is left to train on.
    """
    data = recipe.data
    count, pairs, validation = _read(recipe, data_directory)
    note(f"read {count:,} training pairs")
    source, target = tokenizers or _train_tokenizers(recipe, pairs)
    note(f"vocabularies of {len(source.vocabulary):,} and {len(target.vocabulary):,} entries")
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    train = _encode(source.encode(sources), target.encode(targets), data.max_tokens)
    if not len(train):
        raise UserError(f"data.max_tokens = {data.max_tokens}: no training pair is that short")
    dropped = count - len(train) - (0 if data.validation else len(validation))
    return Prepared(source, target, train, validation, dropped)


def train_recipe_tokenizers(recipe: Recipe, data_directory: Path | None) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers that a run of this recipe would have."""
    return _train_tokenizers(recipe, _read(recipe, data_directory)[1])


def _read(recipe: Recipe, data_directory: Path | None) -> tuple[int, list[Pair], list[Pair]]:
    """How many training pairs there are, those of fit length, and the validation pairs."""
    data = recipe.data
    read = read_pairs(data.train, data, data_directory)
    pairs = [pair for pair in read if _short(pair, data.max_characters)]
    if data.validation:
        validation = read_pairs(data.validation, data, data_directory)
    else:
        pairs, validation = hold_out(pairs, data.validation_pairs, recipe.training.seed)
    if not pairs or not validation:
        raise UserError(f"data.train: {len(read):,} pairs are too few to train and validate on")
    return len(read), pairs, validation


def _train_tokenizers(recipe: Recipe, pairs: Sequence[Pair]) -> tuple[Tokenizer, Tokenizer]:
    return train_tokenizers(
        [pair.source for pair in pairs],
        [pair.target for pair in pairs],
        recipe.text,
        source_language=recipe.data.source_language,
        target_language=recipe.data.target_language,
    )


def hold_out(pairs: list[Pair], count: int, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Split off at most `count` random pairs, and no more than a tenth, whose text training does not see."""
    count = min(count, max(1, len(pairs) // 10))
    chosen = np.random.Generator(np.random.PCG64(seed)).permutation(len(pairs))[:count]
    held = [pairs[index] for index in sorted(chosen.tolist())]
    sources, targets = {pair.source for pair in held}, {pair.target for pair in held}
    kept = [pair for pair in pairs if pair.source not in sources and pair.target not in targets]
    return kept, held


def _short(pair: Pair, limit: int | None) -> bool:
    return limit is None or (len(pair.source) < limit and len(pair.target) < limit)


def _encode(sources: list[list[int]], targets: list[list[int]], max_tokens: int) -> PairStore:
    kept = [
        index
        for index, (source, target) in enumerate(zip(sources, targets, strict=True))
        if 0 < len(source) <= max_tokens and 0 < len(target) <= max_tokens
    ]
    return PairStore(IdStore.of(sources[index] for index in kept), IdStore.of(targets[index] for index in kept))
