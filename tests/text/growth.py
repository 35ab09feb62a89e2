"""How the time for a text grows with its length."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable

import pytest

ATTEMPTS = 5
"""Measurements at most; on a busy machine, one of them may take several times as long as it should."""


def assert_linear(run: Callable[[int], object], size: int) -> None:
    """Fail if the time of `run` grows much faster than the size that it is called with."""
    short, long = 0.0, math.inf
    for _ in range(ATTEMPTS):
        short, long = max(short, _seconds(lambda: run(size))), min(long, _seconds(lambda: run(4 * size)))
        if long < 8 * short + 0.2:
            return
    pytest.fail(f"four times as much text takes {long:.2f} s instead of {short:.2f} s")


def _seconds(run: Callable[[], object]) -> float:
    gc.disable()  # a collection would also visit what earlier tests have left
    try:
        started = time.process_time()
        run()
        return time.process_time() - started
    finally:
        gc.enable()
