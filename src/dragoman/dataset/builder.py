"""The steps from training pairs to token ids, each of which keeps its result in a build cache.

The cache holds these directories:

- ``split-…``: the held-out pairs;
- ``tokenizers-…``: the tokenizers, trained on the other pairs;
- ``pairs-…``: the ids of those pairs;
- ``dictionary-…``: single words and their translations, for `training.augmentation`;
- ``lexicon-…``: lemmas and their translations, likewise;
- ``matches-…``: a similar pair for each of those pairs, for the same;
- ``shards-…``: ids that are encoded but not joined yet; deleted once ``pairs-…`` is complete.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.corpus.pair import Pair
from dragoman.dataset.encode import PairEncoder
from dragoman.dataset.identity import lexicon_identity, pairs_identity, tokenizers_identity
from dragoman.dataset.pairs import CorpusChangedError
from dragoman.dataset.split import Split, split_pairs
from dragoman.dataset.token_store import PairStore, join_shards, load_shard, open_pairs, save_shard
from dragoman.dataset.tokenizer_training import Tokenizers, sample_evenly, train_on_split
from dragoman.errors import UserError
from dragoman.lexicon.dictionary import learn_dictionary
from dragoman.lexicon.fuzzy_matches import find_matches
from dragoman.lexicon.lemma_pairs import Entry, learn_lexicon
from dragoman.settings import Recipe
from dragoman.system.cpu import usable_cores
from dragoman.system.files import read_json, write_json
from dragoman.system.progress import Meter, Update
from dragoman.system.resumable import BlockStore, BuildCache, grouped, run_blocks
from dragoman.text.registry import load_tokenizers, save_tokenizers

SHARD_PAIRS = 20_000
"""Pairs encoded at a time: some seconds of work, the most that each process can lose."""

DICTIONARY_PAIRS = 100_000
"""Maximum number of pairs from which words and lemmas are learned, which takes some seconds."""

DICTIONARY, LEXICON, MATCHES = "words.json", "lemmas.json", "matches.npy"


@dataclass(frozen=True)
class DatasetBuilder:
    """Builds the parts of a dataset, or finds them in the cache.

    Attributes:
        recipe: Filters, and settings of text.
        pairs: All pairs of the training corpora with text on both sides; read several times.
        identity: What decides the split, see `split_identity`.
        cache: Where results are kept.
        in_memory: Whether the corpus is small: it is encoded in this process, into arrays in memory.
        update: Receives progress.
    """

    recipe: Recipe
    pairs: Iterable[Pair]
    identity: dict[str, Any]
    cache: BuildCache
    in_memory: bool
    update: Update

    def split(self) -> Split:
        """Split the pairs into those to train on and those held out.

        Raises:
            UserError: No pair is left to train on.
        """
        data, seed = self.recipe.data, self.recipe.training.seed

        def build(directory: Path) -> dict[str, Any]:
            return split_pairs(self.pairs, data, seed, self.update).save(directory)

        return Split.load(self.cache.get("split", self.identity, build), self.pairs, data)

    def tokenizers(self, split: Split) -> Tokenizers:
        """Train the tokenizers of source and target.

        Raises:
            UserError: The vocabulary is too small for what it must hold.
        """

        def build(directory: Path) -> dict[str, Any]:
            save_tokenizers(directory, *train_on_split(self.recipe, split, self.update))
            return {}

        identity = tokenizers_identity(self.identity, self.recipe)
        return load_tokenizers(self.cache.get("tokenizers", identity, build).path)

    def encode(self, split: Split, tokenizers: Tokenizers) -> PairStore:
        """Encode the pairs to train on; the ids of a large corpus are memory-mapped files of the cache.

        Raises:
            UserError: No pair is short enough, or a file of the corpora was changed meanwhile.
        """
        identity = pairs_identity(self.identity, tokenizers, self.recipe.data, self.recipe.text)
        shards = self.cache.path("shards", [identity, SHARD_PAIRS])

        def build(directory: Path) -> dict[str, Any]:
            paths = list(self._encode_shards(split, tokenizers, shards))
            self.update(1.0, "joining the shards …")
            number = join_shards(paths, directory)
            if not number:
                shutil.rmtree(shards)
                limit = self.recipe.data.max_tokens
                raise UserError(f"data.max_tokens = {limit}: no training pair is that short")
            return {"pairs": number}

        entry = self.cache.get("pairs", identity, build)
        shutil.rmtree(shards, ignore_errors=True)
        pairs = open_pairs(entry.path)
        return pairs.in_memory() if self.in_memory else pairs

    def dictionary(self, split: Split) -> list[tuple[str, str]]:
        """Learn single words and their translations from a sample of the training pairs."""

        def build(directory: Path) -> dict[str, Any]:
            write_json(directory / DICTIONARY, {"words": learn_dictionary(self._sample(split))})
            return {}

        entry = self.cache.get("dictionary", {"split": self.identity, "pairs": DICTIONARY_PAIRS}, build)
        return [(source, target) for source, target in read_json(entry.path / DICTIONARY)["words"]]

    def lexicon(self, split: Split) -> list[Entry]:
        """Learn lemmas and their translations from a sample of the training pairs."""
        data = self.recipe.data

        def build(directory: Path) -> dict[str, Any]:
            languages = data.source_language, data.target_language
            write_json(directory / LEXICON, {"lemmas": learn_lexicon(self._sample(split), languages)})
            return {}

        entry = self.cache.get("lexicon", lexicon_identity(self.identity, DICTIONARY_PAIRS), build)
        return [(source, target, score) for source, target, score in read_json(entry.path / LEXICON)["lemmas"]]

    def _sample(self, split: Split) -> Iterator[Pair]:
        size = min(split.at_most, DICTIONARY_PAIRS)
        meter = Meter(self.update, "reading text for the dictionary", size)
        return meter.track(sample_evenly(split.training, split.at_most, size))

    def matches(self, pairs: PairStore, tokenizers: Tokenizers) -> NDArray[np.int64]:
        """Find a similar training pair for each."""

        def build(directory: Path) -> dict[str, Any]:
            np.save(directory / MATCHES, find_matches(pairs, tokenizers[0], self.update))
            return {}

        identity = {"pairs": pairs_identity(self.identity, tokenizers, self.recipe.data, self.recipe.text)}
        found: NDArray[np.int64] = np.load(self.cache.get("matches", identity, build).path / MATCHES)
        return found

    def _encode_shards(self, split: Split, tokenizers: Tokenizers, directory: Path) -> Iterator[Path]:
        """Encode all shards that an interrupted process has not encoded; yields the file of each shard, in order."""
        directory.mkdir(parents=True, exist_ok=True)
        save = partial(save_shard, vocabulary_size=max(len(each.vocabulary) for each in tokenizers))
        blocks = run_blocks(
            PairEncoder(*tokenizers, self.recipe.data.max_tokens).encode,
            grouped(split.training, SHARD_PAIRS),
            store=BlockStore(directory, None, save, load_shard, ".npz", self.cache.log),
            processes=1 if self.in_memory else self.recipe.training.threads or usable_cores(),
            meter=Meter(self.update, "encoding", split.at_most),
            advice="; run the same command again to continue, with fewer processes (training.threads) if memory is "
            "short",
        )
        try:
            with closing(blocks):
                for block in blocks:
                    assert block.path
                    yield block.path
        except CorpusChangedError:
            shutil.rmtree(directory)  # its shards are of different contents
            raise
