"""From a recipe to its dataset, in steps, each of which keeps its result in a build cache.

Corpora of at most `IN_MEMORY_PAIRS` pairs are read into memory, once, and everything built from them goes into a
temporary directory. Larger ones are streamed from their files, and everything built from them goes into the cache of
dragoman, where the next run, or a resumed one, finds it. The name of an entry is a digest of its identity: everything
that determines its content, as plain data. These are the entries:

- ``split-…``: the held-out pairs;
- ``tokenizers-…``: the tokenizers, trained on the other pairs;
- ``pairs-…``: the ids of those pairs;
- ``dictionary-…``: single words and their translations, for `training.augmentation`;
- ``lexicon-…``: lemmas and their translations, likewise;
- ``matches-…``: a similar pair for each of those pairs, for the same;
- ``shards-…``: ids that are encoded but not joined yet; deleted once ``pairs-…`` is complete.
"""

from __future__ import annotations

import math
import shutil
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.references import describe_reference
from dragoman.dataset.encode import PairEncoder
from dragoman.dataset.pairs import CorpusChangedError, find_training_corpora, read_pairs
from dragoman.dataset.split import Split, split_pairs
from dragoman.dataset.token_store import PairStore, join_shards, load_shard, open_pairs, save_shard
from dragoman.dataset.tokenizer_training import (
    Tokenizers,
    balance,
    grow_on_split,
    known_languages,
    sample_evenly,
    train_on_split,
)
from dragoman.errors import UserError, counted
from dragoman.lexicon.dictionary import learn_dictionary
from dragoman.lexicon.fuzzy_matches import find_matches
from dragoman.lexicon.lemma_pairs import Entry, learn_lexicon
from dragoman.settings import Data, Recipe, Text
from dragoman.system.cache import cache_directory
from dragoman.system.cpu import usable_cores
from dragoman.system.files import read_json, temporary_directory, write_json
from dragoman.system.progress import Log, Meter, Update, no_log, no_update
from dragoman.system.resumable import BlockStore, BuildCache, digest, grouped, run_blocks
from dragoman.system.time_limit import evenly_spaced
from dragoman.text.id_store import IdStore
from dragoman.text.multilingual import in_direction, name_direction, without_language
from dragoman.text.registry import describe_vocabularies, load_tokenizers, save_tokenizers, tokenizers_digest
from dragoman.text.tokenizer import Tokenizer

FORMAT = 6
"""Increase this number if a change prepares the same text differently; older entries are then ignored."""


def split_identity(recipe: Recipe, fingerprint: list[Any]) -> dict[str, Any]:
    """What decides the split of the training corpora: their content, languages, filters and seed."""
    data = recipe.data
    held_out = [data.validation_pairs, data.validation_block, recipe.training.seed]
    candidates = [each.weight >= data.least_held_out_weight for each in data.weighted]
    if not all(candidates):
        held_out += candidates
    return {
        "format": FORMAT,
        "languages": [data.source_language, data.target_language],
        **({"directions": data.directions} if data.directions else {}),  # pairs have their numbers
        "corpora": fingerprint,
        "max_characters": data.max_characters,
        "held_out": None if data.validation else held_out,
    }


def tokenizers_identity(split: dict[str, Any], recipe: Recipe) -> dict[str, Any]:
    """What decides the tokenizers that are trained on a split."""
    text, augmentation = recipe.text, recipe.training.augmentation
    identity = {"split": split, "text": text.model_dump(), "library": tokenizer_library(text)}
    capitals = [augmentation.upper_case, augmentation.title_case]
    return identity | {"capitals": capitals} if any(capitals) else identity


def pairs_identity(split: dict[str, Any], tokenizers: Tokenizers, data: Data, text: Text) -> dict[str, Any]:
    """What decides the ids of the training pairs of a split."""
    return {
        "split": split,
        "tokenizers": [digest(tokenizer.to_json()) for tokenizer in tokenizers],
        "max_tokens": data.max_tokens,
        "library": tokenizer_library(text),
    }


