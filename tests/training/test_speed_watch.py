"""Slow minutes of training are noticed, with their cause."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dragoman.system.cpu import Waiting
from dragoman.training.loop import speed_watch
from dragoman.training.loop.speed_watch import PERIOD, SlowPeriod, SpeedWatch

ALONE, BUSY, LIMITED = Waiting(0.01, None), Waiting(0.4, None), Waiting(0.3, 0.5)


class FakeClock:
    waiting = ALONE

    def read(self) -> Waiting:
        return self.waiting


def minutes(watch: SpeedWatch, speeds: Sequence[float]) -> list[SlowPeriod | None]:
    """What is found in each minute, in which a step takes three seconds."""
    found = []
    for speed in speeds:
        for _ in range(int(PERIOD / 3)):
            over, slow = watch.step(int(3 * speed), 3.0)
            if over:
                found.append(slow)
    return found


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> type[FakeClock]:
    monkeypatch.setattr(speed_watch, "WaitingClock", FakeClock)
    monkeypatch.setattr(FakeClock, "waiting", ALONE)
    return FakeClock


def test_without_a_plan_the_fastest_minute_counts() -> None:
    slow = [bool(each) for each in minutes(SpeedWatch(), [300, 900, 310, 290, 900])]
    assert slow == [False, False, False, True, False]


def test_a_plan_counts_from_the_first_minute() -> None:
    first, second = minutes(SpeedWatch(planned=9000), [80, 3100])
    assert first
    assert "80 target tokens per second, less than a third of the 9,000 that the plan assumed" in str(first)
    assert second is None


def test_one_long_step_is_a_period() -> None:
    watch = SpeedWatch(planned=9000)
    over, slow = watch.step(900, 75.0)
    assert over
    assert slow
    assert watch.end() is None


@pytest.mark.parametrize(("speed", "is_slow"), [(80, True), (8000, False)])
def test_a_training_without_a_whole_minute_is_measured_at_its_end(speed: int, is_slow: bool) -> None:
    watch = SpeedWatch(planned=9000)
    assert watch.step(3 * speed, 3.0) == (False, None)
    assert watch.end() is None  # too short to know
    watch.step(30 * speed, 30.0)
    assert bool(watch.end()) == is_slow


@pytest.mark.parametrize(
    ("waiting", "cause", "fix"),
    [
        (ALONE, "the cause is not known", "power-saving"),
        (BUSY, "because of other programs", "stop other programs"),
        (LIMITED, "its container may use only", "allow the container more cores"),
    ],
)
def test_the_cause_is_what_the_process_waited_for(
    waiting: Waiting, cause: str, fix: str, clock: type[FakeClock], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "waiting", waiting)
    (slow,) = minutes(SpeedWatch(planned=9000), [100])
    assert slow
    assert cause in str(slow)
    assert fix in slow.fix


def test_waiting_for_a_processor_is_reported_whatever_the_speed(
    clock: type[FakeClock], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "waiting", BUSY)
    (slow,) = minutes(SpeedWatch(), [5000])
    assert str(slow) == "training is slow: it waits for a processor 40% of the time, because of other programs"
