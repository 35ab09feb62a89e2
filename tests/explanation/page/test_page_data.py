"""The data of the page equals what the model computed."""

from __future__ import annotations

import base64
from dataclasses import replace

import numpy as np
import pytest

from dragoman.explanation.explain import Explanation
from dragoman.explanation.page.data import page_data
from dragoman.model.capture import KINDS
from dragoman.translator import Translator

TEXT = "Ein kleiner Junge spielt im Park mit einem Hund."


@pytest.fixture(scope="module")
def explanation(translator: Translator) -> Explanation:
    return translator.explain(TEXT)


def with_second_layer(explanation: Explanation) -> Explanation:
    """The explanation with another layer of different weights, as the tiny model has only one layer."""
    weights = explanation.attention.weights
    deeper = {kind: np.concatenate([each, np.roll(each, 1, axis=-1)]) for kind, each in weights.items()}
    return replace(explanation, attention=replace(explanation.attention, weights=deeper))


def test_maps_equal_those_of_the_model(translator: Translator, explanation: Explanation) -> None:
    deeper = with_second_layer(explanation)
    views, attention = page_data(translator.bundle, translator.decoding, TEXT, deeper)["views"], deeper.attention
    for view, expected in (("tokens", attention), ("words", attention.by_word())):
        for kind in KINDS:
            shown = views[view]["maps"][kind]
            layers, heads, *size = expected.weights[kind].shape
            assert [len(shown["queries"]), len(shown["keys"])] == size
            levels = np.frombuffer(base64.b64decode(shown["weights"]), np.uint8).reshape(-1, *size)
            maps = (levels / 255) ** 2
            assert len(maps) == layers * (heads + 2) + 3
            by_layer = maps[:-3].reshape(layers, heads + 2, *size)
            np.testing.assert_allclose(by_layer[:, :heads], expected.weights[kind], atol=0.005)
            np.testing.assert_allclose(by_layer[:, heads], expected.mean(kind), atol=0.005)
            np.testing.assert_allclose(by_layer[:, heads + 1], expected.maximum(kind), atol=0.005)
            np.testing.assert_allclose(maps[-3], expected.mean(kind).mean(axis=0), atol=0.005)
            np.testing.assert_allclose(maps[-2], expected.maximum(kind).max(axis=0), atol=0.005)
            np.testing.assert_allclose(maps[-1].sum(axis=-1), 1, atol=0.03)


def test_rollout_between_words_is_the_merged_rollout_between_tokens(
    translator: Translator, explanation: Explanation
) -> None:
    attention, shown = (
        explanation.attention,
        page_data(translator.bundle, translator.decoding, TEXT, explanation)["views"]["words"]["maps"],
    )
    for kind in KINDS:
        rollout = attention.merge(kind, attention.rollout(kind))
        levels = np.frombuffer(base64.b64decode(shown[kind]["weights"]), np.uint8).reshape(-1, *rollout.shape)
        np.testing.assert_allclose((levels[-1] / 255) ** 2, rollout, atol=0.005)


def test_the_best_ended_candidate_leads_back_to_the_beginning(translator: Translator, explanation: Explanation) -> None:
    steps = page_data(translator.bundle, translator.decoding, TEXT, explanation)["steps"]
    ended = [(each["final"], number, each) for number, step in enumerate(steps) for each in step if each["final"]]
    _, number, best = max(ended, key=lambda each: each[0])
    assert best["text"] == explanation.translation.text
    assert best["score"] == pytest.approx(sum(explanation.translation.log_probabilities), abs=1e-3)
    path = [best]
    for step in reversed(steps[:number]):
        path.append(step[path[-1]["parent"]])
        assert path[-1]["status"] == "kept"
    assert np.prod([each["probability"] for each in path]) == pytest.approx(np.exp(best["score"]), rel=1e-2)


def test_without_subwords_there_is_only_one_view(translator: Translator, explanation: Explanation) -> None:
    attention = explanation.attention.by_word()
    length = len(attention.target_output.tokens)
    translation = replace(explanation.translation, log_probabilities=explanation.translation.log_probabilities[:length])
    by_word = replace(
        explanation, attention=attention, translation=translation, alternatives=explanation.alternatives[:length]
    )
    assert list(page_data(translator.bundle, translator.decoding, TEXT, by_word)["views"]) == ["tokens"]
