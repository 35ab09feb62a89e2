"""Masked sentences as token ids, for tokenizers with and without reserved tokens."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from dragoman.text.masking import ALL_RESERVED, Mask, Masking
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.term_marks import without_lemmas
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.vocabulary import Vocabulary


def masking_of(tokenizer: Tokenizer) -> Masking | None:
    """Which spans the bundles of a tokenizer mask; None if it has no reserved tokens."""
    return tokenizer.masking if isinstance(tokenizer, SubwordTokenizer) else None


def reserved_ids(tokenizer: Tokenizer) -> list[int]:
    """The ids of reserved tokens, in the order of `ALL_RESERVED`; none if the tokenizer has no reserved tokens."""
    return [tokenizer.vocabulary.ids[token] for token in ALL_RESERVED] if masking_of(tokenizer) else []


def text_ids(tokenizer: Tokenizer, ids: Sequence[int]) -> Sequence[int]:
    """The ids of a source without marks of terms and their translations."""
    if isinstance(tokenizer, SubwordTokenizer) and tokenizer.term_marks:
        return without_lemmas(ids, tokenizer.term_marks)
    return ids


def mask_texts(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Mask]:
    """The texts with reserved characters in place of spans; without spans if the tokenizer has no reserved tokens."""
    masking = masking_of(tokenizer)
    return [masking.mask(text) if masking else Mask(text, {}) for text in texts]


def encode_masked(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """The ids of masked texts, without bos and eos."""
    if isinstance(tokenizer, SubwordTokenizer) and tokenizer.masking:
        return tokenizer.encode_masked(texts)
    return tokenizer.encode(texts)


def encode_pairs(
    source: Tokenizer, target: Tokenizer, sources: Sequence[str], targets: Sequence[str]
) -> tuple[list[list[int]], list[list[int]]]:
    """The ids of pairs as a model sees them in training: spans that both sides contain are masked."""
    if masking := masking_of(source):
        pairs = [masking.mask_pair(*pair) for pair in zip(sources, targets, strict=True)]
        sources, targets = [one for one, _ in pairs], [other for _, other in pairs]
    return encode_masked(source, sources), encode_masked(target, targets)


def encode_spans_masked(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """The ids of texts as a model sees them in training: with reserved tokens in place of spans.

    Characters that the training text lacks are not replaced, so that words with them differ from all others. Capital
    letters remain, too.
    """
    if masking := masking_of(tokenizer):
        texts = [replace(masking, known=None, case=None).mask(text).text for text in texts]
    return encode_masked(tokenizer, texts)


def decode_reserved(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The text of ids with reserved characters for reserved tokens."""
    if isinstance(tokenizer, SubwordTokenizer) and tokenizer.masking:
        return tokenizer.decode_masked(ids)
    return tokenizer.decode(ids)


def decode_with_spans(tokenizer: Tokenizer, ids: Sequence[int], mask: Mask) -> str:
    """The text of the ids of a translation, with the spans of its source."""
    if isinstance(tokenizer, SubwordTokenizer) and tokenizer.masking:
        return mask.restore(tokenizer.decode_masked(ids))
    return tokenizer.decode(ids)


class LabelledTokenizer:
    """A tokenizer as shown to people: reserved tokens are spelled like the spans of one sentence."""

    def __init__(self, tokenizer: Tokenizer, mask: Mask) -> None:
        self._tokenizer, self._mask = tokenizer, mask
        self.vocabulary: Vocabulary = copy(tokenizer.vocabulary)
        self.vocabulary.tokens = [mask.label(token) for token in tokenizer.vocabulary.tokens]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of masked sentences."""
        return encode_masked(self._tokenizer, [self._mask.apply(text) for text in texts])

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids with the spans of the sentence."""
        return decode_with_spans(self._tokenizer, ids, self._mask)

    def starts_word(self, token: str) -> bool:
        """Whether this token begins a word."""
        return self._tokenizer.starts_word(token)

    def to_json(self) -> dict[str, Any]:
        """Everything needed to rebuild the tokenizer."""
        return self._tokenizer.to_json()
