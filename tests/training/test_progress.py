"""What is printed where there is no terminal: lines that stay, and no more."""

from __future__ import annotations

import time

import pytest

from dragoman.training.progress import ProgressLine, format_seconds


def test_lines_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine("run") as line:
        line.note("[bold] and 100% [/bold]")
        line.note("x" * 300)
    assert capsys.readouterr().err == f"[bold] and 100% [/bold]\n{'x' * 300}\n"


def test_progress_is_told_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100, 200, 10))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    with ProgressLine("run") as line:
        for number in range(5):
            line.update(number / 4, f"step {number}")
    printed = capsys.readouterr().err.splitlines()
    assert printed[0] == "  0%  step 0"
    assert 1 < len(printed) < 5


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (61.9, "1:01"), (3599, "59:59"), (3661, "1:01:01")])
def test_seconds_are_minutes_and_hours(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text
