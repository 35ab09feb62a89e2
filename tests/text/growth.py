"""How the time for a text grows with its length."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

ATTEMPTS = 3  # on a busy machine, a single measurement may be wrong


def assert_linear(run: Callable[[int], object], size: int) -> None:
    """Fail if the time of `run` grows much faster than the size that it is called with."""
    for _ in range(ATTEMPTS):
        short, long = _seconds(lambda: run(size)), _seconds(lambda: run(4 * size))
        if long < 8 * short + 0.2:
            return
    pytest.fail(f"four times as much text takes {long:.2f} s instead of {short:.2f} s")


def _seconds(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started
