"""Influence by removal equals scoring the same translation with another source."""

from __future__ import annotations

import numpy as np
import pytest
from random_bundles import VARIANTS, make_bundle

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.explanation.explain import Explanation
from dragoman.explanation.influence import removable_words
from dragoman.text.multilingual import MultilingualTokenizer
from dragoman.translator import Translator

TEXT = "Ein kleiner Junge spielt im Park mit 3 Hunden."


@pytest.fixture(scope="module", params=["pre-norm, tied", "torch's layers", "words", "placeholders"])
def translator(request: pytest.FixtureRequest) -> Translator:
    assert request.param in VARIANTS
    return Translator(make_bundle(request.param))


@pytest.fixture(scope="module")
def explanation(translator: Translator) -> Explanation:
    return translator.explain(TEXT)


def score(translator: Translator, text: str, explanation: Explanation) -> list[float]:
    """The log-probabilities of the tokens of an explained translation, given another source."""
    ids = translator.text_search.encode([text])[0].ids
    (scores,) = translator.engine.score([ids], [explanation.model_input.target])
    return scores.log_probabilities


def test_each_removal_scores_the_translation_without_the_word(translator: Translator, explanation: Explanation) -> None:
    influence, words = explanation.influence, TEXT.split()
    assert len(influence.words) == len(words)
    np.testing.assert_allclose(influence.log_probabilities, score(translator, TEXT, explanation), atol=1e-4)
    for index in (0, 2, 5):  # without the number, which a mask would assign another token to
        without = " ".join(word for place, word in enumerate(words) if place != index)
        np.testing.assert_allclose(influence.without[index], score(translator, without, explanation), atol=1e-4)
    assert np.ptp(influence.total) > 0


def test_sums_over_words_are_those_over_tokens(explanation: Explanation) -> None:
    influence = explanation.influence
    assert influence.by_word().shape == (len(influence.target.words), len(influence.words))
    np.testing.assert_allclose(influence.by_word().sum(axis=0), influence.total, rtol=1e-3, atol=1e-4)
    for word, row in zip(influence.target.words, influence.by_word(), strict=True):
        np.testing.assert_allclose(row, influence.decrease[word.start : word.end].sum(axis=0), rtol=1e-4, atol=1e-5)


def test_words_can_be_left_out(translator: Translator, explanation: Explanation) -> None:
    without = translator.explain(TEXT, [1, 4])
    expected = translator.explain("Ein Junge spielt Park mit 3 Hunden.")
    assert without.model_input.source == expected.model_input.source
    assert without.translation.text == expected.translation.text
    assert len(without.influence.words) == len(explanation.influence.words) - 2
    with pytest.raises(UserError, match="no source word with the index 9: there are 9, counted from 0"):
        translator.explain(TEXT, [9])
    with pytest.raises(UserError, match="no word to translate"):
        translator.explain("Hund", [0])


def test_the_influence_of_the_only_word_is_that_of_the_whole_source(translator: Translator) -> None:
    explanation = translator.explain("Hund")
    (scores,) = translator.engine.score([[]], [explanation.model_input.target])
    np.testing.assert_allclose(explanation.influence.without[0], scores.log_probabilities, atol=1e-4)


def test_the_token_of_the_language_is_no_word() -> None:
    bundle = make_bundle()
    token = bundle.source.vocabulary.tokens[-1]
    source = MultilingualTokenizer(bundle.source, {"de": token}, "de")
    multilingual = Bundle(bundle.recipe, bundle.model, source, bundle.target)
    (ids,) = source.encode([TEXT])
    assert [word.text for word in removable_words(multilingual, ids)] == TEXT.split()
