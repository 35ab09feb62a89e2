"""Exported pages for tests: a server of a directory, and Chromium's view of it."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    redirects: tuple[str, str] | None = None

    def log_message(self, *arguments: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Send a file, or another address of the page."""
        if self.redirects and self.path.partition("?")[0] == self.redirects[0]:
            self.send_response(308)
            self.send_header("Location", self.redirects[1])
            self.end_headers()
        else:
            super().do_GET()

    def end_headers(self) -> None:
        """Vary as servers that compress."""
        self.send_header("Vary", "Accept")
        super().end_headers()


@contextmanager
def serve_directory(directory: Path, redirects: tuple[str, str] | None = None) -> Iterator[str]:
    """The address of a server like `python -m http.server`, which may redirect one path to another."""
    handler_class = type("Handler", (_QuietHandler,), {"redirects": redirects})
    handler = partial(handler_class, directory=str(directory))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def run_module(page: Any, name: str, body: str, argument: Any) -> Any:
    """The result of JavaScript with `module`, a file of the page, and `argument`."""
    program = f"async (argument) => {{ const module = await import(new URL('{name}', location.href)); {body} }}"
    return page.evaluate(program, argument)


def translate_in(page: Any, texts: list[str]) -> list[tuple[str, list[str]]]:
    """The translation of each text by the modules of a page, and its problems."""
    body = """
      const translator = (await module.loadTranslators())(), found = [];
      for await (const results of translator.translate(argument)) {
        for (const { index, translation, problems } of results) found[index] = [translation, problems];
      }
      return found;
    """
    return [(text, problems) for text, problems in run_module(page, "translator.js", body, texts)]
