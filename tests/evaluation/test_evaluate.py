"""Evaluation of a translator on sentence pairs."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dragoman.evaluation.evaluate import evaluate, mean_report
from dragoman.evaluation.metrics import corpus_scores
from dragoman.evaluation.teacher_forcing import score_teacher_forced
from dragoman.settings import Decoding
from dragoman.translator import Translator


@pytest.fixture(scope="module")
def sides(corpus: Path) -> tuple[list[str], list[str]]:
    source, target = ((corpus / f"test.{language}").read_text("utf-8").splitlines() for language in ("de", "en"))
    return source, target


def test_report_has_the_scores_of_the_translations(translator: Translator, sides: tuple[list[str], list[str]]) -> None:
    report, translations = evaluate(translator, *sides)
    assert translations == [translation.text for translation in translator(sides[0])]
    assert report.sentences == len(sides[0])
    assert report.to_dict().items() >= corpus_scores(translations, sides[1]).items()


def test_report_has_the_teacher_forced_scores(translator: Translator, sides: tuple[list[str], list[str]]) -> None:
    report, _ = evaluate(translator, *sides)
    scores = score_teacher_forced(translator, *sides)
    assert report.loss == pytest.approx(scores.loss, abs=6e-6)
    assert report.perplexity == pytest.approx(math.exp(scores.loss), rel=1e-4)
    assert report.token_accuracy == pytest.approx(scores.accuracy, abs=6e-6)
    assert report.teacher_forced_bleu is None


def test_exact_is_the_fraction_of_translations_equal_to_the_reference(
    translator: Translator, sides: tuple[list[str], list[str]]
) -> None:
    _, translations = evaluate(translator, *sides)
    half = len(translations) // 2
    references = [*translations[:half], *(f"{text} no" for text in translations[half:])]
    report, _ = evaluate(translator, sides[0], references)
    assert report.exact == pytest.approx(half / len(translations), abs=1e-5)


def test_the_mean_of_directions_is_that_of_all_scores(
    translator: Translator, sides: tuple[list[str], list[str]]
) -> None:
    report, _ = evaluate(translator, *sides)
    names = ("bleu", "chrf", "chrf_pp", "loss", "length_ratio", "exact", "token_accuracy", "wrong_language")
    changes: list[dict[str, Any]] = [dict.fromkeys(names, value) for value in (0.25, 0.75)]
    reports = [replace(report, **each) for each in changes]
    assert all(getattr(mean_report(reports), name) == 0.5 for name in names)
    assert mean_report([report, report]).wrong_language is report.wrong_language is None


def test_translating_some_pairs_keeps_the_loss_of_all_pairs(
    translator: Translator, sides: tuple[list[str], list[str]]
) -> None:
    whole, translations = evaluate(translator, *sides)
    part, first = evaluate(translator, *sides, translate_at_most=4)
    assert part.loss == whole.loss
    assert part.sentences == 4
    assert first == translations[:4]


def test_empty_and_overlong_pairs_are_scored(translator: Translator) -> None:
    with pytest.warns(UserWarning, match="the beginning of 1 of 3 texts"):
        report, translations = evaluate(translator, ["", "Hund " * 500, "Ein Hund."], ["x", "dog " * 500, ""])
    assert report.sentences == 3
    assert translations[0] == ""
    assert math.isfinite(report.loss)


def test_report_describes_the_decoding(translator: Translator, sides: tuple[list[str], list[str]]) -> None:
    greedy = Translator(translator.bundle, Decoding(beam_size=1, max_length=20))
    assert evaluate(greedy, sides[0][:2], sides[1][:2])[0].decoding == "greedy, max_length 20"
