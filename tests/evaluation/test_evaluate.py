"""Scores: sacreBLEU's own, and the loss of the references."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from torch.nn import functional as F

from dragoman.evaluation.evaluate import corpus_scores, describe_decoding, encode_pairs, evaluate, teacher_forced
from dragoman.settings import Decoding
from dragoman.translator import Translator


@pytest.fixture(scope="module")
def sides(corpus: Path) -> tuple[list[str], list[str]]:
    source, target = ((corpus / f"test.{language}").read_text().splitlines() for language in ("de", "en"))
    return source, target


def test_scores_are_those_of_sacrebleu(translator: Translator, sides: tuple[list[str], list[str]]) -> None:
    report, translations = evaluate(translator, *sides)
    assert translations == [translation.text for translation in translator(sides[0])]
    assert report.sentences == len(sides[0])
    assert report.bleu == pytest.approx(BLEU().corpus_score(translations, [sides[1]]).score, abs=6e-4)
    assert report.chrf == pytest.approx(CHRF().corpus_score(translations, [sides[1]]).score, abs=6e-4)
    assert "nrefs:1|case:mixed" in report.bleu_signature
    assert "|version:" in report.chrf_signature


def test_a_right_translation_scores_100_and_a_wrong_one_less(sides: tuple[list[str], list[str]]) -> None:
    right, wrong = corpus_scores(sides[1], sides[1]), corpus_scores(sides[0], sides[1])
    assert right["bleu"] == right["chrf"] == pytest.approx(100)
    assert wrong["bleu"] < 10
    assert wrong["chrf"] < 50
    lower = corpus_scores([text.lower() for text in sides[1]], sides[1])
    assert lower["bleu"] < 100, "case counts"


def test_the_length_ratio_is_that_of_all_tokens() -> None:
    assert corpus_scores(["one two", "one."], ["one two three four", "one two."])["length_ratio"] == round(4 / 7, 4)
    assert corpus_scores(["one two"], [""])["length_ratio"] == 2.0


def test_loss_is_the_mean_over_reference_tokens(translator: Translator, sides: tuple[list[str], list[str]]) -> None:
    """Against the plain formula, one unpadded pair at a time."""
    bundle = translator.bundle
    source, target = bundle.source.vocabulary, bundle.target.vocabulary
    total, tokens = 0.0, 0
    encoded = zip(bundle.source.encode(sides[0]), bundle.target.encode(sides[1]), strict=True)
    with torch.inference_mode():
        for sources, targets in encoded:
            logits = bundle.model(torch.tensor([[*sources, source.eos]]), torch.tensor([[target.bos, *targets]]))[0]
            total += float(F.cross_entropy(logits, torch.tensor([*targets, target.eos]), reduction="sum"))
            tokens += len(targets) + 1
    report, _ = evaluate(translator, *sides)
    assert report.loss == pytest.approx(total / tokens, abs=2e-5)
    assert report.perplexity == pytest.approx(math.exp(total / tokens), rel=1e-4)


def test_teacher_forced_bleu_is_that_of_the_likeliest_next_tokens(
    translator: Translator, sides: tuple[list[str], list[str]]
) -> None:
    """Against the plain way, one pair at a time, with references that the model half agrees with."""
    bundle = translator.bundle
    source, target = bundle.source.vocabulary, bundle.target.vocabulary
    greedy = Translator(bundle, Decoding(beam_size=1))
    references = [f"{one.text[:80]} {text[:20]}" for one, text in zip(greedy(sides[0]), sides[1], strict=True)]
    predicted, wanted = [], []
    with torch.inference_mode():
        for sources, targets in zip(bundle.source.encode(sides[0]), bundle.target.encode(references), strict=True):
            logits = bundle.model(torch.tensor([[*sources, source.eos]]), torch.tensor([[target.bos, *targets]]))[0]
            likeliest = [index for index in logits[:-1].argmax(dim=-1).tolist() if index != target.eos]
            predicted.append(" ".join(target.tokens[index] for index in likeliest))
            wanted.append(" ".join(target.tokens[index] for index in targets))
    expected = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(predicted, [wanted]).score
    report, _ = evaluate(translator, sides[0], references)
    assert 5 < expected < 95
    assert report.teacher_forced_bleu == pytest.approx(expected, abs=1e-3)


def test_exact_is_the_share_that_is_the_reference(translator: Translator, sides: tuple[list[str], list[str]]) -> None:
    _, translations = evaluate(translator, *sides)
    half = len(translations) // 2
    report, _ = evaluate(translator, sides[0], [*translations[:half], *(f"{text} no" for text in translations[half:])])
    assert report.exact == pytest.approx(half / len(translations), abs=1e-5)


def test_loss_depends_on_no_batching_or_order(translator: Translator, sides: tuple[list[str], list[str]]) -> None:
    bundle = translator.bundle
    losses = []
    for step, batch_tokens in ((1, 4096), (-1, 100), (1, 1)):
        pairs = encode_pairs(sides[0][::step], sides[1][::step], bundle.source, bundle.target, 130)
        losses.append(teacher_forced(bundle.model, pairs, bundle.source, bundle.target, batch_tokens)[0])
    assert losses[1:] == pytest.approx([losses[0]] * 2, rel=1e-5)


def test_translating_a_part_leaves_the_loss_that_of_all(
    translator: Translator, sides: tuple[list[str], list[str]]
) -> None:
    whole, translations = evaluate(translator, *sides)
    part, first = evaluate(translator, *sides, translate_at_most=4)
    assert part.loss == whole.loss
    assert part.sentences == 4
    assert first == translations[:4]


def test_blank_and_overlong_pairs_are_scored_too(translator: Translator) -> None:
    with pytest.warns(UserWarning, match="1 of 3 texts were longer"):
        report, translations = evaluate(translator, ["", "Hund " * 500, "Ein Hund."], ["x", "dog " * 500, ""])
    assert report.sentences == 3
    assert translations[0] == ""
    assert math.isfinite(report.loss)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Decoding(beam_size=1), "greedy"),
        (Decoding(beam_size=7, length_penalty=0.6), "beam 7, length penalty 0.6"),
        (Decoding(sampling=True, temperature=0.5, seed=3), "sampled with temperature 0.5, seed 3"),
    ],
)
def test_report_says_how_it_was_decoded(settings: Decoding, words: str) -> None:
    assert describe_decoding(settings) == words
