"""Subword tokenizers, BPE (Sennrich et al. 2016) and unigram (Kudo 2018), based on the `tokenizers` library."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Literal

from tokenizers import Tokenizer as Backend

from dragoman.errors import UserError
from dragoman.settings import Settings, Specials
from dragoman.text.detokenizer import join_words
from dragoman.text.known_characters import KnownCharacters
from dragoman.text.masking import ALL_RESERVED, Masking, replace_reserved
from dragoman.text.normalization import METASPACE, collapse_spaces, replace_surrogates
from dragoman.text.term_marks import TERM_MARKS
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.usual_case import UsualCase
from dragoman.text.vocabulary import Vocabulary, special_tokens

SubwordKind = Literal["bpe", "unigram"]
PreTokenizer = Literal["metaspace", "whitespace"]


class SubwordTokenizer(Tokenizer):
    """Subwords of normalized text; with byte fallback nothing is ever unk.

    Normalization applies the Unicode normal form, lowercases if configured, and collapses spaces (see `SPACES`). With
    the pre-tokenizer `metaspace`, decoding restores exactly the normalized text; with `whitespace`, it joins words and
    punctuation as `join_words` does. A special token's spelling in a text is treated as plain text.

    Args:
        kind: BPE or unigram.
        pre_tokenizer: How text is split into words.
        specials: The special tokens.
        backend: The tokenizer of the library.
        masking: Which spans are masked; None if the vocabulary has no reserved tokens.
    """

    def __init__(
        self,
        kind: SubwordKind,
        pre_tokenizer: PreTokenizer,
        specials: Specials,
        backend: Backend,
        masking: Masking | None = None,
    ) -> None:
        self.kind = kind
        self.pre_tokenizer = pre_tokenizer
        self.masking = masking
        tokens = backend.get_vocab()
        self.vocabulary = Vocabulary(sorted(tokens, key=tokens.__getitem__), specials)
        self._backend = backend
        self.term_marks = [self.vocabulary.ids[mark] for mark in TERM_MARKS if mark in self.vocabulary.ids]
        """The ids of `TERM_MARKS`; none if the vocabulary lacks them."""
        self._never_shown = {self.vocabulary.pad, self.vocabulary.bos, self.vocabulary.eos, *self.term_marks}
        self._reserved = {self.vocabulary.ids[token] for token in ALL_RESERVED} if masking else set()

    def with_masking(self, masking: Masking | None) -> SubwordTokenizer:
        """The same tokenizer, which masks other spans or, with None, treats reserved characters as text."""
        return SubwordTokenizer(self.kind, self.pre_tokenizer, self.vocabulary.specials, self._backend, masking)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each sentence's subwords, without bos and eos; large batches use several threads."""
        return self.encode_masked([replace_reserved(text) for text in texts] if self.masking else texts)

    def encode_masked(self, texts: Sequence[str]) -> list[list[int]]:
        """The same for sentences in which reserved characters stand for spans."""
        cleaned = [replace_surrogates(text) for text in texts]
        return [encoding.ids for encoding in self._backend.encode_batch_fast(cleaned, add_special_tokens=False)]

    def split_token(self, token: str) -> list[int]:
        """The ids of the subwords of a token of another vocabulary; U+2581 at its start begins a word."""
        letters = token.removeprefix(METASPACE)
        start = token[: len(token) - len(letters)]  # normalization would remove it, like a space
        pieces = self._backend.model.tokenize(start + self.normalize(letters))
        return [piece.id for piece in pieces]

    def split_words(self, text: str) -> list[str]:
        """The words of normalized text, which are split into subwords one by one."""
        assert self._backend.pre_tokenizer, "all our tokenizers have one"
        return [word for word, _ in self._backend.pre_tokenizer.pre_tokenize_str(text)]

    def split_word(self, word: str) -> list[str]:
        """The subwords of one of these words."""
        return [piece.value for piece in self._backend.model.tokenize(word)]

    def normalize(self, text: str) -> str:
        """The text as it is split into subwords."""
        return self._backend.normalizer.normalize_str(text) if self._backend.normalizer else text

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids on one line, without pad, bos, eos and reserved tokens.

        Invalid UTF-8 in byte tokens becomes U+FFFD.
        """
        return self.decode_masked([index for index in ids if index not in self._reserved] if self._reserved else ids)

    def decode_masked(self, ids: Sequence[int]) -> str:
        """The same with reserved characters for reserved tokens."""
        shown = [index for index in ids if index not in self._never_shown]
        text = collapse_spaces(self._backend.decode(shown, skip_special_tokens=False))
        return text if self.pre_tokenizer == "metaspace" else join_words(text.split(" "))

    def merges(self) -> list[tuple[str, str]]:
        """The merges of BPE in their order: pairs of subwords."""
        assert self.kind == "bpe"
        return [tuple(merge) for merge in json.loads(self._backend.to_str())["model"]["merges"]]

    def starts_word(self, token: str) -> bool:
        """Whether this token begins a word: whether it starts with U+2581."""
        return token.startswith(METASPACE)

    def to_json(self) -> dict[str, Any]:
        """The special tokens and the library's own JSON, which other programs can load too."""
        data: dict[str, Any] = {
            "type": self.kind,
            "pre_tokenizer": self.pre_tokenizer,
            "specials": self.vocabulary.specials.model_dump(),
            "tokenizer": json.loads(self._backend.to_str()),
        }
        return data | store_masking(self.masking) if self.masking else data


