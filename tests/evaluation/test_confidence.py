"""Confidence: probabilities that are calibrated, stored in bundles, and unknown to older ones."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import dragoman
from dragoman.bundle import Bundle
from dragoman.documents.translate import TextTranslator
from dragoman.errors import UserError
from dragoman.evaluation.confidence import MIN_PAIRS, Confidence, calibrate, fit_confidence
from dragoman.text.translation import Translation

if TYPE_CHECKING:
    from dragoman.translator import Translator

GOOD, BAD = "The dog runs.", "xyz"


def made_translations(count: int, seed: int) -> tuple[list[Translation], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Translations of five tokens that are good with a probability that depends on theirs."""
    generator = np.random.default_rng(seed)
    values = np.log(generator.uniform(0.1, 0.95, count))
    good = generator.random(count) < 1 / (1 + np.exp(-2.5 - 3 * values))
    texts = [GOOD if each else BAD for each in good]
    made = zip(texts, values, strict=True)
    return [Translation(text, list("abcde"), log_probability=5 * value) for text, value in made], good


def test_probabilities_are_calibrated() -> None:
    fitted, _ = made_translations(500, 1)
    confidence = fit_confidence(fitted, [GOOD] * 500)
    translations, good = made_translations(4000, 2)
    values = np.array([confidence.estimate(each.log_probability, 5) for each in translations], dtype=float)
    groups = np.array_split(np.argsort(values), 10)
    assert np.mean([abs(values[group].mean() - good[group].mean()) for group in groups]) < 0.05
    assert values[good].mean() > values[~good].mean() + 0.1


@pytest.mark.parametrize("text", [GOOD, BAD])
def test_translations_that_are_all_good_or_bad_give_finite_weights(text: str) -> None:
    translations = [replace(each, text=text) for each in made_translations(MIN_PAIRS, 3)[0]]
    value = fit_confidence(translations, [GOOD] * MIN_PAIRS).estimate(-2.5, 5)
    assert value is not None
    assert (value > 0.8) if text == GOOD else (value < 0.2)


def test_few_pairs_and_no_tokens_give_no_confidence(translator: Translator) -> None:
    translations, references = translator(["Ein Hund."] * MIN_PAIRS), ["A dog."] * MIN_PAIRS
    assert calibrate(translations[1:], references[1:]) is None
    confidence = calibrate(translations, references)
    assert confidence is not None
    assert confidence.estimate(0.0, 0) is None


def test_bundles_store_it(translator: Translator, tmp_path: Path) -> None:
    confidence = fit_confidence(made_translations(MIN_PAIRS, 4)[0], [GOOD] * MIN_PAIRS)
    replace(translator.bundle, confidence=confidence.model_dump()).save(tmp_path / "bundle")
    loaded = dragoman.load(tmp_path / "bundle", device="cpu")
    assert loaded.bundle.table("confidence", Confidence) == confidence
    text = "Ein Hund läuft."
    (found,), translation = TextTranslator(loaded).stream([text]), loaded(text)
    expected = confidence.estimate(math.fsum(translation.log_probabilities), len(translation.tokens))
    assert found.confidence == pytest.approx(expected)
    both, one, other = TextTranslator(loaded).stream([f"{text} Eine Frau liest.", text, "Eine Frau liest."])
    assert both.confidence == pytest.approx(min(each.confidence or 0 for each in (one, other)), abs=1e-4)


def test_older_bundles_have_none(translator: Translator, tmp_path: Path) -> None:
    translator.bundle.save(tmp_path / "bundle")
    about = json.loads((tmp_path / "bundle" / "bundle.json").read_text("utf-8"))
    assert about.pop("confidence") == {}
    (tmp_path / "bundle" / "bundle.json").write_text(json.dumps(about), "utf-8")
    (found,) = TextTranslator(dragoman.load(tmp_path / "bundle", device="cpu")).stream(["Ein Hund."])
    assert found.confidence is None


def test_damaged_numbers_are_reported(translator: Translator) -> None:
    bundle: Bundle = replace(translator.bundle, confidence={"constant": "x"})
    with pytest.raises(UserError, match=r"damaged \(confidence\.constant"):
        TextTranslator(dragoman.Translator(bundle, device="cpu"))
