"""SentencePiece models that others have trained, with a vocabulary of their own."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

from dragoman.errors import UserError
from dragoman.settings import Settings, Specials
from dragoman.text.normalization import MARK, collapse_spaces, replace_surrogates
from dragoman.text.vocabulary import Vocabulary, special_tokens


class PieceTokenizer:
    """Pieces of a SentencePiece model; those that the vocabulary lacks are unk.

    A text may start with a token such as ``>>fra<<``, by which models of several target languages are told which.
    """

    def __init__(self, model: bytes, vocabulary: Vocabulary) -> None:
        self.model = model
        self.vocabulary = vocabulary
        self._silent = {vocabulary.pad, vocabulary.bos, vocabulary.eos}

    @cached_property
    def _processor(self) -> Any:
        try:
            from sentencepiece import SentencePieceProcessor
        except ImportError:
            raise UserError("this bundle's tokenizer needs SentencePiece: pip install dragoman[huggingface]") from None
        try:
            return SentencePieceProcessor(model_proto=self.model)
        except RuntimeError as error:
            raise UserError(f"the sentencepiece tokenizer is broken: {error}") from None

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each sentence's pieces, without bos and eos."""
        ids, unk = self.vocabulary.ids, self.vocabulary.unk
        codes, rests = zip(*map(_split_code, map(replace_surrogates, texts)), strict=True) if texts else ((), ())
        found = self._processor.encode(list(rests), out_type=str)
        return [[ids.get(piece, unk) for piece in (*code, *pieces)] for code, pieces in zip(codes, found, strict=True)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids on one line, without pad, bos and eos; unk shows as the model spells it."""
        pieces = [self.vocabulary.tokens[index] for index in ids if index not in self._silent]
        return collapse_spaces(self._processor.decode_pieces(pieces))

    def starts_word(self, token: str) -> bool:
        """Whether this token begins a word: U+2581 says so."""
        return token.startswith(MARK)

    def to_json(self) -> dict[str, Any]:
        """The model's file in base64, specials and tokens."""
        return {
            "type": "sentencepiece",
            "specials": self.vocabulary.specials.model_dump(),
            "tokens": self.vocabulary.tokens,
            "model": b64encode(self.model).decode("ascii"),
        }


def _split_code(text: str) -> tuple[tuple[str, ...], str]:
    code, end, rest = text.partition("<<")
    return ((code + end,), rest) if text.startswith(">>") and end else ((), text)


class _Stored(Settings):
    type: Literal["sentencepiece"]
    specials: Specials
    tokens: list[str]
    model: str


def load_pieces(data: dict[str, Any]) -> PieceTokenizer:
    """The tokenizer that `PieceTokenizer.to_json` described; pydantic's ValidationError if it is broken."""
    stored = _Stored.model_validate(data)
    if stored.tokens[:4] != special_tokens(stored.specials) or len(set(stored.tokens)) < len(stored.tokens):
        raise UserError("a tokenizer's pieces must be distinct and start with its four specials")
    try:
        model = b64decode(stored.model, validate=True)
    except ValueError as error:
        raise UserError(f"the sentencepiece tokenizer is broken: {error}") from None
    return PieceTokenizer(model, Vocabulary(stored.tokens, stored.specials))
