"""The trace of a beam search: all that it considered, and the winner it returned."""

from __future__ import annotations

import pytest
from lookup import EOS, WORDS, LookupTask, Task, TransformerTask, assert_same, beam, continuations, decode_with

from dragoman.search.hypothesis import BeamTrace, Hypothesis
from dragoman.settings import Decoding

SENTENCES = range(8)
LENGTHS = [4, 1, 3, 6, 5, 2, 6, 3]


@pytest.fixture(scope="module", params=[LookupTask, TransformerTask])
def task(request: pytest.FixtureRequest) -> Task:
    made: Task = request.param()
    return made


def traced(task: Task, beam_size: int, alpha: float = 1.0) -> tuple[BeamTrace, list[list[Hypothesis]]]:
    trace = BeamTrace(EOS)
    return trace, beam(task, SENTENCES, beam_size, LENGTHS, alpha=alpha, trace=trace)


def winner(trace: BeamTrace, sentence: int) -> Hypothesis:
    """The best hypothesis that ended, put together from the steps."""
    steps = trace.steps[sentence]
    values = {each.tokens: each.log_probability for step in steps for each in step}
    finals = [(each.final, each.tokens) for step in steps for each in step if each.final is not None]
    final, tokens = max(finals, key=lambda pair: pair[0])
    lengths = range(1, len(tokens) + 1)
    return Hypothesis(list(tokens[:-1]), [values[tokens[:length]] for length in lengths], final)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("beam_size", [1, 2, 3, 6])
def test_the_winner_is_what_the_search_returned(task: Task, beam_size: int, alpha: float) -> None:
    trace, found = traced(task, beam_size, alpha)
    for sentence, (best,) in zip(SENTENCES, found, strict=True):
        assert winner(trace, sentence) == best
    assert_same(
        [best for (best,) in found], [best for (best,) in beam(task, SENTENCES, beam_size, LENGTHS, alpha=alpha)]
    )


@pytest.mark.parametrize("beam_size", [1, 2, 3, 6])
def test_every_step_continues_what_the_step_before_kept(task: Task, beam_size: int) -> None:
    trace, _ = traced(task, beam_size)
    for sentence in SENTENCES:
        kept: set[tuple[int, ...]] = {()}
        for step in trace.steps[sentence]:
            assert {each.tokens[:-1] for each in step} <= kept
            assert len({each.tokens for each in step}) == len(step)
            kept = {each.tokens for each in step if each.status == "kept"}
            assert len(kept) <= beam_size
            assert not any(EOS in tokens for tokens in kept)
        assert not kept, "no hypothesis continues after the last step"


@pytest.mark.parametrize("beam_size", [1, 2, 3])
def test_candidates_are_the_best_and_the_kept_ones_the_best_of_them(task: Task, beam_size: int) -> None:
    trace, _ = traced(task, beam_size)
    for sentence, limit in zip(SENTENCES, LENGTHS, strict=True):
        kept: dict[tuple[int, ...], float] = {(): 0.0}
        for number, step in enumerate(trace.steps[sentence], start=1):
            tokens = (EOS, *WORDS) if number < limit else (EOS,)
            scores: dict[tuple[int, ...], float] = {}
            for prefix, total in kept.items():
                values = continuations(task, sentence, prefix)
                best = sorted(tokens, key=lambda token: -values[token])[: beam_size + 1]
                scores |= {(*prefix, token): total + values[token] for token in best}
            expected = sorted(scores, key=lambda each: -scores[each])[: 2 * beam_size]
            assert [each.tokens for each in step] == expected
            assert [each.score for each in step] == pytest.approx([scores[each] for each in expected], abs=1e-5)
            kept = {each.tokens: scores[each.tokens] for each in step if each.status == "kept"}
            live = [each for each in expected if each[-1] != EOS][:beam_size]
            assert list(kept) in (live, []), "all of the best live ones, or none when the search is over"
            assert [each.tokens for each in step if each.status == "ended"] == [
                each for each in expected[:beam_size] if each[-1] == EOS
            ]


def test_finals_are_the_scores_of_all_hypotheses(task: Task) -> None:
    trace, found = BeamTrace(EOS), beam(task, SENTENCES, 3, LENGTHS, n_best=3)
    beam(task, SENTENCES, 3, LENGTHS, n_best=3, trace=trace)
    for sentence, hypotheses in zip(SENTENCES, found, strict=True):
        ended = [each for step in trace.steps[sentence] for each in step if each.status == "ended"]
        finals = {each.tokens[:-1]: each.final for each in ended}
        assert {tuple(each.tokens): each.score for each in hypotheses}.items() <= finals.items()
        assert all((each.final is None) == (each.status != "ended") for step in trace.steps[sentence] for each in step)
        statuses = {each.status for step in trace.steps[sentence] for each in step}
        assert statuses <= {"kept", "dropped", "ended"}


def test_a_traced_greedy_search_is_greedy() -> None:
    task, trace = TransformerTask(), BeamTrace(EOS)
    plain, traced = (
        [best for (best,) in decode_with(task, SENTENCES, LENGTHS, Decoding(beam_size=1), trace=each)]
        for each in (None, trace)
    )
    assert_same(traced, plain)
    assert [winner(trace, sentence) for sentence in SENTENCES] == traced


def test_a_sampled_translation_has_no_trace() -> None:
    trace = BeamTrace(EOS)
    decode_with(LookupTask(), SENTENCES, LENGTHS, Decoding(beam_size=1, sampling=True), trace=trace)
    assert not trace.steps
