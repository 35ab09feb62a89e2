"""Logs as lines of JSON, without texts, keys and addresses; and what is logged and counted for each request."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.serving.metrics import Metrics

_LOG = logging.getLogger("dragoman.serving.requests")


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
