"""Given beginnings are kept, what follows is the best that can, and numbers stay those of the model."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from lookup import (
    BOS,
    EOS,
    LookupTask,
    Task,
    TransformerTask,
    assert_same,
    beam,
    decode_with,
    every_hypothesis,
    greedy,
    log_probabilities_of,
    score_of,
)

from dragoman.search.beam import beam_search
from dragoman.search.decode import decode_single
from dragoman.search.logits_processors import ANY, Constraints
from dragoman.settings import Decoding

SENTENCES = range(8)
BEGINNINGS = [[2], [], [3, 3], [4, 2, 3], [2, 2], [], [4], [3, 4]]
PREFIXES = torch.tensor([beginning + [ANY] * (3 - len(beginning)) for beginning in BEGINNINGS])
EXHAUSTIVE = 200


@pytest.fixture(scope="module", params=[LookupTask, TransformerTask])
def task(request: pytest.FixtureRequest) -> Task:
    made: Task = request.param()
    return made


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_wide_beam_finds_the_best_hypotheses_that_begin_so(task: Task, alpha: float) -> None:
    found = beam(task, SENTENCES, EXHAUSTIVE, [5] * len(SENTENCES), n_best=3, alpha=alpha, prefixes=PREFIXES)
    for sentence, beginning, hypotheses in zip(SENTENCES, BEGINNINGS, found, strict=True):
        every = every_hypothesis(task, sentence, 5, alpha)
        expected = [each for each in every if each[1][: len(beginning)] == beginning][:3]
        assert [each.tokens for each in hypotheses] == [tokens for _, tokens in expected]
        assert [each.score for each in hypotheses] == pytest.approx([score for score, _ in expected], abs=1e-5)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_forced_tokens_count_as_the_model_sees_them(task: Task, beam_size: int) -> None:
    limits = [6] * len(SENTENCES)
    found = beam(task, SENTENCES, beam_size, limits, prefixes=PREFIXES)
    if beam_size == 1:
        assert_same(greedy(task, SENTENCES, limits, prefixes=PREFIXES), [best for (best,) in found])
    for sentence, beginning, (best,) in zip(SENTENCES, BEGINNINGS, found, strict=True):
        assert best.tokens[: len(beginning)] == beginning
        expected = log_probabilities_of(task, sentence, best.tokens)
        assert best.log_probabilities == pytest.approx(expected, abs=1e-5)
        assert best.score == pytest.approx(score_of(expected, 1.0), abs=1e-5)


def test_its_own_beginning_changes_nothing(task: Task) -> None:
    limits = [6] * len(SENTENCES)
    free = greedy(task, SENTENCES, limits)
    own = torch.tensor([(each.tokens + [ANY] * 2)[:2] for each in free])
    assert_same(greedy(task, SENTENCES, limits, prefixes=own), free)


@pytest.mark.parametrize("beam_size", [1, 3])
@torch.inference_mode()
def test_a_forbidden_token_can_still_be_forced(task: Task, beam_size: int) -> None:
    limited = Constraints(BOS, EOS, [BOS, 3], torch.tensor([5]), torch.tensor([[3]]))
    settings = Decoding(beam_size=beam_size, length_penalty=0.0)
    if beam_size == 1:
        (found,) = decode_single(task, task.start(torch.tensor([0])), settings, limited)
    else:
        ((found,),) = beam_search(task, task.start(torch.tensor([0])), settings, limited)
    assert found.tokens[0] == 3
    expected = torch.tensor(task.logits(0, ())).log_softmax(dim=-1)[3]
    assert found.log_probabilities[0] == pytest.approx(float(expected), abs=1e-5)
    assert 3 not in found.tokens[1:]


@pytest.mark.parametrize("options", [{"beam_size": 1}, {"beam_size": EXHAUSTIVE, "n_best": 4}], ids=str)
@torch.inference_mode()
def test_a_given_token_has_no_probability(task: Task, options: dict[str, int]) -> None:
    """Its log-probability would favor long hypotheses, because it is divided by their length."""
    limited = Constraints(BOS, EOS, [BOS], torch.tensor([5]), torch.tensor([[3]]), given=[2, 3])
    settings = Decoding.model_validate(options)
    if settings.beam_size == 1:
        found = decode_single(task, task.start(torch.tensor([0])), settings, limited)
    else:
        (found,) = beam_search(task, task.start(torch.tensor([0])), settings, limited)
    for each in found:
        assert each.tokens[0] == 3
        expected = [0.0, *log_probabilities_of(task, 0, each.tokens)[1:]]
        assert each.log_probabilities == pytest.approx(expected, abs=1e-5)
        assert each.score == pytest.approx(score_of(expected, 1.0), abs=1e-5)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


@pytest.mark.parametrize("options", [{"beam_size": 1}, {"beam_size": 4}, {"sampling": True, "n_best": 20}], ids=str)
def test_settings_of_length_and_repetition_are_kept(task: Task, options: dict[str, int]) -> None:
    settings = Decoding.model_validate({"min_length": 3, "no_repeat_ngram": 2, **options})
    found = decode_with(task, SENTENCES, [7] * len(SENTENCES), settings, PREFIXES)
    for beginning, hypotheses in zip(BEGINNINGS, found, strict=True):
        for tokens in (each.tokens for each in hypotheses):
            assert 3 <= len(tokens) <= 6
            assert tokens[: len(beginning)] == beginning
            pairs = list(pairwise(tokens))
            assert len(set(pairs[len(beginning) :])) == len(pairs[len(beginning) :])
