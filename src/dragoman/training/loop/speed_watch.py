"""Notices that training is slow, next to other programs or in a container with too few cores."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from dragoman.system.cpu import Waiting, WaitingClock, usable_cores

PERIOD = 60.0
"""Seconds of training steps that are measured together."""

LEAST_PERIOD = 10.0
"""Seconds that are enough at the end of training, of which a short one has no whole minute."""

SLOW = 1 / 3
"""The share of the expected speed below which training is slow."""

MOST_WAITING = 0.3
"""The share of the time that training may wait for a processor."""

NOTICED = 0.1
"""The share of the time that the limit of a container must cost to be the cause."""


@dataclass(frozen=True)
class SlowPeriod:
    """A minute of training that took much longer than it should.

    Attributes:
        speed: Target tokens per second.
        expected: Those that were expected, if training was slower than a third of that.
        planned: Whether a plan expected them; otherwise, they are those of the fastest minute of the run.
        waiting: What training waited for.
    """

    speed: float
    expected: float | None
    planned: bool
    waiting: Waiting

    @property
    def cause(self) -> str:
        """What slows training down, as far as the system counts it."""
        if (self.waiting.container or 0.0) > NOTICED:
            return f"its container may use only {usable_cores()} of the processor cores"
        if (self.waiting.processor or 0.0) > NOTICED:
            return f"it waits for a processor {self.waiting.processor:.0%} of the time, because of other programs"
        return "the cause is not known"

    @property
    def fix(self) -> str:
        """What to do."""
        threads = torch.get_num_threads()
        if (self.waiting.container or 0.0) > NOTICED:
            fewer = f", or set training.threads={usable_cores()}" if threads > usable_cores() else ""
            return f"allow the container more cores{fewer}"
        if (self.waiting.processor or 0.0) > NOTICED:
            fewer = "; training.threads=1 may be faster while they run" if threads > 1 else ""
            return f"stop other programs, or train for longer{fewer}"
        return "look for a power-saving mode, for too little memory, and for other users of the GPU"

    def __str__(self) -> str:
        if self.expected is None:
            return f"training is slow: {self.cause}"
        whose = "the plan assumed" if self.planned else "it reached in its fastest minute"
        speeds = (
            f"{self.speed:,.0f} target tokens per second, less than a third of the {self.expected:,.0f} that {whose}"
        )
        return f"training is slow: {speeds}: {self.cause}"


class SpeedWatch:
    """Compares the speed of each minute of training with what is expected.

    Args:
        planned: Target tokens per second that a plan assumed; without a plan, the fastest minute counts.
    """

    def __init__(self, planned: float | None = None) -> None:
        self._planned, self._fastest = planned, 0.0
        self._tokens, self._seconds, self._clock = 0, 0.0, WaitingClock()

    def step(self, tokens: int, seconds: float) -> tuple[bool, SlowPeriod | None]:
        """Count a step; returns whether a minute is over, and what was wrong with it, if anything.

        Args:
            tokens: Target tokens of the step, in all processes.
            seconds: The time of the step.
        """
        self._tokens, self._seconds = self._tokens + tokens, self._seconds + seconds
        return (True, self._measure()) if self._seconds >= PERIOD else (False, None)

    def end(self) -> SlowPeriod | None:
        """What was wrong with the steps after the last whole minute, if they took long enough to know."""
        return self._measure() if self._seconds >= LEAST_PERIOD else None

    def _measure(self) -> SlowPeriod | None:
        speed, waiting = self._tokens / self._seconds, self._clock.read()
        self._tokens, self._seconds, self._fastest = 0, 0.0, max(self._fastest, speed)
        expected = self._planned or self._fastest
        is_slow = speed < SLOW * expected
        if not is_slow and (waiting.processor or 0.0) <= MOST_WAITING:
            return None
        return SlowPeriod(speed, expected if is_slow else None, self._planned is not None, waiting)
