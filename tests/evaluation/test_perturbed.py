"""Scores on changed text: those of its translations, next to those on the clean text."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.evaluation.evaluate import evaluate
from dragoman.evaluation.metrics import corpus_scores
from dragoman.evaluation.perturbed import evaluate_perturbed, perturbed_table
from dragoman.text.augmentation import TEXT_CHANGES
from dragoman.translator import Translator

Sides = tuple[list[str], list[str]]


@pytest.fixture(scope="module")
def sides(corpus: Path) -> Sides:
    source, target = ((corpus / f"test.{language}").read_text("utf-8").splitlines()[:12] for language in ("de", "en"))
    return source, target


def test_each_kind_is_scored_with_its_translations(translator: Translator, sides: Sides) -> None:
    _, translations = evaluate(translator, *sides)
    scores = evaluate_perturbed(translator, *sides, translations)
    assert list(scores) == ["clean", *TEXT_CHANGES]
    clean = corpus_scores(translations, sides[1], lowercase=True)
    assert (scores["clean"].bleu, scores["clean"].bleu_share) == (clean["bleu"], 1.0)
    assert "case:lc" in scores["clean"].bleu_signature
    upper = [str(each) for each in translator([source.upper() for source in sides[0]])]
    expected = corpus_scores([text.lower() for text in upper], [text.lower() for text in sides[1]])
    assert scores["upper_case"].bleu == expected["bleu"]
    assert scores["upper_case"].chrf == expected["chrf"]
    assert scores["upper_case"].chrf_share == pytest.approx(expected["chrf"] / clean["chrf"], abs=1e-4)
    assert {scores[kind].changed for kind in ("upper_case", "title_case", "typos")} == {len(sides[0])}
    assert evaluate_perturbed(translator, *sides, translations) == scores
    table = perturbed_table(scores)
    assert f"{scores['typos'].chrf:.2f}" in table


def test_only_changed_texts_are_scored(translator: Translator, sides: Sides) -> None:
    """Texts without punctuation at the end have no influence on its score, even if their translations are wrong."""
    plain = [text.rstrip(".") for text in sides[0]], [text.rstrip(".") for text in sides[1]]
    _, translations = evaluate(translator, *plain)
    nothing = evaluate_perturbed(translator, *plain, translations)
    assert (nothing["no_end_punctuation"].changed, nothing["no_end_punctuation"].bleu) == (0, None)
    assert "no end punctuation         0       -         -       -         -" in perturbed_table(nothing)
    sources, references = ([*some, *others] for some, others in zip(sides, plain, strict=True))
    wrong = ["wrong"] * len(plain[0])
    alone, mixed = (
        evaluate_perturbed(translator, *each, [*evaluate(translator, *sides)[1], *more])["no_end_punctuation"]
        for each, more in ((sides, []), ((sources, references), wrong))
    )
    assert alone == mixed
    assert alone.changed == len(sides[0])


def test_the_share_of_a_score_of_zero_is_unknown(translator: Translator) -> None:
    scores = evaluate_perturbed(translator, ["Hund", ""], ["x", ""], ["", ""])
    assert scores["clean"].bleu_share is None
    assert " - " in perturbed_table(scores)
