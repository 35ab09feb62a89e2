"""Imported SentencePiece models: stored unchanged, rejected when broken."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
import sentencepiece

from dragoman.errors import UserError
from dragoman.settings import Specials
from dragoman.text.registry import load_tokenizer
from dragoman.text.sentencepiece import SentencePieceTokenizer
from dragoman.text.vocabulary import Vocabulary, special_tokens


@pytest.fixture(scope="module")
def tokenizer() -> SentencePieceTokenizer:
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["ein Hund rennt", "ein Kind lacht"] * 20),
        model_writer=written,
        vocab_size=25,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
    pieces = [processor.id_to_piece(index) for index in range(3, len(processor))]
    specials = Specials()
    return SentencePieceTokenizer(
        written.getvalue(), Vocabulary([*special_tokens(specials), ">>fra<<", *pieces], specials)
    )


def test_a_stored_tokenizer_is_the_same(tokenizer: SentencePieceTokenizer) -> None:
    loaded = load_tokenizer(json.loads(json.dumps(tokenizer.to_json())))
    texts = ["ein Hund lacht", "", " Hund\t", "xyz", ">>fra<< ein Kind", "a << b", "\ud800"]
    assert loaded.encode(texts) == tokenizer.encode(texts)
    assert loaded.encode([]) == []
    for text, ids in zip(texts[:3], loaded.encode(texts), strict=False):
        assert loaded.decode([2, *ids, 3, 1]) == text.strip()


def test_only_a_code_at_the_start_is_a_token(tokenizer: SentencePieceTokenizer) -> None:
    code = tokenizer.vocabulary.ids[">>fra<<"]
    first, later, open_end = tokenizer.encode([">>fra<< ein", "ein >>fra<<", ">>fra ein"])
    assert first == [code, *tokenizer.encode(["ein"])[0]]
    assert code not in later
    assert code not in open_end
    assert tokenizer.encode([">>zzz<<"])[0] == [tokenizer.vocabulary.unk]


def test_without_codes_arrows_are_text(tokenizer: SentencePieceTokenizer) -> None:
    others = [token for token in tokenizer.vocabulary.tokens if token != ">>fra<<"]
    plain = SentencePieceTokenizer(tokenizer.model, Vocabulary(others, Specials()))
    (quoted,), (words,) = plain.encode([">> ein Kind << lacht"]), plain.encode(["ein Kind"])
    assert any(quoted[start : start + len(words)] == words for start in range(len(quoted)))


@pytest.mark.parametrize(
    "change",
    [{"model": "no base64!"}, {"model": "AAAA"}, {"tokens": ["a", "b"]}, {"tokens": 1}, {"unknown": 1}],
    ids=str,
)
def test_broken_data_is_rejected(change: dict[str, Any], tokenizer: SentencePieceTokenizer) -> None:
    with pytest.raises(UserError, match="tokenizer"):
        load_tokenizer({**tokenizer.to_json(), **change}).encode(["ein"])
