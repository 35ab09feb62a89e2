"""Connections: how many there may be, how long they may wait, and how they end."""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dragoman.settings.serving import Serving

_HEAD_BYTES = 65_536
"""Of the head of a request, and of everything else that is not part of a body; the parser has no limit."""
_SECONDS_TO_READ_REPLY = 1.0
_SECONDS_TO_ARRIVE = 0.5
"""A request that was sent just before the server stops may take so long to arrive."""


class ServerConfig(uvicorn.Config):
    """How uvicorn serves the application; its own access log, which contains texts and keys, is off.

    Attributes:
        settings: The limits.
        idle: Connections that wait for their client, the longest first: for a request, or until it reads the reply.
    """

    def __init__(self, app: Starlette, settings: Serving, host: str, port: int) -> None:
        self.settings = settings
        self.idle: dict[LimitedProtocol, None] = {}
        super().__init__(
            app,
            host=host,
            port=port,
            http=LimitedProtocol,
            ws="none",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=settings.shutdown_seconds,
        )


class LimitedProtocol(HttpToolsProtocol):
    """The protocol of uvicorn, which also closes connections whose client does not send or read in time.

    A connection above the limit replaces the one that has waited longest for its client, so that clients that do
    nothing do not keep others out. If all connections are busy, it is closed.
    """

    config: ServerConfig

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request; close another connection if there are too many."""
        super().connection_made(transport)
        self._waiting: asyncio.TimerHandle | None = None
        self._is_stopping = False
        self._incomplete = 0  # bytes of a head that have arrived
        self._limit_wait()
        if len(self.connections) > self.config.settings.connections:
            longest = next(iter(self.config.idle))
            del self.config.idle[longest]  # it is lost only later
            longest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take what arrives: a request is in time once its head is complete."""
        if self.cycle is not None and self.cycle.response_complete and self._waiting is None:
            self._limit_wait()
        self._incomplete += len(data)
        super().data_received(data)
        if self._incomplete > _HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")
        if self._is_refused():
            self.transport.pause_reading()  # the client can still read the reply
            self._stop_waiting()
            self._waiting = self.loop.call_later(_SECONDS_TO_READ_REPLY, self.transport.abort)
        elif self.cycle is not None and not self.cycle.response_complete:
            if not self.flow.write_paused:
                self._stop_waiting()
            if self._is_stopping:
                self._announce_end()

    def on_headers_complete(self) -> None:
        """Answer the request, whose head has arrived."""
        self._incomplete = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._incomplete = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()  # begins the next request if that has arrived already
        if not self.cycle.response_complete or self._is_refused() or self._waiting:
            return
        if self.transport.get_write_buffer_size():
            self._limit_wait()
        elif not self.transport.is_closing():
            self.config.idle[self] = None

    def pause_writing(self) -> None:
        """Wait until the client has read a part of the reply."""
        super().pause_writing()
        if self._waiting is None:
            self._limit_wait()

    def resume_writing(self) -> None:
        """Continue to send the reply."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        super().resume_writing()

    def shutdown(self) -> None:
        """Close the connection when its request is answered, also if that only arrives now."""
        self._is_stopping = True
        if self.cycle is None or self.cycle.response_complete:
            self._stop_waiting()
            self._waiting = self.loop.call_later(_SECONDS_TO_ARRIVE, super().shutdown)
        else:
            self._announce_end()

    def _announce_end(self) -> None:
        """Close the connection after the reply, which says so; otherwise the client might send another request."""
        if self.cycle.keep_alive:
            self.cycle.keep_alive = False
            self.cycle.default_headers = [*self.cycle.default_headers, (b"connection", b"close")]

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_refused(self) -> bool:
        """Whether the client still sends a request that is already answered, because it is too large."""
        return self.cycle is not None and self.cycle.response_complete and self.cycle.more_body

    def _limit_wait(self) -> None:
        """Close the connection if the client does not go on in time, with a head or with reading the reply."""
        self.config.idle[self] = None
        unread = self.transport.get_write_buffer_size()
        self._waiting = self.loop.call_later(self.config.settings.read_seconds, self._end_wait, unread)

    def _end_wait(self, unread: int) -> None:
        """Close the connection, unless the client has read a part of these bytes of the reply."""
        left = self.transport.get_write_buffer_size()
        if left >= unread:
            self.transport.abort()
        elif left:
            self._limit_wait()
        else:
            self._waiting = None

    def _stop_waiting(self) -> None:
        self.config.idle.pop(self, None)
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
