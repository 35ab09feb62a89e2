"""What the limit of a command leaves for its parts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dragoman.system.time_limit import LEAST_TRAINING, PROBE, TimeLimit


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize("minutes", [1.0, 3.0, 8.0, 60.0])
@pytest.mark.parametrize("sentences", [0, 1000, 100_000])
@pytest.mark.parametrize("before", [2.0, 15.0])
def test_analysis_training_and_end_fit_into_the_limit(
    minutes: float, sentences: int, before: float, clock: Clock
) -> None:
    limit = TimeLimit(minutes, started=clock.now, clock=clock)
    clock.now += before
    training = limit.training_minutes(sentences)
    assert training >= LEAST_TRAINING * minutes
    assert before + 60 * training + limit.end_seconds(sentences) == pytest.approx(60 * minutes)


def test_training_gets_its_share_even_if_the_analysis_took_long(clock: Clock) -> None:
    limit = TimeLimit(1.0, started=clock.now, clock=clock)
    clock.now += 300
    assert limit.left == 0
    assert limit.training_minutes(1000) == LEAST_TRAINING
    assert limit.training_minutes(1000, planned=0.5) == LEAST_TRAINING / 2, "others have had the rest"


@pytest.mark.parametrize(("seconds_each", "expected"), [(0.01, 1000), (0.1, 380), (100.0, PROBE)])
def test_as_many_sentences_as_there_is_time_for(seconds_each: float, expected: int, clock: Clock) -> None:
    limit = TimeLimit(1.0, started=clock.now, clock=clock)
    done: list[int] = []
    clock.now += 10

    def work(some: Sequence[int]) -> None:
        done.extend(some)
        clock.now += seconds_each * len(some)

    chosen = limit.sample(list(range(1000)), work)
    assert abs(len(chosen) - expected) <= 1
    assert len(done) <= max(PROBE, 0.6 * len(chosen)), "most of the time is left for the work itself"
    assert seconds_each * (len(done) + len(chosen)) <= 50 or len(chosen) == PROBE
    assert chosen == sorted(set(chosen))
    assert max(chosen) > 950, "from all parts of the text"
