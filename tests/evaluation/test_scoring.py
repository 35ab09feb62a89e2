"""The scores of given translations are those of the search that found them."""

from __future__ import annotations

import math

import pytest
import torch

import dragoman.engines.scoring
from dragoman.corpus.synthetic.captions import captions
from dragoman.evaluation.scoring import score
from dragoman.settings import Decoding
from dragoman.translator import Translator

PAIRS = [pair for pair, _ in zip(captions("test"), range(20), strict=False)]


def with_penalty(translator: Translator, length_penalty: float) -> Translator:
    return Translator(translator.bundle, Decoding(length_penalty=length_penalty))


def test_own_translations_score_what_they_scored_when_found(translator: Translator) -> None:
    found = translator([source for source, _ in PAIRS])
    sources = [source for source, _ in PAIRS]
    scored = list(score(translator, zip(sources, map(str, found), strict=True)))
    compared = 0
    for ours, theirs in zip(found, scored, strict=True):
        if ours.tokens != theirs.tokens:  # the text can be spelled in other subwords
            continue
        compared += 1
        # the search gives unk, pad and bos no probability; the model, next to none
        assert theirs.log_probabilities == pytest.approx(ours.log_probabilities, abs=2e-2)
        assert theirs.score == pytest.approx(ours.score, abs=1e-1)
    assert compared > 10


def test_probabilities_are_those_of_the_model_for_each_sentence_alone(translator: Translator) -> None:
    bundle = translator.bundle
    source, target = bundle.source.vocabulary, bundle.target.vocabulary
    for (text, translation), scored in zip(PAIRS, score(with_penalty(translator, 0.0), PAIRS), strict=True):
        (ids,), (words,) = bundle.source.encode([text]), bundle.target.encode([translation])
        with torch.inference_mode():
            logits = bundle.model(torch.tensor([[*ids, source.eos]]), torch.tensor([[target.bos, *words]]))[0]
        expected = [float(row.log_softmax(-1)[token]) for row, token in zip(logits, [*words, target.eos], strict=True)]
        assert scored.text == translation
        assert scored.tokens == [target.tokens[word] for word in words]
        assert scored.log_probabilities == pytest.approx(expected, abs=1e-4)
        assert scored.score == pytest.approx(sum(expected), abs=1e-3)


def test_batches_change_nothing_and_empty_sides_are_scored(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [*PAIRS, ("", "A dog."), ("Ein Hund.", ""), ("", "")]
    together = list(score(translator, pairs))
    monkeypatch.setattr(dragoman.engines.scoring, "BATCH_TOKENS", 1)
    for one, other in zip(together, score(translator, pairs), strict=True):
        assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-4)
    assert all(math.isfinite(each.score) for each in together)
    assert len(together[-1].log_probabilities) == 1, "the end of the sentence"


def test_long_texts_are_cut_and_marked(translator: Translator) -> None:
    long = "Hund " * 500
    first, second = score(translator, [(long, "A dog."), ("Ein Hund.", "A dog.")])
    assert (first.truncated, second.truncated) == (True, False)
