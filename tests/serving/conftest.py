"""Fixtures that start servers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import uvicorn
from running_server import FakeTranslator, Running, StartServer

from dragoman.serving.app import build_app
from dragoman.serving.models import ModelTable, ServedModel
from dragoman.serving.scheduler import Scheduler
from dragoman.serving.server import server_config
from dragoman.serving.service import Service
from dragoman.settings.serving import Serving


@pytest.fixture(scope="module")
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartServer]:
    """Starts servers, by default from German to English, from English to Spanish, and back."""
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(pairs: Sequence[str] = ("de-en", "en-es", "es-en"), workers: int = 2, **settings: object) -> Running:
        directory: Path = tmp_path_factory.mktemp("state")
        chosen = Serving(**{"state_directory": str(directory), **settings})
        fakes = {pair: FakeTranslator(pair.partition("-")[2]) for pair in pairs}
        table = ModelTable([ServedModel(*pair.split("-"), fake.translate) for pair, fake in fakes.items()])
        service = Service(chosen, table, Scheduler(chosen, workers))
        server = uvicorn.Server(server_config(build_app(service), chosen, "127.0.0.1", 0))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.005)
            assert thread.is_alive(), "the server could not start"
        running.append((server, thread))
        host, port = server.servers[0].sockets[0].getsockname()
        return Running(f"http://{host}:{port}", service, fakes)

    yield start
    for server, _ in running:
        server.should_exit = True
    for _, thread in running:
        thread.join(30)


@pytest.fixture(scope="module")
def server(start_server: StartServer) -> Running:
    """A server with default settings."""
    return start_server()
