"""Texts are scored by the model of the bundle, which is prepared once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dragoman.engines import EngineRequest, torch_engine
from dragoman.engines.torch_engine import StepEngine
from dragoman.evaluation.teacher_forcing import score_references
from dragoman.kernels import accelerated
from dragoman.model.transformer import Transformer
from dragoman.translator import Translator


def test_scores_are_those_of_the_model_which_is_copied_once(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[Transformer] = []

    def count(model: Transformer, *others: Any) -> Transformer:
        copied.append(model)
        return accelerated(model, *others)

    monkeypatch.setattr(torch_engine, "accelerated", count)
    engine = StepEngine("counted", translator.bundle.model, EngineRequest(translator.bundle, translator.decoding))
    search, texts = replace(translator.text_search, engine=engine), ["A dog runs.", "Two dogs run.", "A woman"]
    sources = search.encode(["Ein Hund läuft."] * len(texts))
    together = search.score(sources, texts)
    other = Translator(translator.bundle)
    assert together == pytest.approx(score_references(other, ["Ein Hund läuft."] * len(texts), texts))
    one_by_one = [search.score([source], [text])[0] for source, text in zip(sources, texts, strict=True)]
    assert one_by_one == pytest.approx(together)
    assert copied == [translator.bundle.model] * 2, "once for each engine"
