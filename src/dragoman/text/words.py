"""Word tokenizers: text split at white space, or by spaCy's rules for its language."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Literal

from dragoman.errors import UserError
from dragoman.languages.codes import primary_language
from dragoman.settings import Settings, Specials, Text
from dragoman.text.detokenizer import join_words
from dragoman.text.normalization import collapse_spaces, replace_surrogates
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.vocabulary import Vocabulary, special_tokens

SplitFunction = Callable[[str], list[str]]


class WordRules(Settings):
    """How a sentence is split into words."""

    type: Literal["whitespace", "spacy"]
    language: str
    lowercase: bool
    normalization: Literal["none", "nfc", "nfkc"]

    def splitter(self) -> SplitFunction:
        """The function that splits a sentence into its words, known or not."""
        if self.type == "whitespace":
            return lambda text: collapse_spaces(text).split()
        return _spacy_splitter(self.language)

    def normalize(self, text: str) -> str:
        """The text in the Unicode normal form, and in lowercase if configured."""
        text = replace_surrogates(text)
        if self.normalization != "none":
            text = unicodedata.normalize("NFC" if self.normalization == "nfc" else "NFKC", text)
        return text.lower() if self.lowercase else text


class WordTokenizer(Tokenizer):
    """Words in a vocabulary; other words, and words spelled like a special token, are unk.

    White space that spaCy returns as a token (double spaces, no-break spaces) remains a token. Decoding joins words
    with spaces, and those of spaCy with the usual spacing around punctuation (see `join_words`).
    """

    def __init__(self, rules: WordRules, vocabulary: Vocabulary) -> None:
        self.rules = rules
        self.vocabulary = vocabulary
        specials = vocabulary.special_ids
        self._ids = {word: index for word, index in vocabulary.ids.items() if index not in specials}
        self._hidden = {vocabulary.pad, vocabulary.bos, vocabulary.eos}

    @cached_property
    def _split(self) -> SplitFunction:
        return self.rules.splitter()  # late: the target side of a translator only decodes, and needs no spaCy

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each sentence's words, without bos and eos."""
        unk = self.vocabulary.unk
        return [[self._ids.get(word, unk) for word in self._split(self.rules.normalize(text))] for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """The words of these ids as one line of text, without pad, bos and eos."""
        words = [self.vocabulary.tokens[index] for index in ids if index not in self._hidden]
        return collapse_spaces(" ".join(words) if self.rules.type == "whitespace" else join_words(words))

    def normalize(self, text: str) -> str:
        """The text as the rules normalize it."""
        return self.rules.normalize(text)

    def starts_word(self, token: str) -> bool:
        """Whether this token begins a word: every token is a whole word."""
        return True

    def to_json(self) -> dict[str, Any]:
        """The rules, the special tokens and the words."""
        vocabulary = self.vocabulary
        return {**self.rules.model_dump(), "specials": vocabulary.specials.model_dump(), "tokens": vocabulary.tokens}


class _Stored(WordRules):
    specials: Specials
    tokens: list[str]


def load_words(data: dict[str, Any]) -> WordTokenizer:
    """The tokenizer that `WordTokenizer.to_json` described.

    Raises:
        ValidationError: The data lacks a key or has a wrong type.
        UserError: The data is broken in another way.
    """
    stored = _Stored.model_validate(data)
    specials = special_tokens(stored.specials)
    if stored.tokens[: len(specials)] != specials or len(set(stored.tokens)) < len(stored.tokens):
        raise UserError("a tokenizer's words must be distinct and start with its special tokens")
    rules = WordRules(**stored.model_dump(include=set(WordRules.model_fields)))
    return WordTokenizer(rules, Vocabulary(stored.tokens, stored.specials))


def train_words(sides: Sequence[tuple[str, Iterable[str]]], settings: Text) -> list[WordTokenizer]:
    """One tokenizer for each side, all with the same vocabulary: the most frequent words first.

    Sides with the same rules share one tokenizer object.

    Args:
        sides: For each, its language and its sentences.
        settings: What to train.

    Raises:
        UserError: spaCy is needed but not installed, or does not support a language.
    """
    counts: Counter[str] = Counter()
    rules = [_rules(language, settings) for language, _ in sides]
    for rule, (_, texts) in zip(rules, sides, strict=True):
        split = rule.splitter()
        counts.update(chain.from_iterable(split(rule.normalize(text)) for text in texts))
    specials = special_tokens(settings.specials)
    words = [word for word, count in counts.items() if count >= settings.minimum_frequency and word not in specials]
    words.sort(key=lambda word: (-counts[word], word))
    vocabulary = Vocabulary([*specials, *words], settings.specials)
    tokenizers = {rule: WordTokenizer(rule, vocabulary) for rule in rules}
    return [tokenizers[rule] for rule in rules]


def _rules(language: str, settings: Text) -> WordRules:
    assert settings.tokenizer in ("whitespace", "spacy")
    kind: Literal["whitespace", "spacy"] = "spacy" if settings.tokenizer == "spacy" else "whitespace"
    return WordRules(
        type=kind,
        language=language if kind == "spacy" else "",
        lowercase=settings.lowercase,
        normalization=settings.normalization,
    )


def _spacy_splitter(language: str) -> SplitFunction:
    try:
        import spacy
    except ImportError:
        message = "text.tokenizer = 'spacy' needs spaCy: pip install '.[spacy]'"
        raise UserError(message) from None
    try:
        tokenizer = spacy.blank(primary_language(language)).tokenizer
    except (ImportError, ValueError) as error:
        raise UserError(f"spaCy cannot tokenize the language {language!r}: {error}") from None
    return lambda text: [token.text for token in tokenizer(text)]
