"""Tokens with the words that they belong to, and their labels in maps and tables."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.languages.scripts import WITHOUT_SPACES
from dragoman.text.masking import ALL_RESERVED, Mask
from dragoman.text.multilingual import without_language
from dragoman.text.normalization import METASPACE
from dragoman.text.tokenizer import Tokenizer


class Word(NamedTuple):
    """A word and the range of its tokens, from `start` up to but not including `end`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class TokenSequence:
    """The tokens of a sequence, in order, and the words that they form."""

    tokens: list[str]
    words: list[Word]

    @classmethod
    def from_ids(cls, tokenizer: Tokenizer, ids: Sequence[int]) -> TokenSequence:
        """The tokens and words of token ids; bos and eos are words by themselves."""
        vocabulary = tokenizer.vocabulary
        tokens = [vocabulary.tokens[index] for index in ids]
        starts = _word_starts(tokenizer, ids)
        words = [
            Word(tokenizer.decode(ids[start:end]) or "".join(tokens[start:end]), start, end)
            for start, end in zip(starts, [*starts[1:], len(ids)], strict=True)
        ]
        return cls(tokens, words)

    @property
    def starts(self) -> list[int]:
        """The index of the first token of each word."""
        return [word.start for word in self.words]

    def by_word(self) -> TokenSequence:
        """The same sequence with each word as one token."""
        texts = [word.text for word in self.words]
        return TokenSequence(texts, [Word(text, index, index + 1) for index, text in enumerate(texts)])


def _word_starts(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int]:
    vocabulary = tokenizer.vocabulary
    separate = {vocabulary.bos, vocabulary.eos}
    return [
        position
        for position, index in enumerate(ids)
        if position == 0
        or index in separate
        or ids[position - 1] in separate
        or tokenizer.starts_word(vocabulary.tokens[index])
        or _WITHOUT_SPACES.match(vocabulary.tokens[index])
    ]


_WITHOUT_SPACES = regex.compile(f"[{WITHOUT_SPACES}]")  # each token of such a script is shown as a word
_CHUNK = regex.compile(rf"[^\s\p{{Cc}}{METASPACE}]+")  # what `collapse_spaces` separates
_LETTERS = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{WITHOUT_SPACES}]]"
_WORD = regex.compile(
    rf"[{ALL_RESERVED}]|[{WITHOUT_SPACES}]\p{{M}}*|{_LETTERS}+(?:['’]{_LETTERS}+)*|[^\s\p{{Cc}}{METASPACE}]",
    regex.VERSION1,
)

MOST_TOGETHER = 32
"""Tokens of a chunk that are decoded together, such as the bytes of a character with its accents."""

Span = tuple[int, int]
Shares = NDArray[np.float32]


@dataclass(frozen=True)
class WordTokens:
    """The words and the tokens of a text.

    A word is a run of letters and digits, a punctuation mark, a letter of a script without spaces, or a masked span.

    Attributes:
        ids: The ids of the tokens, without bos and eos.
        words: The characters of each word in the text.
        spellings: Each word as the text spells it; masked spans as reserved characters.
        shares: The share of the characters of each token that belong to each word, (words, tokens).
        is_cut: Whether the text has more tokens than were kept.
    """

    ids: list[int]
    words: list[Span]
    spellings: list[str]
    shares: Shares
    is_cut: bool

    @property
    def is_usable(self) -> bool:
        """Whether there are words, and one pass of the model can read all of them."""
        return bool(self.words) and not self.is_cut


def word_tokens(tokenizer: Tokenizer, mask: Mask, limit: int) -> WordTokens:
    """The words and tokens of a masked text, of which at most `limit` tokens are kept.

    Tokenizers encode what is between spaces independently, so that each token belongs to the characters of one of these
    chunks. Within a chunk, tokens are found by the characters that they decode to.
    """
    begin, tokenizer = tokenizer.language_ids, without_language(tokenizer)
    chunks = [match.span() for match in _CHUNK.finditer(mask.text)]
    encoded = tokenizer.encode_masked([mask.text[start:end] for start, end in chunks])
    ids = [*begin, *(index for each in encoded for index in each)]
    spans = [
        (start + first, start + last)
        for (start, end), each in zip(chunks, encoded, strict=True)
        for first, last in _token_spans(tokenizer, mask.text[start:end], each)
    ]
    tokens = [*((0, 0) for _ in begin), *spans][:limit]
    words = [match.span() for match in _WORD.finditer(mask.text)]
    starts = mask.starts()
    return WordTokens(
        ids=ids[:limit],
        words=[(starts[start], starts[end]) for start, end in words],
        spellings=[mask.text[start:end] for start, end in words],
        shares=_shares(words, tokens),
        is_cut=len(ids) > limit,
    )