def store_masking(masking: Masking) -> dict[str, Any]:
    """What is masked, as plain data for JSON; `StoredMasking` reads it."""
    return {
        "numbers_as_text": sorted(masking.numbers_as_text),
        "numbers_with_exchange": sorted(masking.numbers_with_exchange),
        "known_characters": masking.known and masking.known.characters,
        "usual_case": masking.case and asdict(masking.case),
    }


class StoredMasking(Settings):
    """What `store_masking` returns."""

    numbers_as_text: frozenset[str] | None = None  # None: the vocabulary has no reserved tokens
    numbers_with_exchange: frozenset[str] = frozenset()  # bundles of older versions lack this key and the next two
    known_characters: str | None = None
    usual_case: UsualCase | None = None

    def restore(self, normalize: Callable[[str], str]) -> Masking | None:
        """What is masked, given how the tokenizer normalizes text; None if nothing is."""
        if self.numbers_as_text is None:
            return None
        known = None if self.known_characters is None else KnownCharacters(self.known_characters, normalize)
        return Masking(self.numbers_as_text, known, self.numbers_with_exchange, self.usual_case)


class _Stored(StoredMasking):
    type: SubwordKind
    pre_tokenizer: PreTokenizer
    specials: Specials
    tokenizer: dict[str, Any]


def load_subwords(data: dict[str, Any]) -> SubwordTokenizer:
    """The tokenizer that `SubwordTokenizer.to_json` described.

    Raises:
        ValidationError: The data lacks a key or has a wrong type.
        UserError: The data is broken in another way.
    """
    stored = _Stored.model_validate(data)
    # truncation and padding would change what is encoded; a large padding would use all memory
    definition = {**stored.tokenizer, "truncation": None, "padding": None}
    try:
        backend = Backend.from_str(json.dumps(definition))
        backend.decode(backend.encode("a ▁b", add_special_tokens=False).ids)
    except Exception as error:  # the library raises nothing more specific
        raise UserError(f"the {stored.type} tokenizer is broken: {error}") from None
    if type(backend.model).__name__.lower() != stored.type:
        raise UserError(f"the {stored.type} tokenizer is broken: its model is {type(backend.model).__name__}")
    ids = backend.get_vocab()
    specials = {ids.get(token) for token in special_tokens(stored.specials)}
    if sorted(ids.values()) != list(range(len(ids))) or not specials <= {0, 1, 2, 3}:
        raise UserError(f"the {stored.type} tokenizer is broken: ids must be 0 to n, with the special tokens first")
    masking = stored.restore(backend.normalizer.normalize_str if backend.normalizer else str)
    if masking and not ids.keys() >= set(ALL_RESERVED):
        raise UserError(f"the {stored.type} tokenizer is broken: its vocabulary lacks reserved tokens")
    return SubwordTokenizer(stored.type, stored.pre_tokenizer, stored.specials, backend, masking)
