"""Teacher-forced loss, accuracy and BLEU equal the plain formulas, computed one unpadded pair at a time."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from sacrebleu.metrics.bleu import BLEU
from torch import Tensor
from torch.nn import functional as F

from dragoman.bundle import Bundle
from dragoman.engines import scoring
from dragoman.engines.choose import TargetScores
from dragoman.engines.torch_engine import StepEngine
from dragoman.evaluation.teacher_forcing import score_teacher_forced
from dragoman.settings import Decoding
from dragoman.translator import Translator


@pytest.fixture(scope="module")
def sides(corpus: Path) -> tuple[list[str], list[str]]:
    source, target = ((corpus / f"test.{language}").read_text("utf-8").splitlines() for language in ("de", "en"))
    return source, target


def with_bleu(translator: Translator) -> Translator:
    """The translator with a recipe that enables teacher-forced BLEU."""
    bundle = translator.bundle
    training = bundle.recipe.training.model_copy(update={"teacher_forced_bleu": True})
    return Translator(replace(bundle, recipe=bundle.recipe.model_copy(update={"training": training})))


@torch.inference_mode()
def next_token_logits(bundle: Bundle, source: list[int], target: list[int]) -> Tensor:
    """Logits of one pair, (target + 1, vocabulary)."""
    eos, bos = bundle.source.vocabulary.eos, bundle.target.vocabulary.bos
    logits: Tensor = bundle.model(torch.tensor([[*source, eos]]), torch.tensor([[bos, *target]]))[0]
    return logits


def test_loss_is_the_mean_over_reference_tokens(translator: Translator, sides: tuple[list[str], list[str]]) -> None:
    bundle, total, tokens = translator.bundle, 0.0, 0
    for source, target in zip(bundle.source.encode(sides[0]), bundle.target.encode(sides[1]), strict=True):
        wanted = torch.tensor([*target, bundle.target.vocabulary.eos])
        total += float(F.cross_entropy(next_token_logits(bundle, source, target), wanted, reduction="sum"))
        tokens += len(wanted)
    assert score_teacher_forced(translator, *sides).loss == pytest.approx(total / tokens, abs=2e-5)


def test_bleu_is_that_of_the_most_probable_next_tokens(
    translator: Translator, sides: tuple[list[str], list[str]]
) -> None:
    bundle = translator.bundle
    vocabulary = bundle.target.vocabulary
    greedy = Translator(bundle, Decoding(beam_size=1))
    # half of each reference is what the model predicts, so that the score is neither 0 nor 100
    references = [f"{one.text[:80]} {text[:20]}" for one, text in zip(greedy(sides[0]), sides[1], strict=True)]
    predicted, wanted = [], []
    for source, target in zip(bundle.source.encode(sides[0]), bundle.target.encode(references), strict=True):
        best = next_token_logits(bundle, source, target)[:-1].argmax(dim=-1).tolist()
        predicted.append(" ".join(vocabulary.tokens[index] for index in best if index != vocabulary.eos))
        wanted.append(" ".join(vocabulary.tokens[index] for index in target))
    expected = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(predicted, [wanted]).score
    assert 5 < expected < 95
    assert score_teacher_forced(with_bleu(translator), sides[0], references).bleu == pytest.approx(expected, abs=1e-3)
    assert score_teacher_forced(translator, sides[0], references).bleu is None


def test_accuracy_counts_the_tokens_that_are_the_most_probable_ones(
    translator: Translator, sides: tuple[list[str], list[str]]
) -> None:
    bundle, correct, tokens = translator.bundle, 0, 0
    for source, target in zip(bundle.source.encode(sides[0]), bundle.target.encode(sides[1]), strict=True):
        wanted = torch.tensor([*target, bundle.target.vocabulary.eos])
        correct += int((next_token_logits(bundle, source, target).argmax(dim=-1) == wanted).sum())
        tokens += len(wanted)
    assert 0.05 < correct / tokens < 0.95
    assert score_teacher_forced(translator, *sides).accuracy == pytest.approx(correct / tokens, abs=1e-9)


def test_a_model_that_repeats_its_input_has_a_high_bleu_and_no_accuracy(
    translator: Translator, sides: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with tied embeddings before training: the last token read is the most probable next one."""

    def repeat(self: StepEngine, sources: list[list[int]], targets: list[list[int]]) -> list[TargetScores]:
        inputs = [[translator.bundle.target.vocabulary.bos, *ids] for ids in targets]
        return [TargetScores([-1.0] * len(ids), ids) for ids in inputs]

    monkeypatch.setattr(StepEngine, "score", repeat)
    scores = score_teacher_forced(with_bleu(translator), *sides)
    assert scores.bleu is not None
    assert scores.bleu > 50
    assert scores.accuracy < 0.05


def test_scores_depend_on_neither_batching_nor_order(
    translator: Translator, sides: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = []
    for step, batch_tokens in ((1, 4096), (-1, 100), (1, 1)):
        monkeypatch.setattr(scoring, "BATCH_TOKENS", batch_tokens)
        scores.append(score_teacher_forced(with_bleu(translator), sides[0][::step], sides[1][::step]))
    assert [each.loss for each in scores] == pytest.approx([scores[0].loss] * 3, rel=1e-5)
    assert [each.bleu for each in scores] == pytest.approx([scores[0].bleu] * 3, abs=1e-3)


def test_long_texts_are_truncated_to_the_limit_of_the_model(translator: Translator) -> None:
    bundle = translator.bundle
    limit = bundle.recipe.model.max_length - 1
    source, target = (tokenizer.encode(["dog " * 500])[0] for tokenizer in (bundle.source, bundle.target))
    assert min(len(source), len(target)) > limit
    wanted = torch.tensor([*target[:limit], bundle.target.vocabulary.eos])
    expected = float(F.cross_entropy(next_token_logits(bundle, source[:limit], target[:limit]), wanted))
    assert score_teacher_forced(translator, ["dog " * 500], ["dog " * 500]).loss == pytest.approx(expected, rel=1e-5)


def test_no_pairs_have_no_loss(translator: Translator) -> None:
    scores = score_teacher_forced(with_bleu(translator), [], [])
    assert math.isnan(scores.loss)
    assert scores.accuracy == 0
    assert scores.bleu is None