def _token_spans(tokenizer: Tokenizer, chunk: str, ids: Sequence[int]) -> list[Span]:
    """The characters of each token of a chunk; tokens that cannot be separated have the same characters."""
    whole = tokenizer.decode_masked(ids)
    if whole.lower() != chunk.lower() or len(whole) != len(chunk):
        return [(0, len(chunk))] * len(ids)
    spans: list[Span] = []
    start, together = 0, list[int]()
    for index in ids:
        together.append(index)
        text = tokenizer.decode_masked(together) if len(together) <= MOST_TOGETHER else ""
        if text and whole.startswith(text, start):
            spans += [(start, start + len(text))] * len(together)
            start, together = start + len(text), []
    rest = [(start, len(chunk))] if start < len(chunk) else spans[-1:]  # the last tokens may have no characters
    return spans + rest * len(together)


def _shares(words: Sequence[Span], tokens: Sequence[Span]) -> Shares:
    word, token = np.array(words).reshape(-1, 1, 2), np.array(tokens).reshape(1, -1, 2)
    common = np.minimum(word[..., 1], token[..., 1]) - np.maximum(word[..., 0], token[..., 0])
    lengths = token[..., 1] - token[..., 0]
    return np.asarray(np.maximum(common, 0) / np.maximum(lengths, 1), dtype=np.float32)


CONTINUATION = "·"  # precedes a token that continues the previous word


class LabelledTokenizer(Tokenizer):
    """A tokenizer as shown to people: reserved tokens are spelled like the spans of one sentence."""

    def __init__(self, tokenizer: Tokenizer, mask: Mask) -> None:
        self._tokenizer, self._mask = tokenizer, mask
        self.vocabulary = copy(tokenizer.vocabulary)
        self.vocabulary.tokens = [mask.label(token) for token in tokenizer.vocabulary.tokens]
        self.language_ids, self.all_language_ids = tokenizer.language_ids, tokenizer.all_language_ids

    @property
    def forbidden_ids(self) -> list[int]:
        """Those of the tokenizer."""
        return self._tokenizer.forbidden_ids

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of masked sentences."""
        return self._tokenizer.encode_masked([self._mask.apply(text) for text in texts])

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids with the spans of the sentence."""
        return self._tokenizer.restore(ids, self._mask)

    def starts_word(self, token: str) -> bool:
        """Whether this token begins a word."""
        return self._tokenizer.starts_word(token)

    def to_json(self) -> dict[str, Any]:
        """Everything needed to rebuild the tokenizer."""
        return self._tokenizer.to_json()


def label_spans(bundle: Bundle, mask: Mask) -> Bundle:
    """The bundle with tokenizers that spell reserved tokens like the spans of a sentence."""
    if bundle.source.masking is None:
        return bundle
    source, target = LabelledTokenizer(bundle.source, mask), LabelledTokenizer(bundle.target, mask)
    return replace(bundle, source=source, target=target)


def sequence_labels(sequence: TokenSequence) -> list[str]:
    """The labels of all tokens of a sequence."""
    starts = set(sequence.starts)
    return [_label(token, index in starts) for index, token in enumerate(sequence.tokens)]


def token_label(tokenizer: Tokenizer, token: str) -> str:
    """The label of a single token, such as an alternative that is not in the translation."""
    specials = tokenizer.vocabulary.specials
    return _label(token, token in (specials.bos, specials.eos) or tokenizer.starts_word(token))


def _label(token: str, starts_word: bool) -> str:
    return (token.removeprefix(METASPACE) or token) if starts_word else CONTINUATION + token
