"""Two translators: what is certainly better comes out so, and what may be luck does not."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from dragoman.evaluation.comparison import METHODS, compare, significance
from dragoman.evaluation.evaluate import corpus_scores
from dragoman.settings import Decoding
from dragoman.translator import Translator

SIZES = ("big", "old")
REFERENCES = [f"The {size} dog number {number} runs across the green field." for number in range(20) for size in SIZES]


def spoiled(*indices: int) -> list[str]:
    """The references with these changed."""
    return [
        text.replace("green field", "street here") if index in indices else text
        for index, text in enumerate(REFERENCES)
    ]


def test_a_clear_difference_is_significant() -> None:
    worse, better = spoiled(*range(0, 40, 2)), spoiled(1, 21)
    found = significance(worse, better, REFERENCES)
    assert {(each.metric, each.method) for each in found} == set(product(("BLEU", "chrF2"), METHODS.values()))
    for each in found:
        assert each.p_value < 0.01
        key = "bleu" if each.metric == "BLEU" else "chrf"
        assert each.first == pytest.approx(corpus_scores(worse, REFERENCES)[key], abs=1e-3)
        assert each.second == pytest.approx(corpus_scores(better, REFERENCES)[key], abs=1e-3)


def test_luck_is_not_significant() -> None:
    one, two = spoiled(*range(0, 40, 4)), spoiled(*range(2, 40, 4), 1)
    for each in significance(one, two, REFERENCES):
        assert each.first > each.second
        assert each.p_value > 0.2


def test_equal_scores_are_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.evaluation.comparison.METHODS", {"bs": "paired bootstrap"})
    assert all(each.p_value == 1.0 for each in significance(spoiled(0), spoiled(0), REFERENCES))


def test_sentences_that_differ_most_come_first(
    translator: Translator, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.evaluation.comparison.METHODS", {"bs": "paired bootstrap"})
    sources, references = ((corpus / f"test.{code}").read_text().splitlines() for code in ("de", "en"))
    short = Translator(translator.bundle, Decoding(beam_size=1, max_length=5))
    found = compare(translator, short, sources, references)
    gaps = [abs(each.first_chrf - each.second_chrf) for each in found.differences]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps
    ours = {text: translation.text for text, translation in zip(sources, translator(sources), strict=True)}
    theirs = {text: translation.text for text, translation in zip(sources, short(sources), strict=True)}
    assert all((each.first, each.second) == (ours[each.source], theirs[each.source]) for each in found.differences)
    same = [text for text in sources if ours[text] == theirs[text]]
    assert len(found.differences) + len(same) == len(sources)
    assert (found.first.bleu > found.second.bleu) == (found.significance[0].first > found.significance[0].second)
