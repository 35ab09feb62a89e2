"""Asking a teacher for many groups: several requests at once, as many as the server answers well."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice

from dragoman.errors import UserError
from dragoman.synthesis.answer_log import AnswerLog
from dragoman.synthesis.http_client import BusyServerError, RefusedRequestError
from dragoman.synthesis.sentence_groups import SentenceGroup
from dragoman.synthesis.teachers import CHARACTERS_PER_TOKEN, Answer, Teacher, TokenUsage
from dragoman.system.progress import Log
from dragoman.system.resumable import digest

PARALLEL = 4
"""Requests at once, at most, where nothing else is said."""

PATIENCE = 600.0
"""Seconds without any answer after which the server counts as gone."""

FIRST_PATIENCE = 15.0
"""The same for one that has never answered and cannot be reached: it was not started, or its address is wrong."""

_BETWEEN_MESSAGES = 30.0  # seconds; a server that limits requests refuses every few of them

MOST_FAILURES, MOST_AFTER_PROBE = 5, 2
"""A request that fails so often by itself (500, a damaged reply) is not sent again, and with fewer failures after the
server has failed for many and then answered a sentence that it had answered before."""

MOST_IN_A_ROW = 8
"""After so many failures without an answer in between, a server that has answered must answer a short request."""

_REFUSED = (400, 413, 422)  # one request, such as a long one; other statuses concern all of them, such as a wrong key

MIN_GAIN = 1.05
"""One more request at once must make the server so many times as fast; otherwise, it only waits in its queue."""

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0  # seconds after a lost connection; twice as long after each further one
_POLL = 0.05  # seconds between two looks at the flag that stops everything

SAMPLE_SECONDS = 20.0
"""No more is sent for an estimate after so long, if there was one answer for each of the requests at once."""


@dataclass(frozen=True)
class Price:
    """What a million units cost: tokens that are sent and received, or characters to translate."""

    sent: float
    received: float = 0.0

    def cost(self, usage: TokenUsage, counts_tokens: bool) -> float:
        """What a usage costs."""
        if not counts_tokens:
            return self.sent * usage.characters / 1e6
        return (self.sent * usage.input_tokens + self.received * usage.output_tokens) / 1e6


@dataclass
class Parallelism:
    """How many requests are sent at once: one more while that makes the server faster, half if it is busy.

    Attributes:
        most: The most requests at once.
        now: How many there may be now.
    """

    most: int = PARALLEL
    now: int = 1
    _speed: float = 0.0  # characters per second with one request less
    _characters: int = 0
    _answers: int = 0
    _since: float = field(default_factory=lambda: time.monotonic())
    _settled: int = 0  # measurements to wait for before one more is tried again

    def answered(self, characters: int) -> None:
        """Count an answer."""
        self._characters += characters
        self._answers += 1
        seconds = time.monotonic() - self._since
        if self._answers < _answers_to_measure(self.now) or seconds <= 0:
            return
        speed = self._characters / seconds
        if self._settled:
            self._settled -= 1
            self._start_measurement()
            return
        if speed >= MIN_GAIN * self._speed and self.now < self.most:
            self.now, self._speed = self.now + 1, speed
        elif speed < MIN_GAIN * self._speed and self.now > 1:
            self.now, self._speed, self._settled = self.now - 1, 0.0, 20
        self._start_measurement()

    def refused(self) -> None:
        """Count an answer that the server is busy."""
        self.now, self._speed, self._settled = max(1, self.now // 2), 0.0, 5
        self._start_measurement()

    def _start_measurement(self) -> None:
        self._characters = self._answers = 0
        self._since = time.monotonic()


def _answers_to_measure(now: int) -> int:
    """After how many answers to so many requests at once the speed is known."""
    return max(4, 2 * now)


@dataclass(frozen=True)
class Speed:
    """How fast a server answers requests of usual size.

    Attributes:
        seconds: The time for each request while as many as possible are sent at once.
        alone: The time for a request that no other one delays.
        most: The most requests at once.
    """

    seconds: float
    alone: float
    most: int

    def seconds_for(self, requests: int) -> float:
        """The time for requests, of which one more is sent at once from measurement to measurement."""
        seconds, left = 0.0, requests
        for now in range(1, self.most):
            count = min(left, _answers_to_measure(now))
            seconds += count * max(self.seconds, self.alone / now)
            left -= count
        return seconds + left * self.seconds


@dataclass(frozen=True)
class Request:
    """A group to send, and the name of its answer in the log; a probe only shows whether the server still answers."""

    group: SentenceGroup
    candidate: int
    name: str
    is_probe: bool = False


def requests_of(identity: str, groups: Iterable[SentenceGroup], candidates: int) -> Iterator[Request]:
    """The requests for groups, one for each candidate, to a teacher with this identity."""
    for group in groups:
        content = [group.sentences, group.before, group.after, group.paragraphs]
        for candidate in range(candidates):
            yield Request(group, candidate, digest([identity, content, candidate]))


@dataclass
class Collector:
    """Sends requests, and stores each answer before anything else happens.

    Attributes:
        teacher: Answers the requests.
        answers: Stores the answers.
        log: Receives messages.
        stop: Whether to send no more requests; those that were sent are waited for.
        parallelism: How many requests are sent at once.
        price: What the teacher costs.
        most_cost: No request is sent that would probably make the answers cost more; in the unit of the price.
        end: When to stop, in seconds of `time.monotonic`: no request is sent that would probably take longer, and later
            answers are not waited for.
        limit_reached: Whether `most_cost` has ended the collection.
    """

    teacher: Teacher
    answers: AnswerLog
    log: Log
    stop: Callable[[], bool] = lambda: False
    parallelism: Parallelism = field(default_factory=Parallelism)
    price: Price | None = None
    most_cost: float = math.inf
    end: float = math.inf
    limit_reached: bool = False
    _answered: Request | None = None  # one that the server has answered

    def collect(self, requests: Iterable[Request]) -> Generator[tuple[Request, Answer]]:
        """Send the requests that have no stored answer, and yield each as soon as its answer is stored.

        If the iteration is closed or `stop` is true, the answers to what was sent are stored, too. If a server refuses
        a request, and answers another one after that, the failure is yielded in place of an answer. If there is no
        other one left, or many have failed in a row, a sentence that it has answered is sent again.

        Raises:
            UserError: The server refuses everything, does not answer any request for `PATIENCE` seconds, or has never
                answered and cannot be reached for `FIRST_PATIENCE` seconds.
        """
        workers = _Workers(self.teacher, self.parallelism.most)
        remaining = self._without_answer(requests)
        again: deque[Request] = deque()
        upcoming: Request | None = None
        sent: set[str] = set()
        usual_seconds = 0.0
        problem: Exception | None = None
        failures = _Failures(self.answers)
        last_answer, pause_until, losses = time.monotonic(), 0.0, 0
        last_message = -math.inf
        is_reached, lost_since = False, math.inf  # when connections began to fail
        try:
            while True:
                if upcoming is None or upcoming.name in self.answers:  # the same sentences may occur twice
                    upcoming = next(remaining, None)
                    if upcoming is None and again:
                        upcoming = again.popleft()
                if problem is None and failures.is_probe_due(last=upcoming is None and not sent):
                    if upcoming is not None:
                        again.appendleft(upcoming)
                    upcoming = failures.probe(self._answered)
                self.limit_reached = upcoming is not None and self._reaches_limit(upcoming, len(sent))
                is_late = time.monotonic() + usual_seconds > self.end
                may_send = problem is None and not (self.stop() or self.limit_reached or is_late)
                if may_send and len(sent) < self.parallelism.now and time.monotonic() >= pause_until:
                    if upcoming is not None:
                        if upcoming.name not in sent:
                            workers.send(upcoming)
                            sent.add(upcoming.name)
                        upcoming = None
                        continue
                    if not sent:
                        break
                if not sent and not may_send:
                    break
                if time.monotonic() > self.end:
                    sent.clear()
                    break
                try:
                    request, result = workers.receive(_POLL)
                except queue.Empty:
                    continue
                sent.remove(request.name)
                if isinstance(result, Answer) and not result.failure:
                    self._store(request, result)
                    last_answer, losses, usual_seconds = time.monotonic(), 0, result.seconds
                    self.parallelism.answered(result.usage.characters)
                    if not request.is_probe:
                        self._answered = request
                        yield request, result
                    yield from failures.explain(request)
                    continue
                try:
                    is_sent_again = failures.add(request, result)
                except Exception as error:
                    problem = problem or error
                    continue
                losses += 1
                wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(losses - 1, 10))
                if isinstance(result, BusyServerError):
                    if result.status not in (None, 200):
                        self.parallelism.refused()
                    now = time.monotonic()
                    waited, lost_since = now - last_answer, min(now, lost_since)
                    is_reached = is_reached or result.status is not None or len(self.answers) > 0
                    if not is_reached and now - lost_since > FIRST_PATIENCE:
                        problem = UserError(f"{result}; start the server, or correct its address")
                    elif waited > PATIENCE and not result.concerns_request:
                        problem = UserError(f"{result}; it has not answered for {waited / 60:.0f} minutes")
                    if result.seconds is not None and result.seconds >= _FIRST_WAIT:
                        wait = result.seconds
                if is_sent_again:
                    again.append(request)  # behind the others, which it must not hold up
                    pause_until = max(pause_until, time.monotonic() + wait)
                    if time.monotonic() > last_message + _BETWEEN_MESSAGES:
                        self.log(f"{describe_failure(result)}; waiting {wait:.3g} s")
                        last_message = time.monotonic()
        except KeyboardInterrupt:  # a second Ctrl-C does not wait
            sent.clear()
            raise
        finally:
            for request, result in workers.finish(len(sent)):
                if isinstance(result, Answer) and not result.failure:
                    self._store(request, result)
        if problem:
            raise problem

    def _store(self, request: Request, answer: Answer) -> None:
        """Store an answer; of that to a probe only the usage, as it answers no request of the text."""
        self.answers.append(request.name, replace(answer, failure="only a probe") if request.is_probe else answer)

    def _without_answer(self, requests: Iterable[Request]) -> Iterator[Request]:
        for request in requests:
            if request.name not in self.answers:
                yield request
            elif self._answered is None:
                self._answered = request

    def measure(self, requests: Sequence[Request]) -> Speed:
        """Send requests to measure the speed of the server, as many at once as there may be.

        One is sent alone first, because servers load a model when they are first asked. If there are enough requests,
        the first round at once does not count: it begins without any that is half done.

        Raises:
            UserError: As `collect`.
        """
        most = self.parallelism.most
        self.parallelism.now = 1
        answers = [answer for _, answer in self.collect(requests[:1])]
        self.parallelism.now = most
        times, started = [0.0], time.monotonic()
        with closing(self.collect(requests[1:])) as others:
            for _, answer in others:
                answers.append(answer)
                times.append(time.monotonic() - started)
                if len(times) > most and times[-1] > SAMPLE_SECONDS:
                    break
        alone = min((each.seconds for each in answers), default=0.0)
        begin = most if len(times) > 2 * most else 0
        count = len(times) - 1 - begin
        return Speed((times[-1] - times[begin]) / count if count else alone, alone, most)

    def describe_usage(self) -> str:
        """Tokens or characters so far, and what they cost."""
        return describe_usage(self.answers.usage, self.teacher.counts_tokens, self.price)

    def _reaches_limit(self, upcoming: Request, sent: int) -> bool:
        """Whether one more request would probably cost too much."""
        if self.price is None or math.isinf(self.most_cost):
            return False
        usage = self.answers.usage
        cost = self.price.cost(usage, self.teacher.counts_tokens)
        each = cost / usage.requests if usage.requests else self._expect_cost(upcoming.group, self.price)
        return cost + (sent + 1) * each > self.most_cost

    def _expect_cost(self, group: SentenceGroup, price: Price) -> float:
        """What a group will probably cost, before anything is answered."""
        sent = round(self.teacher.sent_characters(group) / CHARACTERS_PER_TOKEN)
        received = round(group.characters / CHARACTERS_PER_TOKEN)
        return price.cost(TokenUsage(1, sent, received, group.characters), self.teacher.counts_tokens)


class _Failures:
    """Requests that have failed, and those that are not sent again.

    A request is only to blame if the server has answered another one after its last failure.

    Args:
        answers: Stores what was paid for.
    """

    def __init__(self, answers: AnswerLog) -> None:
        self._answers, self._works = answers, len(answers) > 0
        self._counts: Counter[str] = Counter()
        self._in_a_row, self._most = 0, MOST_FAILURES
        self._unexplained: dict[str, tuple[Request, Answer]] = {}
        self._probes = False

    def add(self, request: Request, result: Answer | Exception) -> bool:
        """Count a failure; returns whether the request is sent again.

        Args:
            request: What was sent.
            result: An answer with a failure, or what was raised.

        Raises:
            Exception: The failure, if the others would fail, too.
        """
        if isinstance(result, Answer):
            self._answers.append(request.name, result)  # it may have been paid for
        elif isinstance(result, RefusedRequestError):
            if result.status not in _REFUSED or not self._works:
                raise result
        elif not isinstance(result, BusyServerError):
            raise result
        elif not result.concerns_request:
            return True
        failure = describe_failure(result)
        self._in_a_row += 1
        self._counts[request.name] += 1
        if request.is_probe or (self._in_a_row >= MOST_FAILURES and not self._works):
            raise self._broken(failure)
        if isinstance(result, RefusedRequestError) or self._counts[request.name] >= self._most:
            self._unexplained[request.name] = request, Answer("", failure=failure)
            return False
        return True

    def _broken(self, failure: str) -> UserError:
        return UserError(f"{failure}; {self._in_a_row} requests in a row have failed")

    def is_probe_due(self, last: bool) -> bool:
        """Whether to find out who is to blame for failures; `last` is whether no other request is left."""
        return not self._probes and (self._in_a_row >= MOST_IN_A_ROW or (last and bool(self._unexplained)))

    def probe(self, answered: Request | None) -> Request:
        """A short request that shows whether the server still answers.

        Args:
            answered: A request that it has answered.

        Raises:
            UserError: There is none.
        """
        if answered is None:
            raise self._broken("the server has answered none of these requests")
        self._probes = True
        return Request(SentenceGroup(answered.group.sentences[:1]), 0, "probe", is_probe=True)

    def explain(self, answered: Request) -> Iterator[tuple[Request, Answer]]:
        """The failures of requests that are not sent again, after the server has answered another one."""
        if answered.is_probe:
            self._most = MOST_AFTER_PROBE
        elif self._counts[answered.name]:  # what fails may be answered later
            self._most = MOST_FAILURES
        self._works, self._in_a_row, self._probes = True, 0, False
        while self._unexplained:
            name, (request, answer) = self._unexplained.popitem()
            self._answers.fail(name, answer.failure)
            yield request, answer


def describe_failure(result: Answer | Exception) -> str:
    """Why a request has failed."""
    return result.failure if isinstance(result, Answer) else str(result)


class _Workers:
    """Threads that ask a teacher; the process does not wait for them when it ends."""

    def __init__(self, teacher: Teacher, count: int) -> None:
        self._teacher = teacher
        self._tasks: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[Request, Answer | Exception]] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def send(self, request: Request) -> None:
        self._tasks.put(request)

    def receive(self, seconds: float) -> tuple[Request, Answer | Exception]:
        """A result; raises queue.Empty if there is none within so many seconds."""
        return self._results.get(timeout=seconds)

    def finish(self, sent: int) -> Iterator[tuple[Request, Answer | Exception]]:
        """The results of requests that were sent and not received; then the threads end."""
        for _ in range(sent):
            yield self._results.get()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:  # one that ends with the process may abort it; one that still asks has no time
            thread.join(_POLL)

    def _work(self) -> None:
        while (request := self._tasks.get()) is not None:
            started = time.monotonic()
            result: Answer | Exception
            try:
                result = self._teacher.ask(request.group, request.candidate)
                result = replace(result, seconds=time.monotonic() - started)
            except Exception as error:  # raised again in the thread that waits
                result = error
            self._results.put((request, result))


def describe_usage(usage: TokenUsage, counts_tokens: bool, price: Price | None) -> str:
    """Tokens or characters, and what they cost."""
    about = "about " if usage.estimated else ""
    if counts_tokens:
        text = f"{about}{usage.input_tokens:,} tokens sent, {usage.output_tokens:,} received"
    else:
        text = f"{usage.characters:,} characters"
    return text + (f", cost {price.cost(usage, counts_tokens):,.4g}" if price else "")


@dataclass(frozen=True)
class Estimate:
    """What translating a text will take, judged from some of its groups.

    Attributes:
        requests: The number of requests.
        usage: Tokens and characters of all requests.
        seconds: The time.
        cost: In the unit of the price; None without one.
    """

    requests: int
    usage: TokenUsage
    seconds: float
    cost: float | None


def spaced(groups: list[SentenceGroup], count: int) -> list[SentenceGroup]:
    """So many groups, evenly spaced."""
    step = max(1, len(groups) // max(1, count))
    return list(islice(groups[step // 2 :: step], count))
