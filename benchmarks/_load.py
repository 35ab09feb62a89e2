"""Clients that send requests to a server for some time."""

from __future__ import annotations

import http.client
import itertools
import json
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Measurement:
    """What clients saw; several rounds are added."""

    sentences: int = 0
    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    """Seconds of each request."""
    errors: list[str] = field(default_factory=list)

    def __add__(self, other: Measurement) -> Measurement:
        return Measurement(
            self.sentences + other.sentences,
            self.seconds + other.seconds,
            self.times + other.times,
            self.errors + other.errors,
        )

    @property
    def speed(self) -> float:
        """Sentences per second."""
        return self.sentences / self.seconds

    @property
    def p95(self) -> float:
        """95 % of the requests took at most so many seconds."""
        return sorted(self.times)[int(0.95 * (len(self.times) - 1))]

    def __str__(self) -> str:
        median = statistics.median(self.times)
        return (
            f"{self.speed:.1f} sentences/s, median {1000 * median:.0f} ms, p95 {1000 * self.p95:.0f} ms, "
            f"{len(self.errors)} errors"
        )


def distinct(sentences: list[str]) -> Iterator[str]:
    """Sentences without end, none twice: from the second round on, each is half of one and half of another."""
    yield from sentences
    for distance in itertools.count(1):
        for index, sentence in enumerate(sentences):
            words, others = sentence.split(), sentences[(index + distance) % len(sentences)].split()
            yield " ".join(words[: len(words) // 2] + others[len(others) // 2 :])


@dataclass(frozen=True)
class Load:
    """Clients that send lists of sentences, one after another; a list of one sentence is sent as a string."""

    clients: int
    size: int

    def __str__(self) -> str:
        return f"{self.clients} clients, {self.size} sentences per request"

    def run(self, url: str, sentences: Iterator[str], languages: tuple[str, str], seconds: float) -> Measurement:
        """Send requests for some seconds, and wait for the last replies."""
        lock, found = threading.Lock(), Measurement()
        begin = time.perf_counter()

        def run_client() -> None:
            parts = urlsplit(url)
            connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
            while time.perf_counter() < begin + seconds:
                with lock:
                    texts = list(itertools.islice(sentences, self.size))
                body = {"q": texts if self.size > 1 else texts[0], "source": languages[0], "target": languages[1]}
                sent = time.perf_counter()
                connection.request("POST", "/translate", json.dumps(body), {"Content-Type": "application/json"})
                reply = connection.getresponse()
                content = reply.read()
                with lock:
                    found.times.append(time.perf_counter() - sent)
                    if reply.status == 200 and json.loads(content)["translatedText"]:
                        found.sentences += self.size
                    else:
                        found.errors.append(f"{reply.status} {content[:100]!r}")

        threads = [threading.Thread(target=run_client) for _ in range(self.clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found.seconds = time.perf_counter() - begin
        return found
