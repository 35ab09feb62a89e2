"""Prepare the dataset of a recipe.

Corpora of at most `IN_MEMORY_PAIRS` pairs are read into memory, once, and everything built from them goes into a
temporary directory. Larger ones are streamed from their files, and everything built from them goes into the cache of
dragoman, where the next run, or a resumed one, finds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.corpus.pair import Pair
from dragoman.dataset.builder import DatasetBuilder
from dragoman.dataset.identity import split_identity
from dragoman.dataset.pairs import find_training_corpora, read_pairs
from dragoman.dataset.token_store import PairStore
from dragoman.dataset.tokenizer_training import Tokenizers
from dragoman.errors import UserError, counted
from dragoman.lexicon.lemma_pairs import Entry
from dragoman.settings import Recipe
from dragoman.system.cache import cache_directory
from dragoman.system.files import temporary_directory
from dragoman.system.progress import Log, Update, no_log, no_update
from dragoman.system.resumable import BuildCache
from dragoman.text.registry import describe_vocabularies
from dragoman.text.tokenizer import Tokenizer

IN_MEMORY_PAIRS = 100_000
"""Training corpora with more pairs are streamed from disk."""


@dataclass(frozen=True)
class Dataset:
    """All that training reads: pairs to train on, as ids, and pairs to validate on, as text."""

    source: Tokenizer
    target: Tokenizer
    train: PairStore
    validation: list[Pair]
    dropped: int  # training pairs that are too long, have no token, or have the same text as a held-out pair
    dictionary: Sequence[tuple[str, str]] = ()  # words and their translations, for training.augmentation
    lexicon: Sequence[Entry] = ()  # lemmas and their translations, likewise
    matches: NDArray[np.int64] | None = None  # index of a similar training pair for each, or -1, for the same


def prepare(
    recipe: Recipe,
    data_directory: Path | None,
    tokenizers: Tokenizers | None,
    log: Log,
    update: Update = no_update,
) -> Dataset:
    """Read the corpora of a recipe, train the tokenizers unless they are given, and encode the training pairs.

    Args:
        recipe: Which corpora, filters and settings of text.
        data_directory: Mirror of the dataset catalog to read before downloading.
        tokenizers: Those of source and target, if they exist already, as when a run is resumed.
        log: Receives messages.
        update: Receives progress; called for corpora of more than `IN_MEMORY_PAIRS` only, as others take seconds.

    Raises:
        UserError: A corpus is missing or broken, no pair is left to train on, or the disk is full.
    """
    validation = read_pairs(recipe.data.validation, recipe.data, data_directory)
    if recipe.data.validation and not validation:
        raise UserError("data.validation: no pair has text on both sides")
    with _open_builder(recipe, data_directory, log, update) as builder:
        split = builder.split()
        held_out = f", {len(split.held_out):,} of which are held out for validation" if split.held_out else ""
        log(f"{counted(split.read, 'training pair')}{held_out}")
        source, target = tokenizers or builder.tokenizers(split)
        log(describe_vocabularies(source, target, recipe.text.joint))
        train = builder.encode(split, (source, target))
        dictionary = builder.dictionary(split) if recipe.training.augmentation.single_words else []
        if recipe.training.augmentation.single_words:
            log(f"learned a dictionary of {counted(len(dictionary), 'word')} for training.augmentation.single_words")
        lexicon = builder.lexicon(split) if recipe.training.augmentation.terms else []
        if recipe.training.augmentation.terms:
            log(f"learned {counted(len(lexicon), 'pair')} of lemmas for training.augmentation.terms")
        matches = builder.matches(train, (source, target)) if recipe.training.augmentation.fuzzy_matches else None
        if matches is not None:
            log(f"{np.count_nonzero(matches >= 0):,} training pairs with a similar one")
    dropped = split.read - len(train) - len(split.held_out)
    if dropped:
        log(
            f"{counted(dropped, 'pair')} left out: longer than data.max_tokens = {recipe.data.max_tokens} or than "
            "data.max_characters, without a token, or with the text of a held-out pair"
        )
    return Dataset(source, target, train, validation or split.held_out, dropped, dictionary, lexicon, matches)


def train_recipe_tokenizers(recipe: Recipe, data_directory: Path | None) -> Tokenizers:
    """The tokenizers that a run of this recipe would have.

    Raises:
        UserError: As for `prepare`.
    """
    with _open_builder(recipe, data_directory, no_log, no_update) as builder:
        return builder.tokenizers(builder.split())


@contextmanager
def _open_builder(recipe: Recipe, data_directory: Path | None, log: Log, update: Update) -> Iterator[DatasetBuilder]:
    corpora = find_training_corpora(recipe.data, data_directory)
    identity = split_identity(recipe, corpora.fingerprint)
    cache = BuildCache(cache_directory() / "prepared", log)
    pairs = None if cache.path("split", identity).is_dir() else corpora.load(IN_MEMORY_PAIRS)
    if pairs is not None:
        with temporary_directory() as directory:
            yield DatasetBuilder(recipe, pairs, identity, BuildCache(directory, log), True, no_update)
        return
    corpora.check_files()
    log(f"large corpus: prepared text is cached in {cache.root}")
    with cache.lock(identity):
        try:
            yield DatasetBuilder(recipe, corpora, identity, cache, False, update)
        except KeyboardInterrupt:
            log("interrupted while preparing text; run the same command again to continue where it stopped")
            raise
