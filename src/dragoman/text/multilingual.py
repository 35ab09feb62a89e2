"""Tokenizers of models with several languages, whose sentences begin with the token of their language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Literal

from dragoman.errors import UserError
from dragoman.settings import Settings
from dragoman.text.tokenizer import Tokenizer


class MultilingualTokenizer(Tokenizer):
    """A tokenizer that puts the token of a language in front of each sentence that has tokens.

    Args:
        tokenizer: Splits the text.
        tokens: The token of each language, by the code of the language.
        language: The code of the language of the sentences.
    """

    def __init__(self, tokenizer: Tokenizer, tokens: Mapping[str, str], language: str) -> None:
        self.tokenizer, self.tokens, self.language = tokenizer, dict(tokens), language
        self.vocabulary = tokenizer.vocabulary
        self.language_ids = [self.vocabulary.ids[self.tokens[language]]]
        self.all_language_ids = [self.vocabulary.ids[token] for token in self.tokens.values()]
        self._hidden = set(self.all_language_ids)
        self._spellings = set(self.tokens.values())

    def with_language(self, language: str) -> MultilingualTokenizer:
        """The same tokenizer for sentences in another language."""
        other = copy(self)
        other.language, other.language_ids = language, [self.vocabulary.ids[self.tokens[language]]]
        return other

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each sentence, the token of the language first; none for a sentence without tokens."""
        return [[*self.language_ids, *ids] if ids else [] for ids in self.tokenizer.encode(texts)]

    def decode(self, ids: Sequence[int]) -> str:
        """The sentence that these ids represent, without the tokens of languages."""
        return self.tokenizer.decode([index for index in ids if index not in self._hidden])

    def normalize(self, text: str) -> str:
        """The text as it is split into tokens."""
        return self.tokenizer.normalize(text)

    def starts_word(self, token: str) -> bool:
        """Whether this token begins a word; the token of a language is a word."""
        return token in self._spellings or self.tokenizer.starts_word(token)

    def to_json(self) -> dict[str, Any]:
        """The languages and the tokenizer that splits the text."""
        return {
            "type": "multilingual",
            "language": self.language,
            "tokens": self.tokens,
            "tokenizer": self.tokenizer.to_json(),
        }


def without_language(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer that splits the text, which puts no token in front of it."""
    return tokenizer.tokenizer if isinstance(tokenizer, MultilingualTokenizer) else tokenizer


class StoredMultilingual(Settings):
    """What `MultilingualTokenizer.to_json` returns."""

    type: Literal["multilingual"]
    language: str
    tokens: dict[str, str]
    tokenizer: dict[str, Any]

    def restore(self, tokenizer: Tokenizer) -> MultilingualTokenizer:
        """The tokenizer, given the one that splits the text.

        Raises:
            UserError: The vocabulary lacks the token of a language, or the language has no token.
        """
        if not tokenizer.vocabulary.ids.keys() >= set(self.tokens.values()) or self.language not in self.tokens:
            raise UserError("the multilingual tokenizer is broken: a language has no token in the vocabulary")
        return MultilingualTokenizer(tokenizer, self.tokens, self.language)
