"""Keeping the event loop free of work on long texts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

_SHORT = 2000  # characters
Result = TypeVar("Result")


async def run_by_size(size: int, work: Callable[[], Result]) -> Result:
    """The result of some work on a number of characters: in a thread if there are many."""
    return await asyncio.to_thread(work) if size > _SHORT else work()
