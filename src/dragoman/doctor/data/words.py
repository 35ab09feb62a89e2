"""The words of many texts as small hashes, found with array operations instead of text by text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import regex
from numpy.typing import NDArray

from dragoman.languages.function_words import function_words
from dragoman.languages.scripts import WITHOUT_SPACES

HASH_BITS = 20
HASHES = 1 << HASH_BITS
STEM_CHARACTERS = 6  # the rest of a word is ignored, so that most inflected forms are equal
SLICE = 1024  # texts; the arrays of so many fit into the caches of a processor
DENSE_CHARACTERS = 2  # in scripts without spaces, a word is any two characters

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_INVERSE_FACTOR = np.uint64(pow(int(_FACTOR), -1, 1 << 64))
_TYPOGRAPHIC = np.array([ord(character) for character in "–—…"], np.uint32)


@dataclass(frozen=True)
class Words:
    """The words of texts; case, punctuation and endings are ignored.

    Attributes:
        hashes: The hash of each word, (words,).
        bounds: The index of the first word of each text, and the number of words, (texts + 1,).
        letters: A hash of each text that covers only its letters, digits, dashes and ellipses, (texts,).
    """

    hashes: NDArray[np.int64]
    bounds: NDArray[np.int64]
    letters: NDArray[np.uint64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of words in each text, (texts,)."""
        return np.diff(self.bounds)

    @property
    def text_indices(self) -> NDArray[np.int64]:
        """The text of each word, (words,)."""
        return np.repeat(np.arange(len(self.bounds) - 1), self.counts)

    @property
    def last(self) -> NDArray[np.int32]:
        """The last word of each text, -1 if it has none, (texts,)."""
        last = np.full(len(self.counts), -1, np.int32)
        last[self.counts > 0] = self.hashes[self.bounds[1:][self.counts > 0] - 1]
        return last

    def sum_by_text(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of one value per word, (texts,)."""
        sums = np.concatenate(([0.0], np.cumsum(values)))
        total: NDArray[np.float64] = sums[self.bounds[1:]] - sums[self.bounds[:-1]]
        return total

    def select(self, texts: NDArray[np.int64]) -> Words:
        """The words of some texts, in this order."""
        counts = self.counts[texts]
        bounds = np.concatenate(([0], np.cumsum(counts)))
        indices = np.arange(bounds[-1]) + np.repeat(self.bounds[texts] - bounds[:-1], counts)
        return Words(self.hashes[indices], bounds, self.letters[texts])

    def filter(self, kept: NDArray[np.bool_]) -> Words:
        """Only some words of each text, (words,)."""
        kept_before = np.concatenate(([0], np.cumsum(kept)))
        return Words(self.hashes[kept], kept_before[self.bounds], self.letters)


def find_words(texts: Sequence[str]) -> Words:
    """The words of texts."""
    if len(texts) <= SLICE:
        return _find_words(texts)
    return concatenate_words([_find_words(texts[start : start + SLICE]) for start in range(0, len(texts), SLICE)])


def _find_words(texts: Sequence[str]) -> Words:
    characters = _code_points(texts)
    values, dense = _word_characters()[characters], _dense_characters()[characters]
    in_word = values > 0
    starts = in_word.copy()
    starts[1:] &= ~in_word[:-1] | dense[1:] | dense[:-1]
    first = starts.nonzero()[0]
    text_ends = np.append((characters == ord("\n")).nonzero()[0], len(characters))
    bounds = np.concatenate(([0], np.searchsorted(first, text_ends)))[: len(texts) + 1]
    hashes = _hash_words(values, starts, dense, first)
    # A hyphen within a word counts, and so do dashes and ellipses: in such details, a title that is the same in both
    # languages differs from a copy.
    inner = (characters[1:-1] == ord("-")) & in_word[:-2] & in_word[2:]
    values[1:-1][inner] = ord("-")
    typographic = np.isin(characters, _TYPOGRAPHIC)
    values[typographic] = characters[typographic]
    return Words(hashes, bounds, _hash_letters(values, text_ends)[: len(texts)])


def concatenate_words(parts: Sequence[Words]) -> Words:
    """The words of consecutive lists of texts as one."""
    parts = [find_words([]), *parts]
    counts = np.concatenate([part.counts for part in parts])
    bounds = np.concatenate(([0], np.cumsum(counts)))
    return Words(
        np.concatenate([part.hashes for part in parts]), bounds, np.concatenate([part.letters for part in parts])
    )


def hash_word(word: str) -> int:
    """The hash of one word."""
    return int(find_words([word]).hashes[0])


@cache
def function_word_hashes(language: str) -> NDArray[np.int64]:
    """The hashes of the function words of a language in ascending order; none if they are not known."""
    return np.unique(np.array([hash_word(word) for word in function_words(language)], np.int64))


def _code_points(texts: Sequence[str]) -> NDArray[np.uint32]:
    joined = "\n".join(texts)
    if joined.count("\n") >= max(1, len(texts)):
        joined = "\n".join(text.replace("\n", " ") for text in texts)
    return np.frombuffer(joined.casefold().encode("utf-32-le", errors="replace"), dtype=np.uint32)


def _hash_words(
    values: NDArray[np.uint64], starts: NDArray[np.bool_], dense: NDArray[np.bool_], first: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Hashes of the first characters of the words that start at `first`."""
    values = np.append(values, np.zeros(STEM_CHARACTERS, np.uint64))
    starts = np.append(starts, np.zeros(STEM_CHARACTERS, np.bool_))
    is_dense = dense[first]
    hashes = values[first] * _FACTOR
    alive = np.ones(len(first), np.bool_)
    for offset in range(1, STEM_CHARACTERS):
        positions = first + offset
        # A dense character starts a word and is also the second character of the word before.
        alive &= (values[positions] > 0) & (~starts[positions] | (is_dense & (offset < DENSE_CHARACTERS)))
        hashes = np.where(alive, (hashes ^ (hashes >> np.uint64(29)) ^ values[positions]) * _FACTOR, hashes)
    return (hashes >> np.uint64(64 - HASH_BITS)).astype(np.int64)


def _hash_letters(values: NDArray[np.uint64], text_ends: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A polynomial hash of the letters and digits of each text, without the other characters."""
    position = np.cumsum(values > 0)  # of each character among the letters and digits
    powers, inverse_powers = _powers(1 << len(values).bit_length())
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(values * powers[position], dtype=np.uint64)))
    ends = np.minimum(text_ends, len(values))
    begins = np.concatenate(([0], ends[:-1] + 1))
    letters_before = np.concatenate(([0], position))[np.minimum(begins, len(values))]
    hashes: NDArray[np.uint64] = (sums[ends] - sums[np.minimum(begins, ends)]) * inverse_powers[letters_before]
    return hashes


@cache
def _powers(size: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Powers of the factor of `_hash_letters` and their inverses modulo 2**64."""
    powers, inverses = np.full(size, _FACTOR), np.full(size, _INVERSE_FACTOR)
    powers[0] = inverses[0] = 1
    return np.cumprod(powers, dtype=np.uint64), np.cumprod(inverses, dtype=np.uint64)


@cache
def _all_characters() -> str:
    return np.arange(0x110000, dtype="<u4").tobytes().decode("utf-32-le", errors="surrogatepass")


@cache
def _word_characters() -> NDArray[np.uint64]:
    """A number for each letter, mark and digit, which is equal for equal digits of all scripts; 0 for the rest."""
    table = np.zeros(0x110000, dtype=np.uint64)
    for run in regex.finditer(r"[\p{L}\p{M}\p{Nd}]+", _all_characters()):
        table[run.start() : run.end()] = np.arange(run.start(), run.end())
    for match in regex.finditer(r"\p{Nd}", _all_characters()):
        # `unicodedata` may know an older version of Unicode than `regex`.
        digit = unicodedata.digit(match.group(), None)
        if digit is not None:
            table[match.start()] = ord("0") + digit
    return table


@cache
def _dense_characters() -> NDArray[np.bool_]:
    """Whether each character belongs to a script that puts no spaces between words."""
    table = np.zeros(0x110000, dtype=np.bool_)
    for run in regex.finditer(f"[{WITHOUT_SPACES}ー]+", _all_characters()):
        table[run.start() : run.end()] = True
    return table
