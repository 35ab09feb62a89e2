"""Texts are scored by the model of the bundle, which is prepared once."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from dragoman.engines import step_engine
from dragoman.engines.step_engine import StepEngine
from dragoman.evaluation.teacher_forcing import score_references
from dragoman.kernels import accelerated
from dragoman.model.transformer import Transformer
from dragoman.translator import Translator


def test_scores_are_those_of_the_model_which_is_copied_once(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[Transformer] = []

    def count(model: Transformer, device: torch.device) -> Transformer:
        copied.append(model)
        return accelerated(model, device)

    monkeypatch.setattr(step_engine, "accelerated", count)
    assert isinstance(translator.engine, StepEngine)
    request, decoder = translator.engine.request, translator.engine.decoder
    engine = StepEngine("counted", decoder, request, request.max_length)
    search, texts = replace(translator.text_search, engine=engine), ["A dog runs.", "Two dogs run.", "A woman"]
    sources = search.encode(["Ein Hund läuft."] * len(texts))
    together = search.score(sources, texts)
    assert together == pytest.approx(score_references(translator.bundle, ["Ein Hund läuft."] * len(texts), texts))
    one_by_one = [search.score([source], [text])[0] for source, text in zip(sources, texts, strict=True)]
    assert one_by_one == pytest.approx(together)
    assert copied == [translator.bundle.model]
