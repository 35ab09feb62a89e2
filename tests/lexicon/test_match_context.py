"""Matches as context of sources: their reserved tokens are those of the source, or left out."""

from __future__ import annotations

import pytest

from dragoman.lexicon.match_context import MatchContext
from dragoman.settings import Text
from dragoman.text.masking import RESERVED
from dragoman.text.subword_training import train_subwords
from dragoman.text.tokenizer import Tokenizer

NUMBER, PLACEHOLDER = RESERVED["number"], RESERVED["placeholder"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    texts = [f"Seite {NUMBER[0]} von {NUMBER[1]}", f"page {NUMBER[0]} of {NUMBER[1]}", f"open {PLACEHOLDER[0]}"]
    return train_subwords([("de", texts * 20)], Text(vocabulary_size=400, placeholders=True))[0]


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode_masked([text])[0]


def decode(tokenizer: Tokenizer, context: list[int]) -> str:
    assert context[0] == tokenizer.vocabulary.bos
    return "".join(tokenizer.vocabulary.tokens[index] for index in context[1:]).replace("▁", " ").strip()


def test_spans_become_those_of_the_source(tokenizer: Tokenizer) -> None:
    three, five, one, two = NUMBER[3], NUMBER[5], NUMBER[1], NUMBER[2]
    source = encode(tokenizer, f"Seite {three} von {five}")
    match = encode(tokenizer, f"Seite {two} von {one}"), encode(tokenizer, f"of {one} page {two}")
    assert decode(tokenizer, MatchContext(tokenizer).context(source, match)) == f"of {five} page {three}"


def test_spans_without_counterpart_are_left_out(tokenizer: Tokenizer) -> None:
    source = encode(tokenizer, f"Seite {NUMBER[4]}")
    match = (
        encode(tokenizer, f"Seite {NUMBER[0]} von {NUMBER[1]} {PLACEHOLDER[0]}"),
        encode(tokenizer, f"page {NUMBER[0]} of {NUMBER[1]} open {PLACEHOLDER[0]}"),
    )
    context = MatchContext(tokenizer).context(source, match)
    assert [index for index in context if index in tokenizer.reserved_ids] == encode(tokenizer, NUMBER[4])[-1:]


def test_sentences_that_differ_only_in_the_numbers_of_their_spans_are_equal(tokenizer: Tokenizer) -> None:
    context = MatchContext(tokenizer)
    texts = [f"Seite {NUMBER[a]} von {NUMBER[b]} {PLACEHOLDER[a]} {NUMBER[a]}" for a, b in ((0, 1), (5, 2), (7, 6))]
    numbered = [context.number_spans(encode(tokenizer, text)) for text in texts]
    assert numbered == [encode(tokenizer, texts[0])] * 3


def test_without_reserved_tokens_nothing_changes() -> None:
    plain = train_subwords([("de", ["Seite von", "page of"] * 20)], Text(vocabulary_size=300))[0]
    source, match = encode(plain, "Seite"), (encode(plain, "von"), encode(plain, "of"))
    context = MatchContext(plain)
    assert context.number_spans(source) == source
    assert context.context(source, match) == [plain.vocabulary.bos, *match[1]]
