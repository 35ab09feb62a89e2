"""Tokens and the words that they form."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.explanation.tokens import TokenSequence
from dragoman.settings import Text
from dragoman.text.registry import train_tokenizers


@pytest.mark.parametrize(
    ("settings", "has_subwords"),
    [
        ({"tokenizer": "bpe", "vocabulary_size": 300}, True),
        ({"tokenizer": "unigram", "vocabulary_size": 300}, True),
        ({"tokenizer": "bpe", "vocabulary_size": 300, "pre_tokenizer": "whitespace"}, True),
        ({"tokenizer": "whitespace"}, False),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_words_of_every_tokenizer(settings: dict[str, Any], has_subwords: bool) -> None:
    text = "Der kleine Hund spielt"
    texts = [text, "Der Junge 😀"] * 20
    tokenizer, _ = train_tokenizers(texts, texts, Text(**settings), source_language="de", target_language="de")
    vocabulary = tokenizer.vocabulary
    sequence = TokenSequence.from_ids(tokenizer, [vocabulary.bos, *tokenizer.encode([text])[0], vocabulary.eos])
    assert [word.text for word in sequence.words] == ["<s>", *text.split(), "</s>"]
    assert [word.start for word in sequence.words[1:]] == [word.end for word in sequence.words[:-1]]
    if has_subwords:
        rare = "Hunde 🦊 Zebra"
        sequence = TokenSequence.from_ids(tokenizer, tokenizer.encode([rare])[0])
        assert [word.text for word in sequence.words] == rare.split(), "bytes form the character that they encode"
        assert len(sequence.tokens) > len(sequence.words)
