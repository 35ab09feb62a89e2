"""Greedy search: the likeliest token at each step, until eos or the limit."""

from __future__ import annotations

import pytest
from lookup import (
    BOS,
    EOS,
    WORDS,
    LookupTask,
    Task,
    TransformerTask,
    assert_same,
    decode_with,
    greedy,
    log_probabilities_of,
    score_of,
)

from dragoman.settings import Decoding

SENTENCES = range(8)
LENGTHS = [4, 1, 3, 6, 5, 2, 9, 3]


@pytest.fixture(scope="module", params=[LookupTask, TransformerTask])
def task(request: pytest.FixtureRequest) -> Task:
    made: Task = request.param()
    return made


def test_each_token_is_the_likeliest(task: Task) -> None:
    for sentence, limit, found in zip(SENTENCES, LENGTHS, greedy(task, SENTENCES, LENGTHS), strict=True):
        tokens = found.tokens + [EOS] * (len(found.tokens) + 1 < limit)  # at the limit, eos is not a choice
        for length, token in enumerate(tokens):
            logits = task.logits(sentence, tuple(tokens[:length]))
            assert token == max((EOS, *WORDS), key=lambda index: logits[index])
        assert len(found.log_probabilities) == len(found.tokens) + 1 <= limit
        assert BOS not in found.tokens


@pytest.mark.parametrize("steps", [2, 3, 100])
def test_reading_tokens_every_few_steps_changes_nothing(
    task: Task, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Decoding(beam_size=1, sampling=True, n_best=2)
    expected = greedy(task, SENTENCES, LENGTHS), decode_with(task, SENTENCES, LENGTHS, settings)
    monkeypatch.setattr("dragoman.search.decode.CPU_STEPS", steps)
    assert_same(greedy(task, SENTENCES, LENGTHS), expected[0])
    for ours, theirs in zip(decode_with(task, SENTENCES, LENGTHS, settings), expected[1], strict=True):
        assert_same(ours, theirs)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_log_probabilities_and_scores_are_those_of_the_model(task: Task, alpha: float) -> None:
    for sentence, found in zip(SENTENCES, greedy(task, SENTENCES, LENGTHS, alpha), strict=True):
        expected = log_probabilities_of(task, sentence, found.tokens)
        assert found.log_probabilities == pytest.approx(expected, abs=1e-5)
        assert found.score == pytest.approx(score_of(expected, alpha), abs=1e-5)


def test_batched_is_one_at_a_time_in_any_order(task: Task) -> None:
    alone = [greedy(task, [sentence], [length])[0] for sentence, length in zip(SENTENCES, LENGTHS, strict=True)]
    assert_same(greedy(task, SENTENCES, LENGTHS), alone)
    assert_same(greedy(task, SENTENCES[::-1], LENGTHS[::-1]), alone[::-1])


@pytest.mark.parametrize("limit", [0, 1])
def test_the_least_limit_leaves_eos_alone(task: Task, limit: int) -> None:
    for found in greedy(task, SENTENCES, [limit] * len(SENTENCES)):
        assert found.tokens == []
        assert len(found.log_probabilities) == 1


def test_finished_sentences_leave_the_batch() -> None:
    task = LookupTask()
    lengths = [len(found.log_probabilities) for found in greedy(task, SENTENCES, LENGTHS)]
    assert len(set(lengths)) > 2
    assert task.rows_seen == [sum(length > step for length in lengths) for step in range(max(lengths))]
