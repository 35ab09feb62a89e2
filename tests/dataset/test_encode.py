"""Encoding keeps the pairs that fit, with their weights and marks."""

from __future__ import annotations

import pytest

from dragoman.corpus.pair import Pair
from dragoman.dataset.encode import PairEncoder
from dragoman.settings import Text
from dragoman.text.id_store import IdStore
from dragoman.text.registry import train_tokenizers

PAIRS = [Pair("wort " * (number % 7), f"word {number} " * (number % 5)) for number in range(90)]
MAX_TOKENS = 6


@pytest.fixture(scope="module")
def encoder() -> PairEncoder:
    text = Text(tokenizer="whitespace", joint=False)
    sources, targets = [pair.source for pair in PAIRS], [pair.target for pair in PAIRS]
    tokenizers = train_tokenizers(sources, targets, text, source_language="de", target_language="en")
    return PairEncoder(*tokenizers, MAX_TOKENS)


def lists(side: IdStore) -> list[list[int]]:
    return [side[index].tolist() for index in range(len(side))]


def test_only_pairs_that_fit_are_kept(encoder: PairEncoder) -> None:
    encoded = encoder.encode(PAIRS)
    sides = (encoder.source.encode([pair.source for pair in PAIRS]), encoder.target.encode([pair[1] for pair in PAIRS]))
    fitting = [pair for pair in zip(*sides, strict=True) if all(0 < len(side) <= MAX_TOKENS for side in pair)]
    assert list(zip(lists(encoded.source), lists(encoded.target), strict=True)) == fitting
    assert 0 < len(fitting) < len(PAIRS)
    assert encoded.weights is None


def test_weights_and_marks_stay_with_their_pairs(encoder: PairEncoder) -> None:
    encoded = encoder.encode(
        [pair._replace(weight=number, tagged=number % 2 == 1) for number, pair in enumerate(PAIRS)]
    )
    assert encoded.weights is not None
    for index, weight in enumerate(encoded.weights.tolist()):
        source, bos = encoded.source[index].tolist(), encoder.source.vocabulary.bos
        assert (source[0] == bos) == (weight % 2 == 1)
        assert encoder.source.encode([PAIRS[int(weight)].source])[0] == source[source[0] == bos :]
