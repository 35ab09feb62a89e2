"""BLEU and chrF of texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dragoman.evaluation.metrics import corpus_scores, sentence_chrf, token_bleu

SENTENCES = ["A dog runs across the green field.", "Two women read a book.", "A man buys a red hat."]
OTHERS = ["A cat sleeps on the green field.", "Two men read a book.", "He buys it."]


@pytest.fixture(scope="module")
def german_and_english(corpus: Path) -> tuple[list[str], list[str]]:
    german, english = ((corpus / f"test.{language}").read_text("utf-8").splitlines() for language in ("de", "en"))
    return german, english


def test_corpus_scores_equal_sacrebleu() -> None:
    scores, bleu, chrf = corpus_scores(OTHERS, SENTENCES), BLEU(), CHRF()
    assert scores["bleu"] == pytest.approx(bleu.corpus_score(OTHERS, [SENTENCES]).score, abs=6e-4)
    assert scores["chrf"] == pytest.approx(chrf.corpus_score(OTHERS, [SENTENCES]).score, abs=6e-4)
    assert "nrefs:1|case:mixed" in scores["bleu_signature"] == str(bleu.get_signature())
    assert "|version:" in scores["chrf_signature"] == str(chrf.get_signature())


def test_identical_texts_score_100_and_other_texts_less(german_and_english: tuple[list[str], list[str]]) -> None:
    german, english = german_and_english
    identical, unrelated = corpus_scores(english, english), corpus_scores(german, english)
    assert identical["bleu"] == identical["chrf"] == pytest.approx(100)
    assert unrelated["bleu"] < 10
    assert unrelated["chrf"] < 50
    assert corpus_scores([text.lower() for text in english], english)["bleu"] < 100, "case matters"


def test_length_ratio_is_that_of_all_tokens() -> None:
    assert corpus_scores(["one two", "one."], ["one two three four", "one two."])["length_ratio"] == round(4 / 7, 4)
    assert corpus_scores(["one two"], [""])["length_ratio"] == 2.0


def test_sentence_chrf_equals_the_corpus_score_of_one_sentence() -> None:
    expected = [corpus_scores([one], [reference])["chrf"] for one, reference in zip(OTHERS, SENTENCES, strict=True)]
    assert sentence_chrf(OTHERS, SENTENCES) == pytest.approx(expected, abs=6e-4)


def test_token_bleu_splits_at_spaces_only() -> None:
    assert token_bleu(["a , b c d"], ["a , b c d"]) == pytest.approx(100)
    assert token_bleu(["a, b c d e"], ["a , b c d e"]) < token_bleu(["a , b c d e"], ["a , b c d e"])
