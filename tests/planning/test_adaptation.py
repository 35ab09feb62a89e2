"""The choice of settings for trainings that start from a bundle."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.planning.adaptation import StartingPoint
from dragoman.planning.plan import Texts, plan_with
from dragoman.planning.text_facts import SideFacts, TextFacts
from dragoman.recipe import build_recipe
from dragoman.settings import Recipe

TEXTS = Texts(("de", "en"), ["my/train.{lang}"])


def facts_of(pairs: int) -> TextFacts:
    side = SideFacts(60 * pairs, 12 * pairs, "Latin")
    return TextFacts(pairs, side, side)


def start_of(**sections: Any) -> StartingPoint:
    document = {
        "name": "old",
        "data": {"source_language": "de", "target_language": "en", "train": ["old.tsv"], "max_tokens": 9},
        "text": {"vocabulary_size": 1234, "normalization": "nfkc", "specials": {"unk": "[UNK]"}},
        "model": {"d_model": 96, "d_ff": 100, "positions": "rotary", "max_length": 60},
        "training": {"steps": 1},
        "decoding": {"beam_size": 3},
    }
    return StartingPoint("runs/old", build_recipe(document | sections), 6_000_000)


def adapted(pairs: int, start: StartingPoint, minutes: float | None = None) -> Recipe:
    return plan_with(TEXTS, facts_of(pairs), minutes, 5e11, None, start).recipe()


@pytest.mark.parametrize("pairs", [1, 1000, 30_000, 1_000_000])
@pytest.mark.parametrize("minutes", [None, 5.0])
def test_an_adaptation_is_shorter_and_slower(pairs: int, minutes: float | None) -> None:
    start = start_of()
    new, plain = adapted(pairs, start, minutes), plan_with(TEXTS, facts_of(pairs), minutes, 5e11).recipe()
    assert (new.text, new.decoding) == (start.recipe.text, start.recipe.decoding)
    assert new.model == start.recipe.model.model_copy(update={"dropout": new.model.dropout})
    assert new.training.start_from == "runs/old"
    assert new.training.learning_rate < plain.training.learning_rate
    assert new.training.warmup_steps <= 100
    assert new.data.max_tokens == 59, "the model reads no longer sentences"
    assert new.training.minutes == minutes
    if new.training.epochs is not None and plain.training.epochs is not None:
        assert new.training.epochs < plain.training.epochs


def test_large_models_have_a_lower_learning_rate() -> None:
    small, large = start_of(), start_of(model={"d_model": 512, "max_length": 200})
    assert adapted(1000, large).training.learning_rate < adapted(1000, small).training.learning_rate


def test_words_get_no_augmentation_that_changes_letters() -> None:
    words = start_of(text={"tokenizer": "whitespace"})
    assert not any(adapted(1000, words).training.augmentation.model_dump().values())
    assert any(adapted(1000, start_of()).training.augmentation.model_dump().values())


def test_the_summary_counts_the_weights_of_the_bundle() -> None:
    planned = plan_with(TEXTS, facts_of(1000), None, 5e11, None, start_of(text={"lowercase": True}))
    summary = planned.summary(planned.recipe())
    assert "6.0 million parameters" in summary
    assert "starts from runs/old" in summary
    assert "converts text to lower case" in summary
