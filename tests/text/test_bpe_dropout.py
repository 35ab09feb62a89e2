"""BPE-dropout represents the same text with other subwords."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.settings import Text
from dragoman.text.bpe_dropout import BPEDropout
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.subword_training import train_subwords

ODD = ["<0x41> <unk> <s> ▁ ☃ <0x", "日本語 क्षत्रिय", "a", ""]
"""Spellings of byte tokens and special tokens, and characters that were not learned."""


@pytest.fixture(scope="module")
def texts(corpus: Path) -> list[str]:
    return [*corpus.joinpath("train.de").read_text("utf-8").splitlines(), *ODD]


@pytest.fixture(scope="module", params=["metaspace", "whitespace"])
def tokenizer(texts: list[str], request: pytest.FixtureRequest) -> SubwordTokenizer:
    settings = Text(vocabulary_size=600, pre_tokenizer=request.param)
    return train_subwords([("de", texts[:300])], settings)[0]


def segment(tokenizer: SubwordTokenizer, probability: float, texts: list[str], seed: int = 1) -> list[list[int]]:
    dropout, generator = BPEDropout(tokenizer, probability, seed, limit=10_000), np.random.default_rng(2)
    return [list(dropout(ids, generator)) for ids in tokenizer.encode(texts)]


def test_with_probability_zero_it_equals_the_tokenizer(tokenizer: SubwordTokenizer, texts: list[str]) -> None:
    assert segment(tokenizer, 0.0, texts) == tokenizer.encode(texts)


def test_with_probability_one_nothing_is_merged(tokenizer: SubwordTokenizer, texts: list[str]) -> None:
    tokens = {tokenizer.vocabulary.tokens[index] for ids in segment(tokenizer, 1.0, texts) for index in ids}
    assert {token for token in tokens if len(token) > 1} <= {"<unk>"} | {f"<0x{byte:02X}>" for byte in range(256)}


@pytest.mark.parametrize("probability", [0.1, 0.5, 1.0])
def test_the_text_is_unchanged(probability: float, tokenizer: SubwordTokenizer, texts: list[str]) -> None:
    for ids, changed in zip(tokenizer.encode(texts), segment(tokenizer, probability, texts), strict=True):
        assert tokenizer.decode(changed) == tokenizer.decode(ids)


def test_more_dropout_produces_more_and_shorter_subwords(tokenizer: SubwordTokenizer, texts: list[str]) -> None:
    sizes = [sum(map(len, segment(tokenizer, probability, texts))) for probability in (0.0, 0.1, 0.3, 0.6, 1.0)]
    assert sizes == sorted(set(sizes))


def test_a_word_gets_several_segmentations(tokenizer: SubwordTokenizer) -> None:
    dropout, generator = BPEDropout(tokenizer, 0.3, seed=1, limit=100), np.random.default_rng(2)
    (ids,) = tokenizer.encode(["Fahrradfahrer"])
    assert len({tuple(dropout(ids, generator)) for _ in range(100)}) > 3


def test_the_seed_decides_the_segmentations(tokenizer: SubwordTokenizer, texts: list[str]) -> None:
    first, again, other = (segment(tokenizer, 0.2, texts, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_sentences_that_would_become_too_long_are_unchanged(tokenizer: SubwordTokenizer, texts: list[str]) -> None:
    dropout, generator = BPEDropout(tokenizer, 1.0, seed=1, limit=40), np.random.default_rng(2)
    encoded = tokenizer.encode(texts)
    changed = [list(dropout(ids, generator)) for ids in encoded]
    assert all(new == old or len(new) <= 40 for new, old in zip(changed, encoded, strict=True))
    assert 0 < sum(new == old for new, old in zip(changed, encoded, strict=True)) < len(texts)
