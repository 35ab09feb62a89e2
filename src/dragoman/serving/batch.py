"""Translating a batch of jobs, and telling the requests that wait for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.documents.segment import TranslatedSegment
from dragoman.errors import UserError
from dragoman.serving.errors import RequestError
from dragoman.serving.fair_queue import Job

_LOG = logging.getLogger(__name__)


@dataclass(eq=False)
class Waiter:
    """A request that waits for its segments."""

    results: list[TranslatedSegment | None]
    missing: int
    future: asyncio.Future[None]

    def receive(self, positions: list[int], result: TranslatedSegment | Exception) -> None:
        """Take the translation of the segments at these positions, or the reason why there is none."""
        if self.future.done():
            return
        if isinstance(result, Exception):
            self.future.set_exception(result)
            return
        for position in positions:
            self.results[position] = result
        self.missing -= len(positions)
        if not self.missing:
            self.future.set_result(None)


def deliver(batch: list[Job], results: Sequence[TranslatedSegment | Exception]) -> None:
    """Give everyone who waits for a job its result."""
    for job, result in zip(batch, results, strict=True):
        for waiter, positions in job.waiters.items():
            waiter.receive(positions, result)


def translate_batch(batch: list[Job]) -> Sequence[TranslatedSegment | Exception]:
    """The translation of each job; if that fails, of each job by itself, so that one text cannot harm the others."""
    try:
        results = batch[0].translate([job.segment for job in batch])
        assert len(results) == len(batch), "one translation for each segment"
        return results
    except Exception as error:
        if len(batch) > 1:
            return [translate_batch([job])[0] for job in batch]
        if isinstance(error, UserError):
            return [RequestError(400, str(error))]
        _LOG.exception("a segment could not be translated")
        return [RequestError(500, "The text could not be translated.")]
