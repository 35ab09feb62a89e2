"""Running the application in one process until it is asked to stop: its connections, how many there may be, how long
they may wait, and how they end."""

from __future__ import annotations

import asyncio
import math
import signal
import socket
import sys
import time
from collections.abc import Container
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dragoman.errors import UserError
from dragoman.serving.limits import client_address
from dragoman.serving.service import Service
from dragoman.settings.serving import Serving

_HEAD_BYTES = 65_536
"""Of the head of a request, and of everything else that is not part of a body; the parser has no limit."""
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
    StoppableServer(ServerConfig(app, service.settings, host, port), service).run(sockets=[listener])


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


class ServerConfig(uvicorn.Config):
    """How uvicorn serves the application; its own access log, which contains texts and keys, is off.

    Attributes:
        settings: The limits.
        idle: Connections that wait for their client, the longest first: for a request, or until it reads the reply.
        of_client: The connections of each client, by its address.
        proxies: Addresses that send the requests of many clients.
    """

    def __init__(self, app: Starlette, settings: Serving, host: str, port: int) -> None:
        self.settings = settings
        self.idle: dict[LimitedProtocol, None] = {}
        self.of_client: dict[str, set[LimitedProtocol]] = {}
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
        proxy_headers = ProxyHeadersMiddleware(app, self.forwarded_allow_ips)  # type: ignore[arg-type]
        self.proxies = proxy_headers.trusted_hosts

    def close_longest_idle(self, connections: Container[LimitedProtocol]) -> None:
        """Close the one of some connections that has waited longest for its client."""
        longest = next(each for each in self.idle if each in connections)
        del self.idle[longest]  # it is lost only later
        longest.transport.abort()


class LimitedProtocol(HttpToolsProtocol):
    """The protocol of uvicorn, which also closes connections whose client does not send or read in time.

    A connection above the limit of all replaces the one that has waited longest for its client, so that clients that do
    nothing do not keep others out. One above the limit of its client replaces one of the same client. If all of them
    are busy, the new one is closed.
    """

    config: ServerConfig

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request; close another connection if there are too many."""
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        self._address = client_address(host)
        same = self.config.of_client.setdefault(self._address, set())
        same.add(self)
        self._waiting: asyncio.TimerHandle | None = None
        self._is_stopping = False
        self._incomplete = 0  # bytes of a head that have arrived
        self._limit_wait()
        settings = self.config.settings
        if len(same) > settings.connections_per_client and host not in self.config.proxies:
            self.config.close_longest_idle(same)
        elif len(self.connections) > settings.connections:
            self.config.close_longest_idle(self.config.idle)

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
        same = self.config.of_client[self._address]
        same.discard(self)
        if not same:
            del self.config.of_client[self._address]
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
