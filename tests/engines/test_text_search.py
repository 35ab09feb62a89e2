"""Texts are scored by the model of the bundle, which is prepared once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.engines import text_search
from dragoman.evaluation.teacher_forcing import score_references
from dragoman.translator import Translator


def test_scores_are_those_of_the_model_which_is_copied_once(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied, accelerated = list[object](), text_search.accelerated

    def count(model: object) -> object:
        copied.append(model)
        return accelerated(translator.bundle.model)

    monkeypatch.setattr(text_search, "accelerated", count)
    search, texts = replace(translator.text_search), ["A dog runs.", "Two dogs run.", "A woman"]
    sources = search.encode(["Ein Hund läuft."] * len(texts))
    together = search.score(sources, texts)
    assert together == pytest.approx(score_references(translator.bundle, ["Ein Hund läuft."] * len(texts), texts))
    one_by_one = [search.score([source], [text])[0] for source, text in zip(sources, texts, strict=True)]
    assert one_by_one == pytest.approx(together)
    assert copied == [translator.bundle.model]
