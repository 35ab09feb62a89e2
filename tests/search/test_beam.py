"""Beam search: between greedy and exhaustive search, each sentence for itself."""

from __future__ import annotations

import pytest
from lookup import (
    BOS,
    EOS,
    LookupTask,
    Task,
    TransformerTask,
    assert_same,
    beam,
    every_hypothesis,
    greedy,
    log_probabilities_of,
    plain_beam,
    score_of,
)

SENTENCES = range(8)
LENGTHS = [4, 1, 3, 6, 5, 2, 6, 3]
EXHAUSTIVE = 200  # more than there are hypotheses of at most 4 words


@pytest.fixture(scope="module", params=[LookupTask, TransformerTask])
def task(request: pytest.FixtureRequest) -> Task:
    made: Task = request.param()
    return made


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_beam_of_one_is_greedy(task: Task, alpha: float) -> None:
    found = beam(task, SENTENCES, 1, LENGTHS, alpha=alpha)
    assert_same([best for (best,) in found], greedy(task, SENTENCES, LENGTHS, alpha))


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("n_best", [1, 7])
def test_wide_beam_is_exhaustive_search(task: Task, n_best: int, alpha: float) -> None:
    found = beam(task, SENTENCES, EXHAUSTIVE, [4] * len(SENTENCES), n_best=n_best, alpha=alpha)
    for sentence, hypotheses in zip(SENTENCES, found, strict=True):
        expected = every_hypothesis(task, sentence, 4, alpha)[:n_best]
        assert [each.tokens for each in hypotheses] == [tokens for _, tokens in expected]
        assert [each.score for each in hypotheses] == pytest.approx([score for score, _ in expected], abs=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0])
@pytest.mark.parametrize(("beam_size", "n_best"), [(2, 1), (2, 2), (3, 1), (3, 3), (6, 2)])
def test_narrow_beam_is_the_plain_search(task: Task, beam_size: int, n_best: int, alpha: float) -> None:
    found = beam(task, SENTENCES, beam_size, LENGTHS, n_best=n_best, alpha=alpha)
    for sentence, length, hypotheses in zip(SENTENCES, LENGTHS, found, strict=True):
        expected, _ = plain_beam(task, sentence, beam_size, length, alpha)
        assert [each.tokens for each in hypotheses] == [tokens for _, tokens in expected[:n_best]]
        assert [each.score for each in hypotheses] == pytest.approx([score for score, _ in expected[:n_best]], abs=1e-5)


def test_exhaustive_search_returns_every_hypothesis_once() -> None:
    task = LookupTask()
    (found,) = beam(task, [0], EXHAUSTIVE, [4], n_best=EXHAUSTIVE)
    assert [each.tokens for each in found] == [tokens for _, tokens in every_hypothesis(task, 0, 4, 1.0)]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("beam_size", [2, 3, 5])
def test_n_best_is_sorted_and_distinct(task: Task, beam_size: int, alpha: float) -> None:
    found = beam(task, SENTENCES, beam_size, [6] * len(SENTENCES), n_best=beam_size, alpha=alpha)
    first = beam(task, SENTENCES, beam_size, [6] * len(SENTENCES), alpha=alpha)
    for hypotheses, (best,) in zip(found, first, strict=True):
        assert len(hypotheses) == beam_size
        assert len({tuple(each.tokens) for each in hypotheses}) == beam_size
        scores = [each.score for each in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] >= best.score - 1e-5, "searching on for more hypotheses finds no worse best one"


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("beam_size", [2, 5])
def test_log_probabilities_and_scores_are_those_of_the_model(task: Task, beam_size: int, alpha: float) -> None:
    found = beam(task, SENTENCES, beam_size, LENGTHS, n_best=beam_size, alpha=alpha)
    for sentence, hypotheses in zip(SENTENCES, found, strict=True):
        for each in hypotheses:
            expected = log_probabilities_of(task, sentence, each.tokens)
            assert each.log_probabilities == pytest.approx(expected, abs=1e-5)
            assert each.score == pytest.approx(score_of(expected, alpha), abs=1e-5)


@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_batched_is_one_at_a_time_in_any_order(task: Task, beam_size: int) -> None:
    together = beam(task, SENTENCES, beam_size, LENGTHS, n_best=beam_size)
    backwards = beam(task, SENTENCES[::-1], beam_size, LENGTHS[::-1], n_best=beam_size)[::-1]
    for sentence, length, batched, turned in zip(SENTENCES, LENGTHS, together, backwards, strict=True):
        (alone,) = beam(task, [sentence], beam_size, [length], n_best=beam_size)
        assert_same(batched, alone)
        assert_same(turned, alone)


@pytest.mark.parametrize("beam_size", [1, 3, EXHAUSTIVE])
def test_limits_are_kept_and_reached(task: Task, beam_size: int) -> None:
    found = beam(task, SENTENCES, beam_size, LENGTHS, n_best=beam_size)
    for length, hypotheses in zip(LENGTHS, found, strict=True):
        assert all(len(each.tokens) + 1 == len(each.log_probabilities) <= length for each in hypotheses)
        assert all(not {BOS, EOS} & set(each.tokens) for each in hypotheses)
    assert any(
        len(each.log_probabilities) == length > 1
        for length, hypotheses in zip(LENGTHS, found, strict=True)
        for each in hypotheses
    )


@pytest.mark.parametrize("limit", [0, 1])
def test_the_least_limit_leaves_eos_alone(task: Task, limit: int) -> None:
    for (best,) in beam(task, SENTENCES, 3, [limit] * len(SENTENCES)):
        assert best.tokens == []
        assert len(best.log_probabilities) == 1


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_no_beam_beats_exhaustive_search_and_wider_ones_come_closer(task: Task, alpha: float) -> None:
    def total(beam_size: int) -> float:
        found = beam(task, range(30), beam_size, [4] * 30, alpha=alpha)
        for (best,), (limit,) in zip(found, exhaustive, strict=True):
            assert best.score <= limit.score + 1e-5
        return sum(best.score for (best,) in found)

    exhaustive = beam(task, range(30), EXHAUSTIVE, [4] * 30, alpha=alpha)
    totals = [total(beam_size) for beam_size in (1, 3, 12, EXHAUSTIVE)]
    assert totals == sorted(totals)
    assert totals[0] < totals[-1]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_finished_sentences_leave_the_batch(beam_size: int) -> None:
    def rows_seen(*sentences: int) -> list[int]:
        task = LookupTask()
        beam(task, sentences, beam_size, [LENGTHS[sentence] for sentence in sentences])
        return task.rows_seen

    alone = [rows_seen(sentence) for sentence in SENTENCES]
    steps = max(map(len, alone))
    assert len({len(rows) for rows in alone}) > 2, "some finish early"
    assert rows_seen(*SENTENCES) == [
        sum(rows[step] for rows in alone if step < len(rows)) for step in range(steps)
    ]  # as many rows as for each sentence alone


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_settled_sentence_is_not_searched_on(alpha: float) -> None:
    """The plain search continues until beam_size hypotheses have ended, although none of them may be the best."""
    saved = 0
    for sentence in range(30):
        task = LookupTask()
        ((best,),) = beam(task, [sentence], 4, [12], alpha=alpha)
        hypotheses, steps = plain_beam(task, sentence, 4, 12, alpha)
        assert best.tokens == hypotheses[0][1]
        assert len(task.rows_seen) <= steps
        saved += steps - len(task.rows_seen)
    assert saved > 0
