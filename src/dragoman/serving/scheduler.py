"""Queues sentences of all requests, and translates them in batches with a few threads."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dragoman.documents.segment import Segment, TranslateSegments
from dragoman.documents.sentences import CountTokens, DividedSegments
from dragoman.errors import UserError
from dragoman.serving.errors import RequestError
from dragoman.serving.fair_queue import FairQueue, Job, Priority
from dragoman.serving.mixed_batches import translate_jobs
from dragoman.settings.serving import Serving
from dragoman.text.translation import Translation

_LOG = logging.getLogger(__name__)
_SLOWEST_RETRY = 60
_SHORT = 2000  # characters
Result = TypeVar("Result")
_EFFICIENT_TOKENS = 250
"""About twelve sentences with padding. With batches of half the size, 32 clients get 7 % fewer sentences per second."""


async def run_by_size(size: int, work: Callable[[], Result]) -> Result:
    """The result of some work on a number of characters: in a thread if there are many."""
    return await asyncio.to_thread(work) if size > _SHORT else work()


@dataclass(eq=False)
class Waiter:
    """A request that waits for its segments."""

    results: list[Translation | None]
    missing: int
    future: asyncio.Future[None]

    def receive(self, positions: list[int], result: Translation | Exception) -> None:
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


def deliver(batch: list[Job], results: Sequence[Translation | Exception]) -> None:
    """Give everyone who waits for a job its result."""
    for job, result in zip(batch, results, strict=True):
        for waiter, positions in job.waiters.items():
            waiter.receive(positions, result)


def translate_batch(batch: list[Job]) -> Sequence[Translation | Exception]:
    """The translation of each job; if that fails, of each job by itself, so that one text cannot harm the others."""
    try:
        results = translate_jobs([(job.translate, job.segment) for job in batch])
        assert len(results) == len(batch), "one translation for each segment"
        return results
    except Exception as error:
        if len(batch) > 1:
            return [translate_batch([job])[0] for job in batch]
        if isinstance(error, UserError):
            return [RequestError(400, str(error))]
        _LOG.exception("a segment could not be translated")
        return [RequestError(500, "The text could not be translated.")]


class Scheduler:
    """Translates the segments of all requests with a few threads.

    A free thread takes what waits, without waiting for more. Equal segments are translated once. A segment that nobody
    waits for any more is not translated. `translate` belongs to one event loop; a lock protects what it shares with the
    threads.

    Args:
        settings: The limits, and the number of workers.
        workers: The number of threads.
        prepare_thread: Called in each thread when it starts.
    """

    def __init__(self, settings: Serving, workers: int, prepare_thread: Callable[[], None] = lambda: None) -> None:
        self._settings, self._prepare_thread = settings, prepare_thread
        self._changed = threading.Condition()
        self._queues = {priority: FairQueue() for priority in Priority}
        self._jobs: dict[tuple[TranslateSegments, Segment], Job] = {}
        self._in_progress: dict[int, tuple[float, int]] = {}  # when a thread began its batch, and the tokens of it
        self._idle = 0
        self._closed = False
        self.on_batch: Callable[[int, int, float], None] = lambda segments, characters, seconds: None
        """Called in a worker's thread after each batch."""
        self._speed = 0.0  # tokens per second and worker, of batches that are not small
        self.workers = workers
        self._threads: list[threading.Thread] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Start the threads; results are delivered in the running event loop."""
        self._loop = asyncio.get_running_loop()
        for _ in range(self.workers):
            self._start_worker()

    def close(self) -> None:
        """Let the threads end after their batches."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def has_ended(self, seconds: float) -> bool:
        """Whether all threads have ended, for which this waits some seconds."""
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    @property
    def waiting(self) -> dict[Priority, int]:
        """Tokens that wait, by priority."""
        return {priority: queue.tokens for priority, queue in self._queues.items()}

    async def translate(
        self,
        translate: TranslateSegments,
        count_tokens: CountTokens,
        segments: Sequence[Segment],
        client: str,
        priority: Priority,
        is_accepted: bool = False,
    ) -> list[Translation]:
        """The translations of segments, in order. If the caller is cancelled, they leave the queue.

        A segment that is longer than a batch is divided, so that no batch takes much longer than others.

        Args:
            translate: The translator.
            count_tokens: The number of source tokens of a text.
            segments: What to translate.
            client: Who asks.
            priority: How urgently.
            is_accepted: Whether they are the rest of a request, which a full queue does not refuse.

        Raises:
            RequestError: The queue is full.
        """
        size, most = sum(len(segment.text) for segment in segments), self._settings.batch_tokens
        may_refuse = priority is Priority.INTERACTIVE and not is_accepted  # files are limited in number instead
        if may_refuse and (long := {segment.text for segment in segments if len(segment.text) > most}):
            tokens = await run_by_size(size, lambda: sum(map(count_tokens, long)))
            with self._changed:
                self._require_room(tokens, client)  # before the work of dividing
        divided = await run_by_size(size, lambda: DividedSegments(segments, count_tokens, most))
        return divided.join(await self._translate_parts(translate, divided, client, priority, may_refuse))

    async def _translate_parts(
        self,
        translate: TranslateSegments,
        divided: DividedSegments,
        client: str,
        priority: Priority,
        may_refuse: bool,
    ) -> list[Translation]:
        count = len(divided.parts)
        if not count:
            return []
        waiter = Waiter([None] * count, count, asyncio.get_running_loop().create_future())
        with self._changed:
            if may_refuse:
                sizes = dict(zip(divided.parts, divided.sizes, strict=True))
                new = sum(size for part, size in sizes.items() if (translate, part) not in self._jobs)
                self._require_room(new, client)
            jobs = self._enqueue(translate, divided, waiter, client, priority)
            self._changed.notify(self.workers)
        try:
            await waiter.future
        except BaseException:
            self._withdraw(jobs, waiter)
            raise
        return [result for result in waiter.results if result is not None]

    def _enqueue(
        self,
        translate: TranslateSegments,
        divided: DividedSegments,
        waiter: Waiter,
        client: str,
        priority: Priority,
    ) -> list[Job]:
        positions: dict[Segment, list[int]] = {}
        for position, segment in enumerate(divided.parts):
            positions.setdefault(segment, []).append(position)
        jobs = []
        for segment, places in positions.items():
            job = self._jobs.get((translate, segment))
            if job is None:
                job = self._jobs[translate, segment] = Job(translate, segment, divided.sizes[places[0]], priority)
                self._queues[priority].add(client, job)
            elif not job.taken and self._would_be_earlier(job, client, priority):
                self._queues[job.priority].leave(job)
                job.priority = priority
                self._queues[priority].add(client, job)
            job.waiters[waiter] = places
            jobs.append(job)
        return jobs

    def _would_be_earlier(self, job: Job, client: str, priority: Priority) -> bool:
        """Whether a job that waits for others would be translated earlier in the share of a client."""
        if priority is job.priority:
            return self._queues[priority].next_begin(client) < job.begin
        return priority.value < job.priority.value

    def _require_room(self, tokens: int, client: str) -> None:
        """Refuse interactive requests that do not fit into the queue, or that would wait too long.

        Those that would be translated next only wait for the batches in progress, and are accepted.
        """
        before = self._queues[Priority.INTERACTIVE].tokens_before(client, tokens)
        if not before:
            return
        slow = self._seconds(before) + self._seconds_in_progress() > self._settings.queue_seconds
        if slow or self.waiting[Priority.INTERACTIVE] + tokens > self._settings.queue_tokens:
            raise RequestError(503, "The server is busy; try again later.", self.seconds_to_wait())

    def seconds_to_wait(self) -> int:
        """An estimate of when the queue will be empty."""
        return max(1, min(_SLOWEST_RETRY, round(self._seconds(sum(self.waiting.values())))))

    def _seconds(self, tokens: int) -> float:
        """An estimate of the time to translate some tokens; 0 until the speed is known."""
        return tokens / (self._speed * self.workers) if self._speed else 0.0

    def _seconds_in_progress(self) -> float:
        """An estimate of how long the batches in progress delay others; 0 until the speed is known."""
        if not self._speed:
            return 0.0
        now, batches = time.perf_counter(), self._in_progress.values()
        return sum(max(0.0, tokens / self._speed - (now - begin)) for begin, tokens in batches) / self.workers

    def _withdraw(self, jobs: list[Job], waiter: Waiter) -> None:
        with self._changed:
            for job in jobs:
                job.waiters.pop(waiter, None)
                if not job.waiters and not job.taken:
                    job.taken = True
                    self._queues[job.priority].leave(job)
                    del self._jobs[job.translate, job.segment]

    def _start_worker(self) -> None:
        thread = threading.Thread(target=self._run_worker, name="dragoman-worker", daemon=True)
        self._threads = [*filter(threading.Thread.is_alive, self._threads), thread]
        thread.start()

    def _run_worker(self) -> None:
        """Translate until the scheduler is closed. If anything ends this thread, another one replaces it."""
        batch: list[Job] = []
        try:
            self._prepare_thread()
            while batch := self._take():
                self._translate(batch)
                batch = []
        except BaseException:
            _LOG.exception("a worker ended unexpectedly")
            self._finish(batch, [RequestError(503, "The translation was interrupted; try again.", 1)] * len(batch))
            self._start_worker()

    def _take(self) -> list[Job]:
        """The next batch, as soon as there is one; empty after `close`."""
        with self._changed:
            self._idle += 1
            try:
                while not self._closed:
                    for queue in self._queues.values():
                        if batch := queue.take(self._batch_size(queue.tokens)):
                            tokens = sum(job.tokens for job in batch)
                            self._in_progress[threading.get_ident()] = time.perf_counter(), tokens
                            return batch
                    self._changed.wait()
                return []
            finally:
                self._idle -= 1

    def _batch_size(self, waiting: int) -> int:
        """Maximum number of tokens of a batch, with padding.

        Idle workers share what waits. A single one takes an efficient batch, or its share of a long text, so that all
        workers finish the text at the same time.
        """
        if self._idle > 1:
            return min(self._settings.batch_tokens, math.ceil(waiting / self._idle))
        return min(self._settings.batch_tokens, max(_EFFICIENT_TOKENS, math.ceil(waiting / self.workers)))

    def _translate(self, batch: list[Job]) -> None:
        begin = time.perf_counter()
        results = translate_batch(batch)
        seconds, tokens = time.perf_counter() - begin, sum(job.tokens for job in batch)
        if tokens >= min(_EFFICIENT_TOKENS, self._settings.batch_tokens) / 4:
            self._speed = 0.9 * (self._speed or tokens / seconds) + 0.1 * tokens / seconds
        self._finish(batch, results)
        self.on_batch(len(batch), sum(len(job.segment.text) for job in batch), seconds)

    def _finish(self, batch: list[Job], results: Sequence[Translation | Exception]) -> None:
        """Deliver results to everyone who waits for them, in the event loop."""
        with self._changed:
            self._in_progress.pop(threading.get_ident(), None)
            for job in batch:
                if self._jobs.get((job.translate, job.segment)) is job:
                    del self._jobs[job.translate, job.segment]
        assert self._loop is not None
        if batch and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(deliver, batch, results)
