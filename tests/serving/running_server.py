"""A running server, and models that are fast and obviously right or wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import httpx

from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.serving.service import Service


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

    def translate(self, segments: Sequence[Segment]) -> list[TranslatedSegment]:
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
            TranslatedSegment(self.answer(text), alternatives=(f"{self.target}2[{text}]", f"{self.target}3[{text}]"))
            for text in texts
        ]

    def answer(self, text: str) -> str:
        """The translation of a text."""
        return f"{self.target}[{text}]"


@dataclass(frozen=True)
class Running:
    """A running server."""

    url: str
    service: Service
    fakes: dict[str, FakeTranslator]

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        url = httpx.URL(self.url)
        return url.host, url.port or 80

    def translate(self, text: str, source: str = "de", target: str = "en") -> httpx.Response:
        """Translate a text with LibreTranslate's protocol."""
        return httpx.post(f"{self.url}/translate", data={"q": text, "source": source, "target": target}, timeout=30)


StartServer = Callable[..., Running]
