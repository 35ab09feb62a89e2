"""Numbers for Prometheus; they contain no text, key or address."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from dragoman.serving.fair_queue import Priority
from dragoman.serving.scheduler import Scheduler

_SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Counts requests by endpoint and status, and batches."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._registry = CollectorRegistry()
        labels = ["endpoint"]
        self._requests = Counter("dragoman_requests", "Answered requests", [*labels, "status"], registry=self._registry)
        self._seconds = Histogram(
            "dragoman_request_seconds", "Time per request", labels, buckets=_SECONDS, registry=self._registry
        )
        self._batches = Histogram(
            "dragoman_batch_sentences", "Sentences per batch", buckets=_SENTENCES, registry=self._registry
        )
        self._characters = Counter("dragoman_characters", "Translated source characters", registry=self._registry)
        self._working = Counter("dragoman_worker_seconds", "Time that workers translated", registry=self._registry)
        self._registry.register(_Waiting(scheduler))
        scheduler.on_batch = self.count_batch

    def count_request(self, endpoint: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests.labels(endpoint, str(status)).inc()
        self._seconds.labels(endpoint).observe(seconds)

    def count_batch(self, sentences: int, characters: int, seconds: float) -> None:
        """Count a translated batch."""
        self._batches.observe(sentences)
        self._characters.inc(characters)
        self._working.inc(seconds)

    def text(self) -> bytes:
        """All numbers in Prometheus' format."""
        return generate_latest(self._registry)


class _Waiting(Collector):
    """The current size of the queue."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def collect(self) -> list[GaugeMetricFamily]:
        """The number of waiting tokens by priority."""
        gauge = GaugeMetricFamily("dragoman_waiting_tokens", "Tokens in the queue", labels=["priority"])
        for priority in Priority:
            gauge.add_metric([priority.name.lower()], self._scheduler.waiting[priority])
        return [gauge]
