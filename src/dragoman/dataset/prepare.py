"""From corpora to tokenizers and ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dragoman.corpus.corpus import find_corpora
from dragoman.corpus.pair import Corpus, Pair
from dragoman.dataset.encoding import encode_pairs
from dragoman.dataset.large import LargeText, Tokenizers
from dragoman.dataset.split import (
    TrainingText,
    choose_held_out,
    evenly,
    is_short,
    learn_tokenizers,
    sample_size,
    without,
)
from dragoman.dataset.token_store import PairStore
from dragoman.errors import UserError
from dragoman.settings import CorpusReference, Data, Recipe
from dragoman.system.progress import Update
from dragoman.text.tokenizer import Tokenizer

IN_MEMORY_PAIRS = 100_000
"""More training pairs than this are not kept in memory but prepared on disk, see `LargeText`."""

MOST_PAIRS = 1_000_000
"""More pairs than this to validate or test on are refused: they are kept in memory, and take hours to translate."""

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
    """All pairs of some corpora to validate or test on that have text on both sides.

    Raises:
        UserError: A corpus is missing or broken, or there are more pairs than `MOST_PAIRS`.
    """
    pairs = _read(_find(references, data, data_directory), MOST_PAIRS)
    if pairs is None:
        names = ", ".join(map(str, references))
        raise UserError(f"{names}: more than {MOST_PAIRS:,} pairs; that many are for training only")
    return pairs


def prepare(
    recipe: Recipe,
    data_directory: Path | None,
    tokenizers: Tokenizers | None,
    note: Note,
    update: Update = lambda share, text: None,
) -> Prepared:
    """Read the corpora, learn the tokenizers unless given, and turn the training text into ids.

    More than `IN_MEMORY_PAIRS` pairs are prepared on disk, once, see `LargeText`.

    Raises:
        UserError: A corpus is missing or broken, or no pair is left to train on.
    """
    data = recipe.data
    validation = read_pairs(data.validation, data, data_directory)
    if data.validation and not validation:
        raise UserError("data.validation: no pair has text on both sides")
    large, pairs = _read_training(recipe, data_directory, note, update)
    if pairs is None:
        return _prepare_large(large, validation, tokenizers, note)
    return _prepare_small(recipe, pairs, validation, tokenizers, note)


def _prepare_small(
    recipe: Recipe, read: list[Pair], validation: list[Pair], tokenizers: Tokenizers | None, note: Note
) -> Prepared:
    note(f"read {len(read):,} training pairs")
    pairs, held = _select(recipe, read)
    if not pairs:
        raise UserError(f"data.train: {len(read):,} pairs are too few to train and validate on")
    source, target = tokenizers or _learn(recipe, pairs)
    note(_about_vocabularies(source, target))
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    train = encode_pairs(sources, targets, source, target, recipe.data.max_tokens)
    if not len(train):
        raise UserError(f"data.max_tokens = {recipe.data.max_tokens}: no training pair is that short")
    return Prepared(source, target, train, validation or held, len(read) - len(train) - len(held))


def _prepare_large(large: LargeText, validation: list[Pair], tokenizers: Tokenizers | None, note: Note) -> Prepared:
    with large.prepared() as split:
        note(f"{split.read:,} training pairs, prepared in {large.home}")
        source, target = tokenizers or large.tokenizers(split)
        note(_about_vocabularies(source, target))
        train = large.pairs(split, (source, target))
    held = split.held_out
    return Prepared(source, target, train, validation or held, split.read - len(train) - len(held))


def train_recipe_tokenizers(recipe: Recipe, data_directory: Path | None) -> Tokenizers:
    """The tokenizers that a run of this recipe would have."""
    large, pairs = _read_training(recipe, data_directory, lambda text: None, lambda share, text: None)
    if pairs is not None:
        return _learn(recipe, _select(recipe, pairs)[0])
    with large.prepared() as split:
        return large.tokenizers(split)


def hold_out(pairs: list[Pair], count: int, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Split off at most `count` random pairs, and no more than a tenth, whose text training does not see."""
    held = [pairs[index] for index in choose_held_out(len(pairs), count, seed)]
    return list(without(held, pairs)), held


def _read_training(
    recipe: Recipe, data_directory: Path | None, note: Note, update: Update
) -> tuple[LargeText, list[Pair] | None]:
    """The training text, and its pairs unless they are too many for memory."""
    corpora = _find(recipe.data.train, recipe.data, data_directory)
    large = LargeText(recipe, corpora, note, update)
    return large, None if large.known else _read(corpora, IN_MEMORY_PAIRS)


def _find(references: Sequence[CorpusReference], data: Data, data_directory: Path | None) -> list[Corpus]:
    return find_corpora(
        references,
        source_language=data.source_language,
        target_language=data.target_language,
        data_directory=data_directory,
    )


def _read(corpora: Sequence[Corpus], most: int) -> list[Pair] | None:
    """All pairs with text on both sides, or None if there are more than `most`."""
    pairs = list(islice(TrainingText(corpora, max_characters=None), most + 1))
    return pairs if len(pairs) <= most else None


def _select(recipe: Recipe, pairs: list[Pair]) -> tuple[list[Pair], list[Pair]]:
    """The pairs to learn from and, unless there are others to validate on, those held out."""
    data = recipe.data
    short = [pair for pair in pairs if is_short(pair, data.max_characters)]
    return (short, []) if data.validation else hold_out(short, data.validation_pairs, recipe.training.seed)


def _learn(recipe: Recipe, pairs: Sequence[Pair]) -> Tokenizers:
    sample = list(evenly(pairs, len(pairs), sample_size(recipe.text, len(pairs))))
    return learn_tokenizers(recipe, [pair.source for pair in sample], [pair.target for pair in sample])


def _about_vocabularies(source: Tokenizer, target: Tokenizer) -> str:
    return f"vocabularies of {len(source.vocabulary):,} and {len(target.vocabulary):,} entries"
