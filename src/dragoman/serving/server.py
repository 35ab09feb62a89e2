"""Running the application in one process until it is asked to stop."""

from __future__ import annotations

import math
import signal
import socket
import sys
import time
from contextlib import suppress
from importlib.util import find_spec

import uvicorn
from starlette.applications import Starlette

from dragoman.errors import UserError
from dragoman.serving.connections import ServerConfig
from dragoman.serving.service import Service


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
