"""Tokenizers imported as SentencePiece models, with a separate vocabulary."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

from dragoman.errors import UserError
from dragoman.settings import Settings, Specials
from dragoman.text.normalization import METASPACE, collapse_spaces, replace_surrogates
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.vocabulary import Vocabulary, special_tokens


class SentencePieceTokenizer(Tokenizer):
    """The pieces of a SentencePiece model; pieces that are not in the vocabulary are unk.

    A text may start with a language code such as ``>>fra<<``, which is one token. Models with several target
    languages use it to select one.
    """

    def __init__(self, model: bytes, vocabulary: Vocabulary) -> None:
        self.model = model
        self.vocabulary = vocabulary
        self._hidden = {vocabulary.pad, vocabulary.bos, vocabulary.eos}
        self._has_codes = any(token.startswith(">>") and token.endswith("<<") for token in vocabulary.tokens)

    @cached_property
    def _processor(self) -> Any:
        try:
            from sentencepiece import SentencePieceProcessor
        except ImportError:
            raise UserError("this bundle's tokenizer needs SentencePiece: pip install '.[huggingface]'") from None
        try:
            if not self.model:
                raise RuntimeError("the model is empty")
            return SentencePieceProcessor(model_proto=self.model)
        except RuntimeError as error:
            raise UserError(f"the sentencepiece tokenizer is broken: {error}") from None

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each sentence's pieces, without bos and eos."""
        ids, unk = self.vocabulary.ids, self.vocabulary.unk
        split = [self._split_code(replace_surrogates(text)) for text in texts]
        codes, rests = [code for code, _ in split], [rest for _, rest in split]
        found = self._processor.encode(rests, out_type=str)
        return [[ids.get(piece, unk) for piece in (*code, *pieces)] for code, pieces in zip(codes, found, strict=True)]

    def _split_code(self, text: str) -> tuple[tuple[str, ...], str]:
        """The language code that the text starts with, if the vocabulary has codes, and the rest."""
        code, end, rest = text.partition("<<")
        return ((code + end,), rest) if self._has_codes and text.startswith(">>") and end else ((), text)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids on one line, without pad, bos and eos; unk appears as the model spells it."""
        pieces = [self.vocabulary.tokens[index] for index in ids if index not in self._hidden]
        return collapse_spaces(self._processor.decode_pieces(pieces))

    def starts_word(self, token: str) -> bool:
        """Whether this token begins a word: whether it starts with U+2581."""
        return token.startswith(METASPACE)

    def to_json(self) -> dict[str, Any]:
        """The model file in base64, the special tokens and the tokens."""
        return {
            "type": "sentencepiece",
            "specials": self.vocabulary.specials.model_dump(),
            "tokens": self.vocabulary.tokens,
            "model": b64encode(self.model).decode("ascii"),
        }


class _Stored(Settings):
    type: Literal["sentencepiece"]
    specials: Specials
    tokens: list[str]
    model: str


def load_sentencepiece(data: dict[str, Any]) -> SentencePieceTokenizer:
    """The tokenizer that `SentencePieceTokenizer.to_json` described.

    Raises:
        ValidationError: The data lacks a key or has a wrong type.
        UserError: The data is broken in another way.
    """
    stored = _Stored.model_validate(data)
    specials_first = set(stored.tokens[:4]).issuperset(special_tokens(stored.specials))
    if not specials_first or len(set(stored.tokens)) < len(stored.tokens):
        raise UserError("a tokenizer's pieces must be distinct and start with its special tokens")
    try:
        model = b64decode(stored.model, validate=True)
    except ValueError as error:
        raise UserError(f"the sentencepiece tokenizer is broken: {error}") from None
    return SentencePieceTokenizer(model, Vocabulary(stored.tokens, stored.specials))
