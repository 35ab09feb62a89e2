"""No progress bars of transformers: they would appear for less than a second."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from transformers.utils.logging import disable_progress_bar, enable_progress_bar, is_progress_bar_enabled


@contextmanager
def without_progress_bars() -> Iterator[None]:
    """Disable the progress bars of transformers within the block."""
    enabled = is_progress_bar_enabled()
    disable_progress_bar()
    try:
        yield
    finally:
        if enabled:
            enable_progress_bar()
