"""Sentences that wait for translation, in turns between clients."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from dragoman.documents.segment import Segment, TranslateSegments

_WINDOW = 4
"""Batches whose sentences are compared, to find some of similar length."""


class Priority(Enum):
    """Who is served first."""

    INTERACTIVE = 0
    DOCUMENT = 1


@dataclass(eq=False)
class Job:
    """A segment to translate once for everyone who waits for it.

    Args:
        translate: The translator.
        segment: What to translate.
        tokens: The number of its source tokens, at least 1.
        priority: The queue in which it waits.
        waiters: Who waits for it, with the positions in their lists of segments.
        taken: Whether a worker has it.
        client: In whose turn it is translated.
    """

    translate: TranslateSegments
    segment: Segment
    tokens: int
    priority: Priority
    waiters: dict[Any, list[int]] = field(default_factory=dict)
    taken: bool = False
    client: str = ""


class FairQueue:
    """The waiting jobs of one priority. Every batch begins with the client whose turn it is."""

    def __init__(self, priority: Priority) -> None:
        self._priority = priority
        self._clients: OrderedDict[str, deque[Job]] = OrderedDict()  # with jobs that do not wait any more
        self._waiting: Counter[str] = Counter()  # tokens of each client that has any
        self.tokens = 0
        """How many wait."""

    def add(self, client: str, job: Job) -> None:
        """Add a job at the end of a client's jobs."""
        job.client = client
        self._clients.setdefault(client, deque()).append(job)
        self._count(client, job.tokens)

    def leave(self, job: Job) -> None:
        """Count a job no longer, because it does not wait here any more."""
        self._count(job.client, -job.tokens)

    def _count(self, client: str, tokens: int) -> None:
        self.tokens += tokens
        self._waiting[client] += tokens
        if not self._waiting[client]:
            del self._waiting[client]

    def take(self, tokens: int) -> list[Job]:
        """Remove and return a batch of one translator: the next job, and others of similar length.

        Args:
            tokens: Maximum size of the batch with padding; one job may be longer.
        """
        candidates, seen = self._candidates(tokens * _WINDOW)
        batch = _most_similar([job for _, job in candidates], tokens)
        for job in batch:
            job.taken = True
            self.leave(job)
        if candidates:
            self._clients.move_to_end(candidates[0][0])
        for client, count in seen.items():
            jobs = self._clients[client]
            kept = [job for job in (jobs.popleft() for _ in range(count)) if self._waits(job)]
            jobs.extendleft(reversed(kept))
            if not jobs:
                del self._clients[client]
        return batch

    def tokens_before(self, client: str, tokens: int) -> int:
        """The tokens that are translated before new jobs of a client end, because clients take turns.

        A turn is at least one job, and no job is interrupted.

        Args:
            client: Who asks.
            tokens: The size of the new jobs.
        """
        share = self._waiting[client] + tokens
        return sum(min(each, max(share, self._next_size(name))) for name, each in self._waiting.items())

    def _next_size(self, client: str) -> int:
        """The tokens of the next job of a client that waits."""
        jobs = self._clients[client]
        while not self._waits(jobs[0]):
            jobs.popleft()
        return jobs[0].tokens

    def _waits(self, job: Job) -> bool:
        return bool(job.waiters) and not job.taken and job.priority is self._priority

    def _candidates(self, tokens: int) -> tuple[list[tuple[str, Job]], Counter[str]]:
        """Waiting jobs with their clients, one of each client in turn, and the number of jobs seen of each client."""
        candidates: list[tuple[str, Job]] = []
        seen: Counter[str] = Counter()
        for client, job in self._in_turns():
            seen[client] += 1
            if self._waits(job):
                candidates.append((client, job))
                tokens -= job.tokens
                if tokens <= 0:
                    break
        return candidates, seen

    def _in_turns(self) -> Iterator[tuple[str, Job]]:
        rest = {client: iter(jobs) for client, jobs in self._clients.items()}
        while rest:
            for client, jobs in list(rest.items()):
                if (job := next(jobs, None)) is not None:
                    yield client, job
                else:
                    del rest[client]


def _most_similar(jobs: list[Job], tokens: int) -> list[Job]:
    """The first job, and those of the same translator whose lengths are nearest, within a size with padding."""
    if not jobs:
        return []
    first = jobs[0]
    others = [job for job in jobs[1:] if job.translate == first.translate]
    batch, longest = [first], first.tokens
    for job in sorted(others, key=lambda job: abs(job.tokens - first.tokens)):
        longest = max(longest, job.tokens)
        if longest * (len(batch) + 1) > tokens:
            break
        batch.append(job)
    return batch
