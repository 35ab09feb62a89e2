"""A common mistake: the causal mask is computed, and its result is discarded.

With `scores.masked_fill(~mask, -inf)` instead of `scores = scores.masked_fill(...)`, the decoder sees the future.
Training then looks excellent, because the model only learns to copy the next input, and translations repeat one
word. One of the relations that the tests of the model assert does not hold for such a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
import torch
from tiny_models import SIZE, padded_source, random_ids, tiny_model
from torch import Tensor

from dragoman.kernels import varlen
from dragoman.kernels.varlen import VarlenMask, shapes_of
from dragoman.model import transformer

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RecipeMaker


@pytest.fixture
def discarded_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every position of the decoder see all others."""

    def no_mask(length: int, device: torch.device) -> Tensor:
        return torch.ones(length, length, dtype=torch.bool, device=device)

    def no_masks(groups: Sequence[Tensor]) -> VarlenMask:
        return VarlenMask(shapes_of(groups), shapes_of(groups), (None,) * len(groups))

    monkeypatch.setattr(transformer, "causal_mask", no_mask)
    monkeypatch.setattr(varlen, "causal_masks", no_masks)


@pytest.mark.usefixtures("discarded_mask")
def test_the_future_changes_what_comes_before() -> None:
    model, source, target = tiny_model(), padded_source(6, 4), random_ids(2, 7)
    changed = target.clone()
    changed[:, 4:] = (target[:, 4:] + 1) % SIZE
    difference = (model(source, changed) - model(source, target))[:, :4].abs().max()
    assert difference > 1e-3, "test_the_future_changes_nothing_before_it would fail"


@pytest.mark.slow
@pytest.mark.usefixtures("discarded_mask")
def test_training_looks_excellent_and_translations_are_empty_or_repeat_one_word(
    make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    import dragoman
    from dragoman.training.run.log import read_metrics
    from dragoman.training.run.run import train

    recipe = make_recipe(
        'data.train=["captions:train"]',
        'data.validation=["captions:validation"]',
        "text.vocabulary_size=500",
        "model.d_model=64",
        "model.heads=4",
        "model.d_ff=128",
        "model.dropout=0",
        "training.steps=500",
        "training.learning_rate=5e-3",
        "training.batch_tokens=1024",
        "training.warmup_steps=200",
        "training.label_smoothing=0",
        "training.validations=1",
        "training.log_every=50",
    )
    assert train(recipe, tmp_path / "run")
    lines = read_metrics(tmp_path / "run" / "metrics.jsonl")
    (validation,) = (line for line in lines if line["kind"] == "validation")
    assert validation["perplexity"] < 1.5
    assert validation["token_accuracy"] > 0.9
    assert validation["bleu"] < 5
    sources = [sample["source"] for sample in validation["samples"]]
    translations = dragoman.load(tmp_path / "run")(sources)
    repeated = [first == second for one in translations for first, second in pairwise(one.tokens)]
    assert sum(repeated) >= len(repeated) / 2, "pool pool pool, or nothing at all"
    warnings = [line["message"] for line in lines if line["kind"] == "event"]
    assert any("future-leak" in warning for warning in warnings), "found before the first step"
    assert any("exposure-gap" in warning for warning in warnings), "found at the validation"
