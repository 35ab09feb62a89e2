"""Sentence pairs to token ids: their spans are masked, and some pairs without any become examples of copying."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
import regex

from dragoman.corpus.pair import Languages, Pair
from dragoman.dataset.token_store import PairStore
from dragoman.text.id_store import IdStore
from dragoman.text.masking import ALL_RESERVED, Masking, checksum, replace_reserved
from dragoman.text.multilingual import in_direction
from dragoman.text.tokenizer import Tokenizer

COPY_EXAMPLES = 5
"""One of this many pairs without a span becomes an example of copying, whether or not other pairs have spans.

With one of 20, the first search loses a span in 11 to 30% more of the sentences, both for captions (no spans) and for
software (many). Text without spans may lose a little in short runs, and lost nothing in 7 epochs
(benchmarks/history/measurements.md, "The share of copy examples").
"""

ONLY_SPANS = 0.05
"""The share of these examples that consist of reserved characters only."""

MAX_INSERTED = 3

_WORDS = regex.compile(r"^(.*?)([\p{P}\s]*)$", regex.DOTALL)
_FORMS = {"{}": 12, "({})": 2, '"{}"': 1, "{},": 1}
"""How a reserved character is inserted, and how often."""


def mask_pairs(masking: Masking, sources: Sequence[str], targets: Sequence[str]) -> tuple[list[str], list[str]]:
    """Mask the spans of training pairs, and make some pairs without a span examples of copying.

    Without these examples, reserved tokens that are rare or absent in the training text would never be learned.
    """
    sides: tuple[list[str], list[str]] = ([], [])
    for source, target in zip(sources, targets, strict=True):
        masked_source, masked_target = masking.mask_pair(source, target)
        if masked_source == replace_reserved(source) and _is_chosen(source, target):
            masked_source, masked_target = insert_copies(masked_source, masked_target)
        sides[0].append(masked_source)
        sides[1].append(masked_target)
    return sides


def insert_copies(source: str, target: str) -> tuple[str, str]:
    """Insert the same reserved characters, in the same order, at about the same places of both sentences.

    The result depends only on the pair. A place is a fraction of the words of each side, so it is not always where a
    translator would put the character, but the model learns to copy it exactly once.
    """
    generator = random.Random(checksum(source, target))
    characters = generator.sample(ALL_RESERVED, generator.randint(1, MAX_INSERTED))
    if generator.random() < ONLY_SPANS:
        text = " ".join(characters)
        return text, text
    places = sorted(generator.choice((0.0, 1.0, generator.random())) for _ in characters)
    forms = generator.choices(list(_FORMS), list(_FORMS.values()), k=len(characters))
    inserted = [form.format(each) for each, form in zip(characters, forms, strict=True)]
    return _insert(source, inserted, places), _insert(target, inserted, places)


def _insert(text: str, inserted: Sequence[str], places: Sequence[float]) -> str:
    """Insert strings between the words of a text; its final punctuation stays at the end."""
    match = _WORDS.match(text)
    assert match, "the pattern matches any text"
    words = match[1].split(" ")
    indices = [round(place * len(words)) for place in places]
    for each, index in reversed(list(zip(inserted, indices, strict=True))):
        words.insert(index, each)
    return " ".join(filter(None, words)) + match[2]


def _is_chosen(source: str, target: str) -> bool:
    return checksum(target, source) % COPY_EXAMPLES == 0


@dataclass(frozen=True)
class PairEncoder:
    """Encodes pairs, and drops those with no token or more than `max_tokens` on either side.

    Attributes:
        source: Tokenizer of the sources.
        target: Tokenizer of the targets.
        max_tokens: See above.
        directions: Those of a model with several; pairs name theirs.
    """

    source: Tokenizer
    target: Tokenizer
    max_tokens: int
    directions: Sequence[Languages] = ()

    def encode(self, pairs: Sequence[Pair]) -> PairStore:
        """Ids of the pairs that are kept, in order; their spans are masked if the tokenizers have reserved tokens.

        The mark of a source is the token bos, with which no other source starts.
        """
        encoded: list[tuple[list[int], list[int]]] = [([], [])] * len(pairs)
        for direction in dict.fromkeys(pair.direction for pair in pairs):
            places = [place for place, pair in enumerate(pairs) if pair.direction == direction]
            of_direction = self._encode([pairs[place] for place in places], direction)
            for place, ids in zip(places, of_direction, strict=True):
                encoded[place] = ids
        for source_ids in filter(None, compress((ids for ids, _ in encoded), (pair.tagged for pair in pairs))):
            source_ids.insert(0, self.source.vocabulary.bos)
        kept = [index for index, pair in enumerate(encoded) if all(0 < len(side) <= self.max_tokens for side in pair)]
        source, target = (IdStore.of(encoded[index][side] for index in kept) for side in (0, 1))
        weights = np.array([pair.weight for pair in pairs], np.float32)
        directions = None
        if self.directions:
            numbers = {direction: number for number, direction in enumerate(self.directions)}
            directions = np.array([numbers[each] for index in kept if (each := pairs[index].direction)], np.uint16)
        weighted = None if (weights == 1.0).all() else weights[kept]
        return PairStore(source, target, weights=weighted, directions=directions)

    def _encode(self, pairs: Sequence[Pair], direction: Languages | None) -> list[tuple[list[int], list[int]]]:
        """The ids of both sides of pairs in one direction."""
        source, target = in_direction(self.source, direction, "source"), in_direction(self.target, direction, "target")
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        if masking := source.masking:
            sources, targets = mask_pairs(masking, sources, targets)
        return list(zip(source.encode_masked(sources), target.encode_masked(targets), strict=True))
