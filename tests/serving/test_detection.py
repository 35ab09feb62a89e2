"""Language detection with several bundles, of which some are damaged or old."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.corpus.synthetic.captions import captions
from dragoman.doctor.input import describe_text
from dragoman.languages.identify import count_ngrams, write_ngrams
from dragoman.serving.detection import UNKNOWN, LanguageDetector
from dragoman.serving.models import ModelTable, ServedModel

GERMAN, ENGLISH = zip(*captions("train")[:2000], strict=True)
CZECH = ["pes běží přes louku", "žena čte knihu", "muž má klobouk", "dítě si hraje v parku"] * 10
TEXTS = {"de": GERMAN, "en": ENGLISH, "cs": CZECH}


def model(source: str, target: str, **profiles: str) -> ServedModel:
    """A model whose bundle stores profiles, by default those of its languages."""
    sources, targets = TEXTS[source], TEXTS[target]
    size = min(len(sources), len(targets))
    described = describe_text(sources[:size], targets[:size], (source, target))
    stored = profiles or {language: write_ngrams(count_ngrams(TEXTS[language])) for language in (source, target)}
    described = described.model_copy(update={"profiles": stored})
    bundle: Any = SimpleNamespace(table=lambda name, kind: described)
    return ServedModel(source, target, lambda segments: [], len, bundle)


@pytest.mark.parametrize("line", ["", "x", "x 0", "x y"], ids=["empty", "odd", "zero", "no number"])
def test_damaged_profiles_of_one_bundle_do_not_affect_the_others(line: str) -> None:
    alone = LanguageDetector.of(ModelTable([model("de", "en")]))
    both = LanguageDetector.of(ModelTable([model("de", "en"), model("cs", "en", cs=line, en=line)]))
    for text in (GERMAN[3], ENGLISH[3]):
        assert both.detect(text) == alone.detect(text)
        assert alone.detect(text)[0][1] > 0.9
    assert alone.detect("žena čte knihu") == [(UNKNOWN, 0.0)]
    assert both.detect("žena čte knihu")[0][0] == "cs", "by its frequent words"


def test_without_any_profile_frequent_words_decide() -> None:
    detector = LanguageDetector.of(ModelTable([model("de", "en", de="")]))
    assert detector.detect("ein mann und eine frau")[0][0] == "de"


def test_the_order_of_bundles_makes_no_difference() -> None:
    """The n-grams of a language are ranked by the counts of all bundles together."""
    models = [model("de", "en"), model("cs", "en"), model("de", "cs")]
    texts = [GERMAN[3], ENGLISH[3], CZECH[0]]
    first, second = (LanguageDetector.of(ModelTable(each)) for each in (models, models[::-1]))
    assert [first.detect(text) for text in texts] == [second.detect(text) for text in texts]
