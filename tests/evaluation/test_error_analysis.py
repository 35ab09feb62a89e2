"""Error analysis: every sentence is in the right group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.evaluation.error_analysis import analyze_errors
from dragoman.evaluation.metrics import sentence_chrf
from dragoman.text.id_store import IdStore
from dragoman.translator import Translator


@pytest.fixture(scope="module")
def pairs(corpus: Path) -> tuple[list[str], list[str]]:
    sources, references = ((corpus / f"test.{code}").read_text("utf-8").splitlines() for code in ("de", "en"))
    return [*sources, "", "Ein Zebra 🦓."], [*references, "", "A zebra 🦓."]


@pytest.fixture(scope="module")
def train(translator: Translator, corpus: Path) -> IdStore:
    return IdStore.of(translator.bundle.source.encode((corpus / "train.de").read_text("utf-8").splitlines()))


@pytest.fixture(scope="module")
def analysis(translator: Translator, train: IdStore, pairs: tuple[list[str], list[str]]) -> dict[str, Any]:
    sources, references = pairs
    return analyze_errors(translator, train, sources, references, [each.text for each in translator(sources)])


def test_best_and_worst_are_ranked_by_sentence_chrf(
    translator: Translator, pairs: tuple[list[str], list[str]], analysis: dict[str, Any]
) -> None:
    sources, references = pairs
    scores = sentence_chrf([each.text for each in translator(sources)], references)
    best, worst = ([round(each, 1) for each in sorted(scores, reverse=order)[:5]] for order in (True, False))
    assert [each["chrf"] for each in analysis["best"]] == best
    assert [each["chrf"] for each in analysis["worst"]] == worst
    for each in [*analysis["best"], *analysis["worst"]]:
        assert references[sources.index(each["source"])] == each["reference"]


@pytest.mark.parametrize("key", ["by_length", "by_rarest_word"])
def test_every_sentence_is_in_one_group(pairs: tuple[list[str], list[str]], analysis: dict[str, Any], key: str) -> None:
    sources = [text for text in pairs[0] if text] if key == "by_length" else pairs[0]
    assert sum(group["sentences"] for group in analysis[key]) == len(sources)
    assert len(analysis[key]) > 1


def test_attention_examples_are_between_words(pairs: tuple[list[str], list[str]], analysis: dict[str, Any]) -> None:
    examples = analysis["attention"]
    assert [" ".join(each["source"][:-1]) for each in examples] == pairs[0][: len(examples)]
    assert examples
    for each in examples:
        weights = np.array(each["weights"])
        assert weights.shape == (len(each["translation"]), len(each["source"]))
        assert np.abs(weights.sum(axis=1) - 100).max() <= len(each["source"])


def test_an_empty_text_has_no_group_and_no_attention(translator: Translator, train: IdStore) -> None:
    analysis = analyze_errors(translator, train, [""], [""], [""])
    assert analysis["attention"] == analysis["by_length"] == []
