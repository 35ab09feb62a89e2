"""A sequence of tokens and the words that they form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
    ]