def lexicon_identity(split: dict[str, Any], pairs: int) -> dict[str, Any]:
    """What decides the lexicon that is learned from a number of pairs of a split."""
    return {"split": split, "pairs": pairs, "library": f"simplemma {metadata.version('simplemma')}"}


def tokenizer_library(text: Text) -> str:
    """The library that splits text into tokens, with its version; for whitespace, the version of Unicode."""
    name = {"spacy": "spacy", "whitespace": None}.get(text.tokenizer, "tokenizers")
    try:
        return f"{name} {metadata.version(name)}" if name else f"Unicode {unicodedata.unidata_version}"
    except metadata.PackageNotFoundError:  # the tokenizer itself reports this, with how to install it
        return f"no {name}"


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
    given: Sequence[Pair] = ()  # validation and test pairs that no pair may share a text with

    def split(self) -> Split:
        """Split the pairs into those to train on and those held out.

        Raises:
            UserError: No pair is left to train on.
        """
        data, seed = self.recipe.data, self.recipe.training.seed

        def build(directory: Path) -> dict[str, Any]:
            return split_pairs(self.pairs, data, seed, self.update, self.given).save(directory)

        return Split.load(self.cache.get("split", self.identity, build), self.pairs, data, self.given)

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

    def grown(self, split: Split, tokenizers: Tokenizers) -> Tokenizers:
        """The tokenizers of a bundle, to which the languages are added that they lack.

        Raises:
            UserError: The vocabulary cannot grow.
        """

        def build(directory: Path) -> dict[str, Any]:
            save_tokenizers(directory, *grow_on_split(self.recipe, split, tokenizers, self.update))
            return {}

        identity = tokenizers_identity(self.identity, self.recipe) | {"grown": tokenizers_digest(*tokenizers)}
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

    def dictionary(self, split: Split, direction: Languages | None = None) -> list[tuple[str, str]]:
        """Learn single words and their translations from a sample of the training pairs, those in a direction."""

        def build(directory: Path) -> dict[str, Any]:
            write_json(directory / DICTIONARY, {"words": learn_dictionary(self._sample(split, direction))})
            return {}

        identity = {"split": self.identity, "pairs": DICTIONARY_PAIRS} | _of_direction(direction)
        entry = self.cache.get("dictionary", identity, build)
        return [(source, target) for source, target in read_json(entry.path / DICTIONARY)["words"]]

    def lexicon(self, split: Split, direction: Languages | None = None) -> list[Entry]:
        """Learn lemmas and their translations from a sample of the training pairs, those in a direction."""
        languages = direction or self.recipe.data.languages

        def build(directory: Path) -> dict[str, Any]:
            write_json(directory / LEXICON, {"lemmas": learn_lexicon(self._sample(split, direction), languages)})
            return {}

        identity = lexicon_identity(self.identity, DICTIONARY_PAIRS) | _of_direction(direction)
        entry = self.cache.get("lexicon", identity, build)
        return [(source, target, score) for source, target, score in read_json(entry.path / LEXICON)["lemmas"]]

    def _sample(self, split: Split, direction: Languages | None) -> Iterator[Pair]:
        size = min(split.at_most, DICTIONARY_PAIRS)
        meter = Meter(self.update, "reading text for the dictionary", size)
        if direction is None:
            return meter.track(sample_evenly(split.training, split.at_most, size))
        number = sum(pair.direction == direction for pair in split.training)
        pairs = (pair for pair in split.training if pair.direction == direction)
        return meter.track(sample_evenly(pairs, number, min(number, DICTIONARY_PAIRS)))

    def matches(self, pairs: PairStore, tokenizers: Tokenizers) -> NDArray[np.int64]:
        """Find a similar training pair for each."""

        def build(directory: Path) -> dict[str, Any]:
            found = np.full(len(pairs), -1, np.int64)
            for number, direction in enumerate(self.recipe.data.directions or [None]):
                tokenizer, places = in_direction(tokenizers[0], direction, "source"), pairs.of_direction(number)
                if len(places):
                    matches = find_matches(pairs if direction is None else pairs.take(places), tokenizer, self.update)
                    found[places] = np.where(matches < 0, -1, places[matches])
            np.save(directory / MATCHES, found)
            return {}

        identity = {"pairs": pairs_identity(self.identity, tokenizers, self.recipe.data, self.recipe.text)}
        found: NDArray[np.int64] = np.load(self.cache.get("matches", identity, build).path / MATCHES)
        return found

    def _encode_shards(self, split: Split, tokenizers: Tokenizers, directory: Path) -> Iterator[Path]:
        """Encode all shards that an interrupted process has not encoded; yields the file of each shard, in order."""
        directory.mkdir(parents=True, exist_ok=True)
        save = partial(save_shard, vocabulary_size=max(len(each.vocabulary) for each in tokenizers))
        blocks = run_blocks(
            PairEncoder(*tokenizers, self.recipe.data.max_tokens, self.recipe.data.directions).encode,
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


def _of_direction(direction: Languages | None) -> dict[str, Any]:
    """What the identity of something that is learned for one of several directions has in addition."""
    return {"direction": direction} if direction else {}


IN_MEMORY_PAIRS = 100_000
"""Training corpora with more pairs are streamed from disk."""


@dataclass(frozen=True)
class Dataset:
    """All that training reads: pairs to train on, as ids, and pairs to validate on, as text.

    The tokenizers of a model with several directions are those of the first one; see `in_direction`.
    """

    source: Tokenizer
    target: Tokenizer
    train: PairStore
    validation: list[Pair]
    dropped: int  # training pairs that are too long, have no token, or have the same text as a held-out pair
    dictionary: Sequence[tuple[str, str]] = ()  # words and their translations, for training.augmentation
    lexicon: Sequence[Entry] = ()  # lemmas and their translations, likewise
    matches: NDArray[np.int64] | None = None  # index of a similar training pair for each, or -1, for the same
    directions: Sequence[Languages] = ()  # of a model with several
    words: Sequence[tuple[Sequence[tuple[str, str]], Sequence[Entry]]] = ()  # dictionary and lexicon of each of them

    @property
    def distinct_pairs(self) -> int:
        """The number of training pairs; those that are read in both directions count once."""
        counts = [len(self.train.of_direction(number)) for number in range(len(self.directions))]
        largest = dict[frozenset[str], int]()
        for languages, count in zip(map(frozenset, self.directions), counts, strict=True):
            largest[languages] = max(count, largest.get(languages, 0))
        return sum(largest.values()) if self.directions else len(self.train)

    def in_direction(self, languages: Languages) -> Dataset:
        """The part of the dataset in one of several directions, with at most `DIRECTION_PAIRS` training pairs."""
        number = list(self.directions).index(languages)
        places = self.train.of_direction(number)
        places = places[np.linspace(0, len(places) - 1, min(len(places), DIRECTION_PAIRS)).astype(np.int64)]
        dictionary, lexicon = self.words[number]
        return Dataset(
            in_direction(self.source, languages, "source"),
            in_direction(self.target, languages, "target"),
            self.train.take(places),
            [pair for pair in self.validation if pair.direction == languages],
            0,
            dictionary,
            lexicon,
        )


DIRECTION_PAIRS = 200_000
SAMPLED_PAIRS = 10_000


def sample_text(data: Dataset) -> list[Pair]:
    """The text of at most `SAMPLED_PAIRS` training pairs, evenly spaced."""
    pairs = range(0, len(data.train), max(1, math.ceil(len(data.train) / SAMPLED_PAIRS)))

    def texts(ids: IdStore, tokenizer: Tokenizer) -> list[str]:
        unk = tokenizer.vocabulary.unk
        return [tokenizer.decode([each for each in ids[index].tolist() if each != unk]) for index in pairs]

    return list(map(Pair, texts(data.train.source, data.source), texts(data.train.target, data.target)))


def sample_languages(data: Dataset) -> dict[str, list[str]]:
    """A sample of the training text of each language, by its code, of a model with several directions."""
    texts: dict[str, list[str]] = defaultdict(list)
    for direction in data.directions:
        for pair in sample_text(data.in_direction(direction)):
            for language, text in zip(direction, (pair.source, pair.target), strict=True):
                texts[language].append(text)
    return {language: evenly_spaced(found, SAMPLED_PAIRS) for language, found in texts.items()}


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
    given = given_pairs(recipe.data, data_directory)
    with _open_builder(recipe, data_directory, log, update, given) as builder:
        split = builder.split()
        held_out = f", {len(split.held_out):,} of which are held out for validation" if split.held_out else ""
        log(f"{counted(split.read, 'training pair')}{held_out}")
        if tokenizers and not set(recipe.data.all_languages if recipe.data.directions else ()) <= set(
            known_languages(tokenizers[0])
        ):
            tokenizers = builder.grown(split, tokenizers)
        source, target = tokenizers or builder.tokenizers(split)
        log(describe_vocabularies(source, target, recipe.text.joint))
        train = builder.encode(split, (source, target))
        require_all_directions(train, recipe.data)
        augmentation, directions = recipe.training.augmentation, recipe.data.directions or [None]
        words = [
            (
                builder.dictionary(split, each) if augmentation.single_words else [],
                builder.lexicon(split, each) if augmentation.terms else [],
            )
            for each in directions
        ]
        if augmentation.single_words:
            number = sum(len(dictionary) for dictionary, _ in words)
            log(f"learned a dictionary of {counted(number, 'word')} for training.augmentation.single_words")
        if augmentation.terms:
            number = sum(len(lexicon) for _, lexicon in words)
            log(f"learned {counted(number, 'pair')} of lemmas for training.augmentation.terms")
        matches = builder.matches(train, (source, target)) if recipe.training.augmentation.fuzzy_matches else None
        if matches is not None:
            log(f"{np.count_nonzero(matches >= 0):,} training pairs with a similar one")
    dropped = split.read - len(train) - len(split.held_out)
    if dropped:
        log(
            f"{counted(dropped, 'pair')} left out: longer than data.max_tokens = {recipe.data.max_tokens} or than "
            "data.max_characters, without a token, or with the text of a held-out pair"
        )
    validation = validation or split.held_out
    if recipe.data.directions:
        train = balanced(train, recipe.data)
        log_shares(train, recipe.data, log)
        validated = {pair.direction for pair in validation}
        if lacking := [name_direction(each) for each in recipe.data.directions if each not in validated]:
            log(
                f"no validation text in {', '.join(lacking)}: there are no scores of these, and they do not count in "
                "the choice of the best checkpoint; name such text in data.validation"
            )
        dataset = Dataset(
            source, target, train, validation, dropped, matches=matches, directions=recipe.data.directions, words=words
        )
        log(f"tokens per word: {describe_tokens_per_word(tokens_per_word(source, sample_languages(dataset)))}")
        return dataset
    (dictionary, lexicon) = words[0]
    return Dataset(source, target, train, validation, dropped, dictionary, lexicon, matches)


def require_all_directions(pairs: PairStore, data: Data) -> None:
    """Check that there are pairs in each direction of a model with several.

    Raises:
        UserError: There is none in some.
    """
    if pairs.directions is None:
        return
    numbers = np.bincount(pairs.directions, minlength=len(data.directions)).tolist()
    names = {name_direction(each): number for each, number in zip(data.directions, numbers, strict=True)}
    if lacking := [name for name, number in names.items() if not number]:
        others = [name for name in names if name not in lacking]
        raise UserError(
            f"data.directions: no pair to train on is in {', '.join(lacking)}; all text there is too long, has the "
            "text of held-out pairs, or is tagged, and then only translated from, or there is none and other text "
            f"shares too few lines; add text, or set data.directions = {others}"
        )


def balanced(pairs: PairStore, data: Data) -> PairStore:
    """The pairs with weights by which the pairs of languages have the shares of `data.temperature`; epochs as long."""
    assert pairs.directions is not None
    weights = np.ones(len(pairs), np.float32) if pairs.weights is None else pairs.weights
    text = np.bincount(pairs.directions, weights, len(data.directions))  # (directions,)
    counts: dict[frozenset[str], float] = defaultdict(float)
    for direction, count in zip(data.directions, text.tolist(), strict=True):
        counts[frozenset(direction)] += count
    wanted = balance(counts, data.temperature, sum(counts.values()))
    factors = [wanted[key] / max(1e-9, counts[key]) for key in map(frozenset, data.directions)]
    if all(abs(factor - 1) < 1e-6 for factor in factors):
        return pairs
    return replace(pairs, weights=weights * np.array(factors, np.float32)[pairs.directions])


def tokens_per_word(tokenizer: Tokenizer, texts: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """The mean number of tokens of a word of each language: near 1 if most words are whole, 4 for single characters."""
    splits, found = without_language(tokenizer), {}
    for language, sample in texts.items():
        words = sum(len(text.split()) for text in sample)
        found[language] = sum(map(len, splits.encode(list(sample)))) / max(1, words)
    return found


def describe_tokens_per_word(numbers: Mapping[str, float]) -> str:
    """What `tokens_per_word` returns, in words."""
    return ", ".join(f"{code} {number:.2f}" for code, number in numbers.items())


def log_shares(pairs: PairStore, data: Data, log: Log) -> None:
    """Log how many pairs each direction has, and its share of an epoch."""
    assert pairs.directions is not None
    number = np.bincount(pairs.directions, minlength=len(data.directions))
    seen = np.bincount(pairs.directions, pairs.weights, len(data.directions))
    for direction, count, weight in zip(data.directions, number.tolist(), seen.tolist(), strict=True):
        log(
            f"{name_direction(direction)}: {counted(count, 'pair')}, {weight / max(1.0, seen.sum()):.1%} of an epoch, "
            f"which has each pair {weight / max(1, count):.2f} times"
        )


def train_recipe_tokenizers(recipe: Recipe, data_directory: Path | None) -> Tokenizers:
    """The tokenizers that a run of this recipe would have.

    Raises:
        UserError: As for `prepare`.
    """
    with _open_builder(recipe, data_directory, no_log, no_update, given_pairs(recipe.data, data_directory)) as builder:
        return builder.tokenizers(builder.split())


def given_pairs(data: Data, data_directory: Path | None) -> list[Pair]:
    """The validation and test pairs of a model with several directions, whose texts no training pair may have.

    A text of one pair of languages is often that of another, too. In a model with one direction, `data.clean` leaves
    out such pairs.

    Raises:
        UserError: A corpus is missing or broken, or in a direction that is not trained.
    """
    if not data.directions:
        return []
    for name, corpora in (("validation", data.validation), ("test", data.test)):
        if unused := [each for each in corpora if not data.directions_of(each)]:
            direction = name_direction(data.languages_of(unused[0]))
            raise UserError(
                f"data.{name}: {describe_reference(unused[0])} is in {direction}, which is not trained; the directions "
                f"are {', '.join(map(name_direction, data.directions))}"
            )
    return read_pairs([*data.validation, *data.test], data, data_directory)


@contextmanager
def _open_builder(
    recipe: Recipe, data_directory: Path | None, log: Log, update: Update, given: Sequence[Pair] = ()
) -> Iterator[DatasetBuilder]:
    corpora = find_training_corpora(recipe.data, data_directory)
    identity = split_identity(recipe, corpora.fingerprint)
    if given:
        identity["given"] = digest(given)
    cache = BuildCache(cache_directory() / "prepared", log)
    pairs = None if cache.path("split", identity).is_dir() else corpora.load(IN_MEMORY_PAIRS)
    if pairs is not None:
        with temporary_directory() as directory:
            yield DatasetBuilder(recipe, pairs, identity, BuildCache(directory, log), True, no_update, given)
        return
    corpora.check_files()
    log(f"large corpus: prepared text is cached in {cache.root}")
    with cache.lock(identity):
        try:
            yield DatasetBuilder(recipe, corpora, identity, cache, False, update, given)
        except KeyboardInterrupt:
            log("interrupted while preparing text; run the same command again to continue where it stopped")
            raise
