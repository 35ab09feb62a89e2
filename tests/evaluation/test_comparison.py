"""Comparison of two translators."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.errors import UserError
from dragoman.evaluation.significance import Comparison, compare_translators
from dragoman.settings import Decoding
from dragoman.translator import Translator


@pytest.fixture(scope="module")
def sides(corpus: Path) -> tuple[list[str], list[str]]:
    source, target = ((corpus / f"test.{language}").read_text("utf-8").splitlines() for language in ("de", "en"))
    return source, target


@pytest.fixture(scope="module")
def short(translator: Translator) -> Translator:
    """The same model, limited to short translations."""
    return Translator(translator.bundle, Decoding(beam_size=1, max_length=5))


@pytest.fixture(scope="module")
def comparison(translator: Translator, short: Translator, sides: tuple[list[str], list[str]]) -> Comparison:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dragoman.evaluation.significance.METHODS", {"bs": "paired bootstrap"})
        return compare_translators(translator, short, *sides)


def test_largest_differences_come_first(comparison: Comparison) -> None:
    gaps = [abs(each.first_chrf - each.second_chrf) for each in comparison.differences]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps


def test_every_different_translation_is_listed(
    translator: Translator, short: Translator, sides: tuple[list[str], list[str]], comparison: Comparison
) -> None:
    sources = sides[0]
    first = {text: translation.text for text, translation in zip(sources, translator(sources), strict=True)}
    second = {text: translation.text for text, translation in zip(sources, short(sources), strict=True)}
    for each in comparison.differences:
        assert (each.first, each.second) == (first[each.source], second[each.source])
    identical = [text for text in sources if first[text] == second[text]]
    assert len(comparison.differences) + len(identical) == len(sources)


def test_tests_agree_with_the_scores(comparison: Comparison) -> None:
    (bleu, chrf) = comparison.significance
    assert (bleu.first, bleu.second) == (comparison.first.bleu, comparison.second.bleu)
    assert (chrf.first, chrf.second) == (comparison.first.chrf, comparison.second.chrf)


def test_a_translator_does_not_differ_from_itself(translator: Translator, sides: tuple[list[str], list[str]]) -> None:
    comparison = compare_translators(translator, translator, sides[0][:4], sides[1][:4])
    assert comparison.first == comparison.second
    assert comparison.significance == []
    assert comparison.differences == []


@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("de", "hi")])
def test_translators_of_different_directions_are_not_compared(
    translator: Translator, sides: tuple[list[str], list[str]], source: str, target: str
) -> None:
    recipe = translator.bundle.recipe
    data = recipe.data.model_copy(update={"source_language": source, "target_language": target})
    other = replace(translator.bundle, recipe=recipe.model_copy(update={"data": data}))
    with pytest.raises(UserError, match=f"the first translates de-en and the second {source}-{target}, so they cannot"):
        compare_translators(translator, Translator(other), *sides)
    with pytest.raises(UserError, match="cannot form an ensemble"):
        Translator(translator.bundle, ensemble=[other])


def test_comparison_as_json_keeps_its_keys(comparison: Comparison) -> None:
    data = comparison.to_dict()
    assert list(data) == ["first", "second", "significance", "differences"]
    assert list(data["significance"][0]) == ["metric", "method", "first", "second", "p_value", "signature"]
    assert list(data["differences"][0]) == ["source", "reference", "first", "second", "first_chrf", "second_chrf"]
