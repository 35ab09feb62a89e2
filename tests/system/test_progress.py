"""What is printed if there is no terminal."""

from __future__ import annotations

import time

import pytest

from dragoman.system.progress import PLAIN_SECONDS, TRACKED_PAIRS, Meter, ProgressLine, format_seconds


def test_messages_are_printed_unchanged_except_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine("run") as line:
        line.log("[bold] and 100% [/bold]")
        line.log("x" * 300)
        line.log("नमस्ते \u202e\x1b[2J")
    expected = f"[bold] and 100% [/bold]\n{'x' * 300}\nनमस्ते \\u202e\\x1b[2J\n"
    assert capsys.readouterr().err == expected


def test_progress_is_printed_at_intervals(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100, 200, 10))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    with ProgressLine("run") as line:
        for number in range(5):
            line.update(number / 4, f"step {number}")
    printed = capsys.readouterr().err.splitlines()
    assert printed[0] == "  0%  step 0"
    assert 1 < len(printed) < 5


def test_work_that_is_often_short_is_announced_later(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with ProgressLine("run", often_short=True) as line:
        line.update(0.1, "early")
        now += PLAIN_SECONDS
        line.update(0.5, "late")
    assert capsys.readouterr().err == " 50%  late\n"


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (61.9, "1:01"), (3599, "59:59"), (3661, "1:01:01")])
def test_seconds_become_minutes_and_hours(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_a_meter_reports_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[tuple[float | None, str]] = []
    now = 50.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    meter = Meter(lambda share, text: reports.append((share, text)), "counting", total=8_000)
    meter.advance(2_000, skipped=True)
    now += 10
    meter.advance(2_000)
    now += 10
    meter.advance(4_000)
    assert reports == [
        (0.25, "counting: 2,000 of 8,000 pairs"),
        (0.5, "counting: 4,000 of 8,000 pairs, 200 pairs/s, 0:20 left"),
        (1.0, "counting: 8,000 of 8,000 pairs, 300 pairs/s, 0:00 left"),
    ]


def test_the_time_left_is_at_most_that_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[tuple[float | None, str]] = []
    now = 50.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    meter = Meter(lambda share, text: reports.append((share, text)), "counting", total=8_000, limit=40)
    now += 10
    meter.advance(1_000)
    now += 10
    meter.advance(6_000)
    assert [(share, text.rpartition(", ")[2]) for share, text in reports] == [
        (0.25, "0:30 left for as many as fit"),
        (0.875, "0:02 left"),
    ]


def test_a_share_that_is_not_known_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine("run") as line:
        Meter(line.update, "counting").advance(5)
    assert capsys.readouterr().err == "counting: 5 pairs\n"


def test_tracked_pairs_are_unchanged() -> None:
    reports: list[str] = []
    meter = Meter(lambda share, text: reports.append(text), "counting")
    assert list(meter.track(range(3 * TRACKED_PAIRS - 1))) == list(range(3 * TRACKED_PAIRS - 1))
    assert [text.split(",000 ")[0] for text in reports] == ["counting: 10", "counting: 20"]
