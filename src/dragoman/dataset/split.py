"""Which training pairs are trained on, and which are held out: nothing may be learned from the text of these."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.corpus.pair import Languages, Pair
from dragoman.errors import UserError, counted
from dragoman.settings import Data
from dragoman.system.files import read_json, write_json
from dragoman.system.progress import Meter, Update
from dragoman.system.resumable import Entry
from dragoman.text.normalization import basic_form, collapse_spaces, simplify


@dataclass(frozen=True)
class HeldOutText:
    """The pairs to validate and test on; no pair to learn from may have the same text on a side.

    In a model with several directions, a text counts in its language, in whichever direction and corpus it occurs.

    Attributes:
        pairs: The pairs.
        ignore_punctuation: Whether text that differs only in case and punctuation is the same. Differences in spaces,
            invisible characters and the forms of letters never count: most tokenizers do not distinguish them either.
    """

    pairs: Sequence[Pair]
    ignore_punctuation: bool = False

    def __contains__(self, pair: Pair) -> bool:
        """Whether a pair has a side in common with a held-out pair."""
        texts = zip(_languages(pair), (pair.source, pair.target), strict=True)
        return any(self._key(text) in self._texts[language] for language, text in texts)

    def _key(self, text: str) -> str:
        basic = basic_form(text)
        return simplify(basic) if self.ignore_punctuation else collapse_spaces(basic)

    @cached_property
    def _texts(self) -> dict[str, set[str]]:
        """The texts of each side, or of each language of a model with several directions."""
        texts: dict[str, set[str]] = defaultdict(set)
        for pair in self.pairs:
            for language, text in zip(_languages(pair), (pair.source, pair.target), strict=True):
                texts[language].add(self._key(text))
        for keys in texts.values():
            keys.discard("")
        return texts


def _languages(pair: Pair) -> Languages:
    """What distinguishes the texts of both sides."""
    return pair.direction or ("source", "target")


HELD_OUT, MAX_HELD_OUT_BYTES = "held-out.json", 10**10


@dataclass(frozen=True)
class TrainingPairs:
    """The pairs to train on: short enough, and sharing no side with a held-out pair. They can be read repeatedly."""

    pairs: Iterable[Pair]  # all pairs; read again by each iteration
    data: Data
    held_out: Sequence[Pair] = ()

    def __iter__(self) -> Iterator[Pair]:
        held_out = HeldOutText(self.held_out, self.data.held_out_ignores_punctuation)
        return (pair for pair in self.pairs if is_short(pair, self.data.max_characters) and pair not in held_out)


@dataclass(frozen=True)
class Split:
    """A training corpus, split into pairs to train on and pairs held out."""

    read: int  # all pairs, with text on both sides
    short: int  # those within data.max_characters
    held_out: list[Pair]
    training: TrainingPairs

    @property
    def at_most(self) -> int:
        """Upper bound of the number of training pairs: some may share a side with a held-out pair."""
        return self.short - len(self.held_out)

    def save(self, directory: Path) -> dict[str, Any]:
        """Write the held-out pairs to a directory of the build cache, and return the numbers to keep with them."""
        pairs = [[each.source, each.target, *([each.direction] if each.direction else [])] for each in self.held_out]
        write_json(directory / HELD_OUT, {"pairs": pairs})
        return {"read": self.read, "short": self.short}

    @classmethod
    def load(cls, entry: Entry, pairs: Iterable[Pair], data: Data, given: Sequence[Pair] = ()) -> Split:
        """Apply the split that `save` wrote to the same pairs; `given` are more pairs that must not be learned from."""
        stored = read_json(entry.path / HELD_OUT, limit=MAX_HELD_OUT_BYTES)["pairs"]
        held_out = [
            Pair(source, target, direction=(each[0][0], each[0][1]) if each else None)
            for source, target, *each in stored
        ]
        training = TrainingPairs(pairs, data, [*held_out, *given])
        return cls(entry.facts["read"], entry.facts["short"], held_out, training)


def split_pairs(pairs: Iterable[Pair], data: Data, seed: int, update: Update, given: Sequence[Pair] = ()) -> Split:
    """Count pairs and, unless the recipe has validation corpora, choose those to hold out.

    In a model with several directions, as many pairs of each two languages are held out, in all trained directions.

    Args:
        pairs: All pairs with text on both sides; read twice.
        data: Which pairs are short enough, and how many to hold out.
        seed: Decides which pairs are held out.
        update: Receives progress.
        given: More pairs that must not be learned from.

    Raises:
        UserError: No pair is left to train on.
    """
    read = short = 0
    weight, first = data.least_held_out_weight, first_directions(data)
    candidates: Counter[Languages | None] = Counter()
    for pair in Meter(update, "reading").track(pairs):
        read += 1
        if is_short(pair, data.max_characters):
            short += 1
            candidates[pair.direction] += _is_candidate(pair, weight, first)
    held_out: list[Pair] = []
    if not data.validation:
        kinds = max(1, sum(map(bool, candidates.values())))
        chosen = {
            direction: set(choose_held_out(number, data, seed, max(1, data.validation_pairs // kinds)))
            for direction, number in candidates.items()
        }
        numbers: Counter[Languages | None] = Counter()
        for pair in Meter(update, "choosing validation pairs", short).track(TrainingPairs(pairs, data)):
            if _is_candidate(pair, weight, first):
                if numbers[pair.direction] in chosen[pair.direction]:
                    held_out += [pair, *([pair.reversed] if pair.reversed.direction in data.directions else [])]
                numbers[pair.direction] += 1
    training = TrainingPairs(pairs, data, [*held_out, *given])
    if short and not candidates.total() and not data.validation:
        raise UserError("data.validation: name some text, because all that could be held out is tagged or too long")
    if next(iter(training), None) is None:
        raise UserError(f"data.train: {counted(read, 'pair')}, too few to train and validate on")
    return Split(read, short, held_out, training)


def first_directions(data: Data) -> set[Languages | None]:
    """The directions, of two opposite ones only the first: so each pair of the text counts once."""
    directions = data.directions
    return {each for number, each in enumerate(directions) if each[::-1] not in directions[:number]} or {None}


def is_counted(pair: Pair, first: Container[Languages | None]) -> bool:
    """Whether the pair is read in no other direction, or first in this one; `first` is that of `first_directions`."""
    return pair.tagged or pair.one_way or pair.direction in first


def _is_candidate(pair: Pair, least_weight: float, directions: Container[Languages | None]) -> bool:
    """Whether the pair may be held out: validation is about text of people that is not only mixed in."""
    return not pair.tagged and pair.weight >= least_weight and pair.direction in directions


def is_short(pair: Pair, limit: int | None) -> bool:
    """Whether both sides have fewer characters than `limit`, which is `data.max_characters`."""
    return limit is None or (len(pair.source) < limit and len(pair.target) < limit)


def choose_held_out(number: int, data: Data, seed: int, most: int | None = None) -> list[int]:
    """Indices of the pairs to hold out, in ascending order.

    Args:
        number: The number of pairs; at most a tenth of them are held out.
        data: How many to hold out, and how many neighboring pairs together; the blocks are random.
        seed: Decides which blocks.
        most: How many to hold out, if not `data.validation_pairs`.
    """
    count, block = min(most or data.validation_pairs, max(1, number // 10)), data.validation_block
    starts = block * np.random.Generator(np.random.PCG64(seed)).permutation(-(-number // block))
    chosen = (starts[: 1 + -(-count // block), None] + np.arange(block)).flatten()
    return sorted(chosen[chosen < number][:count].tolist())
