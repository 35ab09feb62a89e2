"""Progress shown on standard error."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

from dragoman.errors import escape_controls

PLAIN_SECONDS = 30.0
"""Time between progress lines if the output is not a terminal, where a line cannot be redrawn."""

MEASURABLE = 0.5
"""Seconds after which a rate is shown."""

TRACKED_PAIRS = 10_000
"""Number of pairs between two updates of `Meter.track`."""

Log = Callable[[str], None]
"""Receives messages: `ProgressLine.log`."""

Update = Callable[[float | None, str], None]
"""Receives the completed share of the work, from 0 to 1 if it is known, and a description: `ProgressLine.update`."""

_Item = TypeVar("_Item")


def no_log(text: str) -> None:
    """Ignore a message."""


def no_update(share: float | None, text: str) -> None:
    """Ignore progress."""


def format_seconds(seconds: float) -> str:
    """Format a duration as minutes and seconds, preceded by hours if there are any."""
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


class Meter:
    """Reports how many pairs or lines have been processed, at what rate, and the remaining time.

    Args:
        update: Receives the reports.
        work: What is being done, such as "encoding".
        total: Number of pairs, if known; an estimate is enough.
        limit: Seconds after which the work ends, also if it is not complete.
        unit: What is counted.
    """

    def __init__(
        self, update: Update, work: str, total: int | None = None, limit: float | None = None, unit: str = "pairs"
    ) -> None:
        self._update, self._work, self._total, self._limit = update, work, total, limit or math.inf
        self._unit = unit
        self._done = self._skipped = 0
        self._started = time.monotonic()

    def advance(self, pairs: int, *, skipped: bool = False) -> None:
        """Count pairs as processed; those that were skipped do not count for the rate."""
        self._done += pairs
        self._skipped += pairs if skipped else 0
        elapsed = time.monotonic() - self._started
        rate = (self._done - self._skipped) / elapsed if elapsed >= MEASURABLE else 0.0
        text = f"{self._work}: {self._done:,}{f' of {self._total:,}' if self._total else ''} {self._unit}"
        text += f", {rate:,.0f} {self._unit}/s" if rate else ""
        if rate and self._total:
            left, allowed = (self._total - self._done) / rate, self._limit - elapsed
            text += f", {format_seconds(max(0, min(left, allowed)))} left"
            text += " for as many as fit" if left > allowed else ""
        share = min(1.0, max(self._done / self._total, elapsed / self._limit)) if self._total else None
        self._update(share, text)

    def track(self, pairs: Iterable[_Item]) -> Iterator[_Item]:
        """Yield the same pairs, counting them every `TRACKED_PAIRS` pairs."""
        for number, pair in enumerate(pairs, start=1):
            yield pair
            if number % TRACKED_PAIRS == 0:
                self.advance(TRACKED_PAIRS)


class ProgressLine:
    """A progress bar on standard error in a terminal; otherwise a plain line every `PLAIN_SECONDS`.

    Args:
        label: Shown before the bar.
        quiet: Show nothing.
        often_short: Whether the work often takes less than `PLAIN_SECONDS`, so that the first plain line comes after
            this time.
    """

    def __init__(self, label: str, *, quiet: bool = False, often_short: bool = False) -> None:
        self.console = Console(stderr=True, highlight=False, quiet=quiet)
        self.live = self.console.is_terminal
        self._next_plain = time.monotonic() + (PLAIN_SECONDS if often_short else 0.0)
        self._bar = Progress(
            TextColumn(escape(label)), BarColumn(bar_width=20), TextColumn("{task.description}"), console=self.console
        )
        self._task = self._bar.add_task("starting", total=1.0)

    def __enter__(self) -> ProgressLine:
        if self.live:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.live:
            self._bar.stop()

    def update(self, share: float | None, text: str) -> None:
        """Show the completed share of the run, from 0 to 1 if it is known, and what it is doing."""
        if self.live:
            self._bar.update(self._task, completed=share or 0.0, description=escape(text))
        elif time.monotonic() >= self._next_plain:
            self._next_plain = time.monotonic() + PLAIN_SECONDS
            self.log(text if share is None else f"{share:4.0%}  {text}")

    def log(self, text: str) -> None:
        """Print a line that stays above the progress bar."""
        self.console.print(escape(escape_controls(text)), soft_wrap=True)
