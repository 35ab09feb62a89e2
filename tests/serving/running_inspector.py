"""A running inspector."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.serving.inspector_app import SETTINGS, build_inspector
from dragoman.serving.scheduler import Scheduler
from dragoman.serving.server import ServerConfig, StoppableServer
from dragoman.translator import Translator


@contextmanager
def running_inspector(translators: dict[str, Translator], text: str = "") -> Iterator[str]:
    """The address of an inspector of translators by name, which shows a text first."""
    service, app = build_inspector(translators, text, Scheduler(SETTINGS, 2))
    server = StoppableServer(ServerConfig(app, SETTINGS, "127.0.0.1", 0), service)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server could not start"
    host, port = server.servers[0].sockets[0].getsockname()
    yield f"http://{host}:{port}"
    server.should_exit = True
    thread.join(30)
