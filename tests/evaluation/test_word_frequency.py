"""Counts of the rarest word of each text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from dragoman.evaluation.error_analysis import rarest_word_counts
from dragoman.text.id_store import IdStore
from dragoman.translator import Translator


@pytest.fixture(scope="module")
def lines(corpus: Path) -> list[str]:
    return (corpus / "train.de").read_text("utf-8").splitlines()


def test_counts_equal_those_of_words_separated_by_spaces(
    translator: Translator, corpus: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.evaluation.error_analysis.CHUNK", 7)
    train = IdStore.of(translator.bundle.source.encode(lines))
    counts = Counter(word for line in lines for word in line.split())
    texts = [*(corpus / "test.de").read_text("utf-8").splitlines(), "Ein Zebra.", "", lines[0]]
    expected = [min((counts[word] for word in text.split()), default=0) for text in texts]
    assert rarest_word_counts(train, translator.bundle.source, texts).tolist() == expected
    assert len(set(expected)) > 3
    assert expected[-1] > 0


def test_texts_without_words_have_the_count_zero(translator: Translator, lines: list[str]) -> None:
    train = IdStore.of(translator.bundle.source.encode(lines[:3]))
    assert rarest_word_counts(train, translator.bundle.source, ["", " "]).tolist() == [0, 0]
