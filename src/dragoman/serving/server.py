"""Running the application in one process until it is asked to stop."""

from __future__ import annotations

import asyncio
import math
import signal
import socket
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from dragoman.errors import UserError
from dragoman.serving.service import Service
from dragoman.settings.serving import Serving

_SECONDS_TO_READ_REPLY = 1.0
_SECONDS_TO_ARRIVE = 0.5
"""A request that was sent just before the server stops may take so long to arrive."""


def run_server(app: Starlette, service: Service, host: str, port: int) -> None:
    """Answer requests until SIGTERM or SIGINT; then finish open requests.

    Raises:
        UserError: The port cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=service.settings.connections)
    except OSError as error:
        raise UserError(f"--host {host} --port {port}: cannot listen there: {error.strerror or error}") from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # otherwise each reply waits 40 ms for an ACK
    _allow_many_files()
    shown = f"[{host}]" if family == socket.AF_INET6 else host
    print(f"dragoman: http://{shown}:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # uvicorn raises the signal again when it has stopped
    StoppableServer(server_config(app, service.settings, host, port), service).run(sockets=[listener])


class StoppableServer(uvicorn.Server):
    """Stops only when clients have their documents, or after `shutdown_seconds`; until then, it answers."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        self._deadline = math.inf

    async def on_tick(self, counter: int) -> bool:
        """Whether to stop; called ten times per second."""
        if not await super().on_tick(counter):
            return False
        if not self._service.is_stopping:
            self._service.is_stopping = True
            self._deadline = time.monotonic() + self._service.settings.shutdown_seconds
        is_done = not any(document.is_open for document in self._service.uploads.values())
        return is_done or self.force_exit or time.monotonic() > self._deadline


def _allow_many_files() -> None:
    """Allow as many open files, and so connections, as the system allows."""
    if find_spec("resource"):  # Windows has none
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):  # some systems refuse what they state
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def server_config(app: Starlette, settings: Serving, host: str, port: int) -> uvicorn.Config:
    """How uvicorn serves the application; its own access log, which contains texts and keys, is off."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=limited_protocol(settings),
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )


def limited_protocol(settings: Serving) -> type[H11Protocol]:
    """The protocol of uvicorn with limits on the number of connections, and on the time for the head of a request."""
    idle: dict[H11Protocol, None] = {}  # connections that wait for a request, the longest first

    class LimitedProtocol(H11Protocol):
        """Closes connections on which no request arrives in time.

        A connection above the limit replaces the one that has waited longest for a request, so that connections that
        send nothing do not keep others out. If all of them are busy, it is closed.
        """

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._waiting: asyncio.TimerHandle | None = None
            self._is_stopping = False
            self._limit_head()
            if len(self.connections) > settings.connections:
                longest = next(iter(idle))
                del idle[longest]  # it is lost only later
                longest.transport.abort()

        def data_received(self, data: bytes) -> None:
            if self.cycle is not None and self.cycle.response_complete and self._waiting is None:
                self._limit_head()
            super().data_received(data)
            if self._is_refused():
                self.transport.pause_reading()  # the client can still read the reply
                self._stop_waiting()
                self._waiting = self.loop.call_later(_SECONDS_TO_READ_REPLY, self.transport.abort)
            elif self.cycle is not None and not self.cycle.response_complete:
                self._stop_waiting()
                if self._is_stopping:
                    self._announce_end()

        def on_response_complete(self) -> None:
            super().on_response_complete()  # begins the next request if that has arrived already
            is_sent = not self.transport.is_closing() and not self.transport.get_write_buffer_size()
            if self.cycle.response_complete and is_sent and not self._is_refused():
                idle[self] = None

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
            self._stop_waiting()
            super().connection_lost(exc)

        def _is_refused(self) -> bool:
            """Whether the client still sends a request that is already answered, because it is too large."""
            answered = self.cycle is not None and self.cycle.response_complete
            return answered and self.conn.their_state is h11.SEND_BODY

        def _limit_head(self) -> None:
            """Close the connection if the head of a request takes too long from now on."""
            idle[self] = None
            self._waiting = self.loop.call_later(settings.read_seconds, self.transport.abort)

        def _stop_waiting(self) -> None:
            idle.pop(self, None)
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

    return LimitedProtocol
