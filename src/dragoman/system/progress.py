"""What a person sees while a run goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

PLAIN_SECONDS = 30.0  # between lines where there is no terminal to redraw


METER_PAIRS = 10_000  # between one look at the clock and the next


def format_seconds(seconds: float) -> str:
    """Minutes and seconds, or hours too."""
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


Update = Callable[[float, str], None]
"""Takes how far the work is, 0 to 1, and what it is: `ProgressLine.update`."""

_Item = TypeVar("_Item")


class Meter:
    """Tells how many pairs of a piece of work are done, at what rate, and how long the rest takes."""

    def __init__(self, update: Update, work: str, total: int | None = None) -> None:
        """The total, if it is known, need not be exact."""
        self._update, self._work, self._total = update, work, total
        self._done = self._skipped = 0
        self._started = time.monotonic()

    def add(self, pairs: int, *, skipped: bool = False) -> None:
        """So many more pairs are done; or were done before, which tells nothing of the rate."""
        self._done += pairs
        self._skipped += pairs if skipped else 0
        rate = (self._done - self._skipped) / max(1e-9, time.monotonic() - self._started)
        text = f"{self._work}: {self._done:,}{f' of {self._total:,}' if self._total else ''} pairs"
        if rate:
            text += f", {rate:,.0f} pairs/s"
            text += f", {format_seconds(max(0, self._total - self._done) / rate)} left" if self._total else ""
        self._update(min(1.0, self._done / self._total) if self._total else 0.0, text)

    def watch(self, pairs: Iterable[_Item]) -> Iterator[_Item]:
        """The same pairs, told of now and then as they pass by."""
        for number, pair in enumerate(pairs, start=1):
            yield pair
            if number % METER_PAIRS == 0:
                self.add(METER_PAIRS)


class ProgressLine:
    """A live line on stderr in a terminal; elsewhere a plain line now and then."""

    def __init__(self, label: str, *, quiet: bool = False) -> None:
        self.console = Console(stderr=True, highlight=False, quiet=quiet)
        self.live = self.console.is_terminal
        self._next_plain = time.monotonic()
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

    def update(self, share: float, text: str) -> None:
        """Show how far the run is, 0 to 1, and what it is doing."""
        if self.live:
            self._bar.update(self._task, completed=share, description=escape(text))
        elif time.monotonic() >= self._next_plain:
            self._next_plain = time.monotonic() + PLAIN_SECONDS
            self.note(f"{share:4.0%}  {text}")

    def note(self, text: str) -> None:
        """A line that stays."""
        self.console.print(escape(text), soft_wrap=True)
