"""The nearest match is the training sentence with the most and the rarest words in common."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dragoman.evaluation.baseline import nearest_match_baseline, nearest_sentences
from dragoman.evaluation.metrics import corpus_scores
from dragoman.text.id_store import IdStore

if TYPE_CHECKING:
    from dragoman.dataset.prepare import Dataset


def cosine(first: set[int], second: set[int], sentences: list[set[int]]) -> float:
    """The cosine of two sets of ids, by its definition."""

    def product(ids: set[int]) -> float:
        frequencies = (sum(token in sentence for sentence in sentences) for token in ids)
        return sum(math.log((1 + len(sentences)) / (1 + frequency)) ** 2 for frequency in frequencies)

    return product(first & second) / max(1e-9, math.sqrt(product(first) * product(second)))


def test_the_most_similar_sentence_is_found() -> None:
    generator = np.random.default_rng(1)
    sentences = [generator.geometric(0.1, size=generator.integers(1, 12)).tolist() for _ in range(200)]
    texts = [generator.geometric(0.1, size=generator.integers(1, 12)).tolist() for _ in range(50)]
    sets = [set(sentence) for sentence in sentences]
    known = set().union(*sets)
    for text, index in zip(texts, nearest_sentences(IdStore.of(sentences), texts), strict=True):
        similar = [cosine(set(text) & known, each, sets) for each in sets]
        assert similar[index] >= max(similar) - 1e-9


def test_training_sentences_are_their_own_nearest_matches() -> None:
    sentences = [[1, 2, 3], [3, 2, 4], [5], [1, 2]]
    assert nearest_sentences(IdStore.of(sentences), sentences).tolist() == [0, 1, 2, 3]


def test_a_part_of_a_large_corpus_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.evaluation.baseline.MAX_SENTENCES", 3)
    sentences = [[number] for number in range(7)]
    assert nearest_sentences(IdStore.of(sentences), [[0], [3], [6]]).tolist() == [0, 3, 6]


def test_unknown_and_empty_texts_have_any_match() -> None:
    assert nearest_sentences(IdStore.of([[1], []]), [[], [7]]).tolist() == [0, 0]


def test_training_text_is_translated_perfectly(prepared: Dataset) -> None:
    train, rows = prepared.train, range(0, 40)
    sources = [prepared.source.decode(train.source[row].tolist()) for row in rows]
    references = [prepared.target.decode(train.target[row].tolist()) for row in rows]
    baseline = nearest_match_baseline(prepared, sources, references)
    assert baseline.bleu > 95, "equal sentences may have several translations"
    assert baseline.bleu > corpus_scores(references[::-1], references)["bleu"]
