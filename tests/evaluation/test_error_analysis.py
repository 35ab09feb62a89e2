"""The breakdown of a translator's scores: the right sentences in the right groups."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.dataset.token_store import IdStore
from dragoman.evaluation.error_analysis import break_down, rarest_words, sentence_scores
from dragoman.translator import Translator


@pytest.fixture(scope="module")
def pairs(corpus: Path) -> tuple[list[str], list[str]]:
    sources, references = ((corpus / f"test.{code}").read_text().splitlines() for code in ("de", "en"))
    return [*sources, "", "Ein Zebra 🦓."], [*references, "", "A zebra 🦓."]


@pytest.fixture(scope="module")
def train(translator: Translator, corpus: Path) -> IdStore:
    return IdStore.of(translator.bundle.source.encode((corpus / "train.de").read_text().splitlines()))


@pytest.fixture(scope="module")
def found(translator: Translator, train: IdStore, pairs: tuple[list[str], list[str]]) -> dict[str, Any]:
    sources, references = pairs
    return break_down(translator, train, sources, references, [each.text for each in translator(sources)])


def test_the_rarest_word_is_counted(
    translator: Translator, train: IdStore, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.evaluation.error_analysis.CHUNK", 7)
    lines = (corpus / "train.de").read_text().splitlines()
    counts = Counter(word for line in lines for word in line.split())
    texts = [*(corpus / "test.de").read_text().splitlines(), "Ein Zebra.", "", lines[0]]
    expected = [min((counts[word] for word in text.split()), default=0) for text in texts]
    assert rarest_words(train, translator.bundle.source, texts).tolist() == expected
    assert len(set(expected)) > 3
    assert expected[-1] > 0


def test_best_and_worst_are_by_their_own_chrf(
    translator: Translator, pairs: tuple[list[str], list[str]], found: dict[str, Any]
) -> None:
    sources, references = pairs
    scores = sentence_scores([each.text for each in translator(sources)], references)
    assert [each["chrf"] for each in found["best"]] == [round(each, 1) for each in sorted(scores, reverse=True)[:5]]
    assert [each["chrf"] for each in found["worst"]] == [round(each, 1) for each in sorted(scores)[:5]]
    for each in [*found["best"], *found["worst"]]:
        assert references[sources.index(each["source"])] == each["reference"]


@pytest.mark.parametrize("key", ["by_length", "by_rarest_word"])
def test_every_sentence_is_in_one_group(pairs: tuple[list[str], list[str]], found: dict[str, Any], key: str) -> None:
    sources = [text for text in pairs[0] if text] if key == "by_length" else pairs[0]
    assert sum(group["sentences"] for group in found[key]) == len(sources)
    assert len(found[key]) > 1


def test_attention_between_words(
    translator: Translator, pairs: tuple[list[str], list[str]], found: dict[str, Any]
) -> None:
    assert [" ".join(each["source"][:-1]) for each in found["attention"]] == pairs[0][: len(found["attention"])]
    for each in found["attention"]:
        weights = np.array(each["weights"])
        assert weights.shape == (len(each["translation"]), len(each["source"]))
        assert np.abs(weights.sum(axis=1) - 100).max() <= len(each["source"])


def test_nothing_breaks_down_to_nothing(translator: Translator, train: IdStore) -> None:
    found = break_down(translator, train, [""], [""], [""])
    assert found["attention"] == found["by_length"] == []
