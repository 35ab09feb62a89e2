"""Learning rates: up to the peak during the warm-up, then down in the shape of the schedule."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.settings import Training
from dragoman.training.loop.optimizers import SCHEDULES, learning_rate
from dragoman.training.loop.trainer import HIGHEST_PEAK, LOWEST_PEAK

KINDS = Training.model_json_schema()["properties"]["schedule"]["enum"]
PEAK, WARMUP, STEPS, D_MODEL = 0.02, 100, 1000, 64


def rate(schedule: str, step: int, spent: float | None = None, **options: Any) -> float:
    """Of a step of a run of 1,000."""
    settings = Training.model_validate(
        {"steps": STEPS, "schedule": schedule, "learning_rate": PEAK, "warmup_steps": WARMUP, **options}
    )
    return learning_rate(settings, D_MODEL, step, (step - 1) / STEPS if spent is None else spent)


def test_every_schedule_of_the_settings_is_there() -> None:
    assert {*SCHEDULES, "noam"} == set(KINDS)


@pytest.mark.parametrize("step", [1, 40, 100, 101, 900, 100_000])
def test_noam_is_the_formula_of_the_paper(step: int) -> None:
    formula = D_MODEL**-0.5 * min(step**-0.5, step * WARMUP**-1.5)  # Vaswani et al. 2017, eq. 3
    assert rate("noam", step, 0.5) == pytest.approx(PEAK * formula)


@pytest.mark.parametrize("schedule", ["noam", "inverse_sqrt"])
def test_the_peak_is_at_the_end_of_the_warmup(schedule: str) -> None:
    rates = {step: rate(schedule, step) for step in range(1, STEPS + 1)}
    assert max(rates, key=lambda step: rates[step]) == WARMUP
    assert rates[WARMUP] == pytest.approx(PEAK * (D_MODEL * WARMUP) ** -0.5 if schedule == "noam" else PEAK)
    assert rates[4 * WARMUP] == pytest.approx(rates[WARMUP] / 2)
    assert rates[WARMUP + 1] == pytest.approx(rates[WARMUP], rel=0.01)


@pytest.mark.parametrize("schedule", KINDS)
def test_the_warmup_is_linear(schedule: str) -> None:
    """Of the factor that the schedule has without it; spent stands still here."""
    rates = [rate(schedule, step, spent=0.3) for step in range(1, WARMUP + 1)]
    for step, value in enumerate(rates, 1):
        assert value == pytest.approx(rates[-1] * step / WARMUP)


@pytest.mark.parametrize("warmup_steps", [0, 1, WARMUP, 10 * STEPS])
@pytest.mark.parametrize("schedule", KINDS)
def test_rates_are_positive_until_the_end(schedule: str, warmup_steps: int) -> None:
    rates = [rate(schedule, step, warmup_steps=warmup_steps) for step in range(1, STEPS + 1)]
    assert all(0 < value <= PEAK for value in rates)


@pytest.mark.parametrize("warmup_steps", [0, 1])
@pytest.mark.parametrize("schedule", sorted(SCHEDULES))
def test_without_a_warmup_the_first_step_has_the_peak(schedule: str, warmup_steps: int) -> None:
    assert rate(schedule, 1, warmup_steps=warmup_steps) == PEAK


@pytest.mark.parametrize("schedule", KINDS)
def test_rates_never_rise_after_the_warmup(schedule: str) -> None:
    rates = [rate(schedule, step) for step in range(WARMUP, STEPS + 1)]
    assert rates == sorted(rates, reverse=True)
    assert (rates[0] == rates[-1]) == (schedule == "constant")


@pytest.mark.parametrize("spent", [1.0, 1.5])
@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_cosine_and_linear_end_at_zero(schedule: str, spent: float) -> None:
    """Also when the last step takes longer than the minutes allow."""
    assert rate(schedule, STEPS, spent) == pytest.approx(0.0, abs=1e-12)
    assert rate(schedule, STEPS, 0.999) > 0
    assert rate(schedule, STEPS, 0.5) == pytest.approx(PEAK / 2)
    assert rate(schedule, STEPS, 0.0) == pytest.approx(PEAK)


def test_cosine_is_flat_at_both_ends() -> None:
    assert rate("cosine", STEPS, 0.1) > rate("linear", STEPS, 0.1)
    assert rate("cosine", STEPS, 0.9) < rate("linear", STEPS, 0.9)


@pytest.mark.parametrize("schedule", KINDS)
@pytest.mark.parametrize("d_model", [256, 512, 1024])
def test_the_default_rate_of_each_schedule_is_usual(schedule: str, d_model: int) -> None:
    settings = Training.model_validate({"steps": 1, "schedule": schedule})
    assert LOWEST_PEAK < learning_rate(settings, d_model, settings.warmup_steps, 0.0) < HIGHEST_PEAK
    assert Training.model_validate({"steps": 1, "schedule": schedule, "learning_rate": 0.5}).learning_rate == 0.5


@pytest.mark.parametrize("schedule", sorted(SCHEDULES))
def test_two_parts_of_a_schedule_are_the_whole(schedule: str) -> None:
    step = WARMUP  # inverse_sqrt follows the steps, the others what is spent
    for share in (0.2, 0.4):
        whole = [rate(schedule, step, spent=spent) for spent in (0.5 * share, share + 0.5 * (1 - share))]
        parts = [rate(schedule, step, spent=0.5, schedule_part=part) for part in ((0.0, share), (share, 1.0))]
        assert parts == pytest.approx(whole)
    assert rate(schedule, step, spent=0.3, schedule_part=(0.0, 1.0)) == rate(schedule, step, spent=0.3)
