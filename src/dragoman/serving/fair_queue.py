"""Sentences that wait for translation, so that all clients get the same share."""

from __future__ import annotations

import heapq
import math
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from operator import itemgetter
from typing import Any

from dragoman.documents.segment import Segment, TranslateSegments

_USUAL_TOKENS = 125
"""Sentences are seldom longer."""


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
        client: In whose share it is translated.
    """

    translate: TranslateSegments
    segment: Segment
    tokens: int
    priority: Priority
    waiters: dict[Any, list[int]] = field(default_factory=dict)
    taken: bool = False
    client: str = ""


class FairQueue:
    """The waiting jobs of one priority, in the order of weighted fair queueing.

    The order is that in which the jobs would begin if all clients that wait were served at once, at the same speed: no
    client gets more than its share. A job that is longer than sentences usually are begins so much later, so that
    it does not delay those of others. Times are in tokens that each client has been served (Demers, Keshav and
    Shenker 1989, "Analysis and Simulation of a Fair Queueing Algorithm").
    """

    def __init__(self, priority: Priority) -> None:
        self._priority = priority
        self._clients: dict[str, deque[Job]] = {}  # with jobs that do not wait any more
        self._waiting: Counter[str] = Counter()  # tokens of each client that has any
        self._clock = 0.0
        self._begins: dict[str, float] = {}  # when the next job of a client begins: if it waits, or later than now
        self.tokens = 0
        """How many wait."""

    def add(self, client: str, job: Job) -> None:
        """Add a job at the end of a client's jobs."""
        job.client = client
        if client not in self._waiting:
            self._begins[client] = self._next_begin(client)
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

    def _next_begin(self, client: str) -> float:
        """When a job that a client adds begins, if none of its jobs waits."""
        return max(self._clock, self._begins.get(client, 0.0))

    def take(self, tokens: int) -> list[Job]:
        """Remove and return a batch of one translator: the next job, and those of similar length among the next ones.

        Others are not looked at: with four times as many, translating was no faster, and under overload, sentences of
        unusual length waited twice as long as others.

        Args:
            tokens: Maximum size of the batch with padding; one job may be longer.
        """
        batch = _most_similar(self._candidates(tokens), tokens)
        clients = len(self._begins)  # with those that were served early, and would still wait otherwise
        for job in batch:
            self._clock += job.tokens / clients
            self._begins[job.client] += job.tokens
            job.taken = True
            self.leave(job)
        if self._waiting:
            self._clock = max(self._clock, min(self._begins[client] for client in self._waiting))
        self._forget()
        return batch

    def _forget(self) -> None:
        """Forget jobs and times that matter no longer."""
        for client in self._clients.keys() - self._waiting.keys():
            del self._clients[client]
        for client in self._begins.keys() - self._waiting.keys():
            if not self._waiting or self._begins[client] <= self._clock:
                del self._begins[client]

    def tokens_before(self, client: str, tokens: int) -> int:
        """The tokens that are translated before new jobs of a client end, if no other client comes.

        No job is interrupted.

        Args:
            client: Who asks.
            tokens: The size of the new jobs.
        """
        own = self._waiting.get(client, 0)
        end = (self._begins[client] if own else self._next_begin(client)) + own + tokens
        others = (
            min(waiting, max(end - begin, next_size))
            for name, waiting in self._waiting.items()
            if name != client and (begin := self._begins[name]) + _excess(next_size := self._next_size(name)) <= end
        )
        return own + math.ceil(sum(others))

    def _next_size(self, client: str) -> int:
        """The tokens of the next job of a client that waits."""
        jobs = self._clients[client]
        while not self._waits(jobs[0]):
            jobs.popleft()
        return jobs[0].tokens

    def _waits(self, job: Job) -> bool:
        return bool(job.waiters) and not job.taken and job.priority is self._priority

    def _candidates(self, tokens: int) -> list[Job]:
        """The first jobs that wait, until they have so many tokens."""
        candidates: list[Job] = []
        for _, job in heapq.merge(*map(self._in_order, self._waiting), key=itemgetter(0)):
            candidates.append(job)
            tokens -= job.tokens
            if tokens <= 0:
                break
        return candidates

    def _in_order(self, client: str) -> Iterator[tuple[float, Job]]:
        """The waiting jobs of a client, with the times that order them."""
        self._next_size(client)  # forgets those before the next one
        begin = self._begins[client]
        for job in filter(self._waits, self._clients[client]):
            yield begin + _excess(job.tokens), job
            begin += job.tokens


def _excess(tokens: int) -> int:
    """By how much a job is longer than sentences usually are."""
    return max(0, tokens - _USUAL_TOKENS)


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
