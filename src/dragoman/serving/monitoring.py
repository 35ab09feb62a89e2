"""What operators see: logs as lines of JSON, and metrics for Prometheus. Neither contains a text, key or address."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.serving.fair_queue import Priority
from dragoman.serving.scheduler import Scheduler

_LOG = logging.getLogger("dragoman.serving.requests")
_SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128)


def _waiting_tokens(scheduler: Scheduler, priority: Priority) -> float:
    return scheduler.waiting[priority]


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
        waiting = Gauge("dragoman_waiting_tokens", "Tokens in the queue", ["priority"], registry=self._registry)
        for priority in Priority:
            waiting.labels(priority.name.lower()).set_function(partial(_waiting_tokens, scheduler, priority))
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


class JsonFormatter(logging.Formatter):
    """Formats records as JSON. Of an exception, it prints the type and the places in the code, but no message."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        entry: dict[str, object] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "message": record.getMessage().partition("\n")[0],  # asyncio adds errors, whose messages contain names
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0]:
            frames = traceback.extract_tb(record.exc_info[2])
            entry["exception"] = record.exc_info[0].__name__
            entry["places"] = [f"{frame.filename}:{frame.lineno}" for frame in frames]
        return json.dumps(entry)


def configure_logging() -> None:
    """Write the logs of the server, of uvicorn and of all others to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("", "asyncio", "dragoman", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name in ("dragoman", "uvicorn") else logging.WARNING)
    logging.captureWarnings(True)


class ObserveRequests:
    """Middleware that logs and counts each request, by the name of what answered it instead of its path."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 500

        async def send_observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_observed)
        finally:
            seconds = time.perf_counter() - begin
            endpoint = getattr(scope.get("endpoint"), "__name__", "none")
            self._metrics.count_request(endpoint, status, seconds)
            fields = {"endpoint": endpoint, "status": status, "milliseconds": round(1000 * seconds, 1)}
            _LOG.info("request", extra={"fields": fields})
