"""A running server, and models that are fast and obviously right or wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from dragoman.documents.segment import Segment
from dragoman.serving.app import build_app
from dragoman.serving.models import ModelTable, ServedModel
from dragoman.serving.scheduler import Scheduler
from dragoman.serving.server import ServerConfig, StoppableServer
from dragoman.serving.service import Service
from dragoman.settings.serving import Serving
from dragoman.text.glossary import Glossary
from dragoman.text.term_matcher import TermMatcher
from dragoman.text.translation import Translation


@dataclass
class FakeTranslator:
    """Writes ``en[TEXT]``, with two alternatives. A text with FAIL raises; `gate` can stop it."""

    target: str
    seconds: float = 0.0
    gate: threading.Event = field(default_factory=threading.Event)
    batches: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gate.set()

    def __hash__(self) -> int:
        return id(self)

    def translate(self, segments: Sequence[Segment]) -> list[Translation]:
        """Translate segments."""
        texts = [segment.text for segment in segments]
        self.batches.append(texts)
        self.gate.wait(30)
        time.sleep(self.seconds)
        if any("FAIL" in text for text in texts):
            raise RuntimeError("this text cannot be translated")
        if any("EXIT" in text for text in texts):
            raise SystemExit
        return [
            Translation(
                answer := self.answer(segment.text, segment.glossary),
                alternatives=[Translation(f"{self.target}{rank}[{segment.text}]") for rank in (2, 3)],
                terms=TermMatcher().check(segment.text, segment.glossary, answer),
            )
            for segment in segments
        ]

    def answer(self, text: str, glossary: Glossary | None = None) -> str:
        """The translation of a text, in which terms are replaced."""
        translated = text
        for found in TermMatcher().find(text, glossary):
            translated = translated.replace(found.term.source, found.term.target)
        return f"{self.target}[{translated}]"


@dataclass(frozen=True)
class Running:
    """A running server."""

    url: str
    service: Service
    fakes: dict[str, FakeTranslator]
    server: StoppableServer
    config: ServerConfig
    thread: threading.Thread

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        url = httpx.URL(self.url)
        return url.host, url.port or 80

    def translate(self, text: str, source: str = "de", target: str = "en") -> httpx.Response:
        """Translate a text with LibreTranslate's protocol."""
        return httpx.post(f"{self.url}/translate", data={"q": text, "source": source, "target": target}, timeout=30)


StartServer = Callable[..., Running]


class Servers:
    """Starts servers with fake translators, and stops them.

    Args:
        state: The directory for their keys.
    """

    def __init__(self, state: Path) -> None:
        self._state = state
        self._running: list[Running] = []

    def start(self, pairs: Sequence[str] = ("de-en", "en-es", "es-en"), workers: int = 2, **settings: Any) -> Running:
        """Start a server, by default from German to English, from English to Spanish, and back."""
        directory = self._state / str(len(self._running))
        chosen = Serving(**{"state_directory": str(directory), **settings})
        fakes = {pair: FakeTranslator(pair.partition("-")[2]) for pair in pairs}
        models = [ServedModel(pair[:2], fake.target, fake.translate, len) for pair, fake in fakes.items()]
        service = Service(chosen, ModelTable(models), Scheduler(chosen, workers))
        config = ServerConfig(build_app(service), chosen, "127.0.0.1", 0)
        server = StoppableServer(config, service)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.005)
            assert thread.is_alive(), "the server could not start"
        host, port = server.servers[0].sockets[0].getsockname()
        self._running.append(Running(f"http://{host}:{port}", service, fakes, server, config, thread))
        return self._running[-1]

    def stop(self) -> None:
        """Stop all servers."""
        for running in self._running:
            running.service.uploads.clear()
            running.server.should_exit = True
        for running in self._running:
            running.thread.join(30)
