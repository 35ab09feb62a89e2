"""How often the words of a text occur in the training text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.text.id_store import IdStore
from dragoman.text.tokenizer import Tokenizer

CHUNK = 100_000  # sentences whose words are counted at once


def rarest_word_counts(train: IdStore, tokenizer: Tokenizer, texts: Sequence[str]) -> NDArray[np.int64]:
    """The number of occurrences in training of the rarest word of each text, (texts,); 0 for an unseen word.

    Words are the tokenizer's tokens merged. They are counted by 64-bit hashes, so that only the hashes of one chunk
    of the training text are in memory.

    Args:
        train: The source side of the training data.
        tokenizer: The tokenizer of that side.
        texts: The texts whose words are looked up; an empty text has the count 0.
    """
    hasher = _WordHasher(tokenizer)
    hashes, first_words = hasher.hash_words(IdStore.of(tokenizer.encode_spans_masked(texts)))
    if not len(hashes):
        return np.zeros(len(texts), dtype=np.int64)
    known = np.unique(hashes)
    counts = _count(hasher, known, train)[np.searchsorted(known, hashes)]  # (words,)
    return np.array([part.min() if len(part) else 0 for part in np.split(counts, first_words[1:])])


def _count(hasher: _WordHasher, known: NDArray[np.uint64], train: IdStore) -> NDArray[np.int64]:
    """The number of occurrences of each known hash, (known,)."""
    counts = np.zeros(len(known) + 1, dtype=np.int64)  # the last entry counts all other words
    for chunk in _chunks(train):
        hashes, _ = hasher.hash_words(chunk)
        places = np.searchsorted(known, hashes).clip(max=len(known) - 1)
        counts += np.bincount(np.where(known[places] == hashes, places, len(known)), minlength=len(counts))
    return counts[:-1]


def _chunks(store: IdStore) -> Iterator[IdStore]:
    for begin in range(0, len(store), CHUNK):
        offsets = store.offsets[begin : begin + CHUNK + 1]
        yield IdStore(store.ids[offsets[0] : offsets[-1]], offsets - offsets[0])


class _WordHasher:
    """Hashes words: the sum of a random number per token, times an odd number for its place in the word."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokens = tokenizer.vocabulary.tokens
        self.starts_word = np.array([tokenizer.starts_word(token) for token in tokens])
        self.numbers = np.random.default_rng(1).integers(1, 2**63, len(tokens), dtype=np.uint64)

    def hash_words(self, store: IdStore) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """A hash of each word, in order, and the index of the first word of each sentence."""
        begins = self.starts_word[store.ids]
        begins[store.offsets[:-1][store.lengths > 0]] = True
        word_begins = np.flatnonzero(begins)
        first_words = np.searchsorted(word_begins, store.offsets[:-1])
        if not len(word_begins):
            return np.empty(0, np.uint64), first_words
        places = np.arange(len(begins)) - word_begins[np.cumsum(begins) - 1]  # of each token in its word
        values = self.numbers[store.ids] * (2 * places + 1).astype(np.uint64)  # wraps around
        return np.add.reduceat(values, word_begins), first_words
