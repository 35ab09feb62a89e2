"""Sentences that wait for translation, so that all clients get the same share."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from operator import itemgetter
from typing import Any

from dragoman.documents.segment import Segment, TranslateSegments
from dragoman.serving.mixed_batches import mixing_key

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
        begin: When it was expected to begin, when it was added to the queue (see `FairQueue`).
    """

    translate: TranslateSegments
    segment: Segment
    tokens: int
    priority: Priority
    waiters: dict[Any, list[int]] = field(default_factory=dict)
    taken: bool = False
    client: str = ""
    begin: float = 0.0


class FairQueue:
    """The waiting jobs of one priority, in the order of weighted fair queueing.

    The order is that in which the jobs would begin if all clients that wait were served at once, at the same speed: no
    client gets more than its share. A job that is longer than sentences usually are begins so much later, so that
    it does not delay those of others. Times are in tokens that each client has been served (Demers, Keshav and
    Shenker 1989, "Analysis and Simulation of a Fair Queueing Algorithm").

    Deficit round robin needs less arithmetic, but its turns are longer than a sentence: while 32 clients wait for long
    lists, the sentence of another one waited for 3,700 tokens instead of 380.
    """

    def __init__(self) -> None:
        self._clients: dict[str, dict[Job, None]] = {}  # the waiting jobs of each, in order
        self._waiting: Counter[str] = Counter()  # tokens of each client that has any
        self._clock = 0.0
        self._begins: dict[str, float] = {}  # when the next job of a client begins: if it waits, or later than now
        self.tokens = 0
        """How many wait."""

    def next_begin(self, client: str) -> float:
        """When a job that a client adds now would begin."""
        if client in self._waiting:
            return self._begins[client] + self._waiting[client]
        return max(self._clock, self._begins.get(client, 0.0))

    def add(self, client: str, job: Job) -> None:
        """Add a job at the end of a client's jobs."""
        job.client, job.begin = client, self.next_begin(client)
        if client not in self._waiting:
            self._begins[client] = job.begin
        self._clients.setdefault(client, {})[job] = None
        self.tokens += job.tokens
        self._waiting[client] += job.tokens

    def leave(self, job: Job) -> None:
        """Count a job no longer, because it does not wait here any more."""
        self._remove(job)
        self._forget_begins()

    def _remove(self, job: Job) -> None:
        del self._clients[job.client][job]
        self.tokens -= job.tokens
        self._waiting[job.client] -= job.tokens
        if not self._waiting[job.client]:
            del self._waiting[job.client], self._clients[job.client]

    def take(self, tokens: int) -> list[Job]:
        """Remove and return a batch of one engine: the next job, and those of similar length among the next ones.

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
            self._remove(job)
        if self._waiting:
            self._clock = max(self._clock, min(self._begins[client] for client in self._waiting))
        self._forget_begins()
        return batch

    def _forget_begins(self) -> None:
        """Forget when clients without jobs may begin, if that is now."""
        for client in self._begins.keys() - self._waiting.keys():
            if not self._waiting or self._begins[client] <= self._clock:
                del self._begins[client]

    def tokens_before(self, client: str, tokens: int) -> int:
        """About how many tokens are translated before new jobs of a client end, if no other client comes.

        No job is interrupted.

        Args:
            client: Who asks.
            tokens: The size of the new jobs.
        """
        own, end = self._waiting.get(client, 0), self.next_begin(client) + tokens
        others = (
            min(waiting, max(end - begin, next_size))
            for name, waiting in self._waiting.items()
            if name != client and (begin := self._begins[name]) + _excess(next_size := self._next_size(name)) <= end
        )
        return own + math.ceil(sum(others))

    def _next_size(self, client: str) -> int:
        """The tokens of the next job of a client that waits."""
        return next(iter(self._clients[client])).tokens

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
        begin = self._begins[client]
        for job in self._clients[client]:
            yield begin + _excess(job.tokens), job
            begin += job.tokens


def _excess(tokens: int) -> int:
    """By how much a job is longer than sentences usually are."""
    return max(0, tokens - _USUAL_TOKENS)


def _most_similar(jobs: list[Job], tokens: int) -> list[Job]:
    """The first job, and those that can be in the same batch whose lengths are nearest, within a size with padding."""
    if not jobs:
        return []
    first, key = jobs[0], mixing_key(jobs[0].translate)
    others = [job for job in jobs[1:] if mixing_key(job.translate) == key]
    batch, longest = [first], first.tokens
    for job in sorted(others, key=lambda job: abs(job.tokens - first.tokens)):
        longest = max(longest, job.tokens)
        if longest * (len(batch) + 1) > tokens:
            break
        batch.append(job)
    return batch
