"""The time that a command may take, by the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

Item = TypeVar("Item")

LEAST_TRAINING = 0.6
"""The share of the time that training gets in any case, even if the command then takes longer."""

END_SHARE, END_SECONDS, SENTENCE_SECONDS = 0.1, 4.0, 0.012
"""Time reserved for the end of a run: some seconds, and some milliseconds for each sentence that is translated, but at
most this share of the time. The end translates as many sentences as the time allows."""

PROBE = 24
"""Sentences whose translation shows how long more of them take."""

PROBING_SHARE = 0.2
"""More are tried until this share of the time is spent."""


@dataclass(frozen=True)
class TimeLimit:
    """What ``--minutes`` allows a command for text: analysis, training with validation, final scores and report.

    Attributes:
        minutes: The limit.
        started: When the command started, in seconds of `clock`.
        clock: A monotonic clock, in seconds.
    """

    minutes: float
    started: float
    clock: Callable[[], float] = field(default=time.monotonic, compare=False)

    @classmethod
    def start(cls, minutes: float) -> TimeLimit:
        """The limit of the command that this process runs; starting Python and loading our code count."""
        return cls(minutes, time.monotonic() - time.process_time())

    @classmethod
    def for_end(cls, minutes: float) -> TimeLimit:
        """The limit of a command that continues a run in the time that it reserved for its end."""
        return cls(minutes, time.monotonic() - 60 * minutes * (1 - END_SHARE))

    @property
    def spent(self) -> float:
        """Seconds since the command started."""
        return self.clock() - self.started

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, 60 * self.minutes - self.spent)

    def end_seconds(self, sentences: int) -> float:
        """Seconds to keep for the end, which translates so many sentences if there is time."""
        return min(END_SHARE * 60 * self.minutes, END_SECONDS + SENTENCE_SECONDS * sentences)

    def training_minutes(self, sentences: int, before: float = 0.0, planned: float | None = None) -> float:
        """Minutes for training with validation, from now on.

        Args:
            sentences: Number of sentences that the end of the run translates.
            before: Seconds of work before training starts.
            planned: What is planned for this training, if others have had a part of the time.
        """
        rest = self.left - before - self.end_seconds(sentences)
        return max(rest / 60, LEAST_TRAINING * (self.minutes if planned is None else planned))

    def sample(self, items: Sequence[Item], work: Callable[[Sequence[Item]], object], share: float = 1.0) -> list[Item]:
        """As many of the items, evenly spaced, as work can be done on in the time that is left.

        Args:
            items: Sentences, for example.
            work: Is done on a few of them, to see how long it takes.
            share: Of the time that is left, the share that may be used.
        """
        began, probe = self.clock(), PROBE
        while probe < len(items):
            started_at = self.clock()
            work(evenly_spaced(items, probe))
            each = max(1e-9, (self.clock() - started_at) / probe)
            rest = share * self.left
            if self.clock() - began > PROBING_SHARE * rest:
                return evenly_spaced(items, max(PROBE, int(rest / each)))
            probe *= 4  # many are faster than few: they are computed together, on all cores
        return list(items)


def evenly_spaced(items: Sequence[Item], number: int) -> list[Item]:
    """At most so many items, from all parts of a sequence."""
    return [items[index * len(items) // number] for index in range(number)] if number < len(items) else list(items)
