"""What a person sees while a run goes on."""

from __future__ import annotations

import time

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

PLAIN_SECONDS = 30.0  # between lines where there is no terminal to redraw


def format_seconds(seconds: float) -> str:
    """Minutes and seconds, or hours too."""
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


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
