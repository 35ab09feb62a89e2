"""A server of chat completions that answers by a table; answers may be wrong, slow, broken off, or 429."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import Any

from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.pair import Pair

_SENTENCE = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)


def caption_pairs(number: int) -> list[Pair]:
    """Pairs with different sources."""
    corpus = read_corpus("captions:train", source_language="de", target_language="en")
    return list({pair.source: pair for pair in islice(corpus, 2 * number)}.values())[:number]


def sentences_of(prompt: str) -> list[str]:
    """The numbered sentences in the default prompt."""
    part = prompt.partition("Sentences to translate:\n")[2]
    return [text for _, text in _SENTENCE.findall(part)]


@dataclass
class TeacherServer:
    """What a server does, and what it has been asked.

    Attributes:
        translate: Translates a sentence.
        answer: Makes the text of an answer from sources and translations; None for right JSON.
        seconds: How long each answer takes.
        faults: What happens to the next requests: a status, "broken", "damaged", "lost" (no reply), "slow" or
            "page" (for a browser).
        refused: Parts of requests that are answered with 400.
        bad: What happens to requests with a text: a fault as above, also "no completion".
        key: The key that requests need.
        prompts: The prompts in the order of their arrival.
        answered: How often each prompt was answered.
        bodies: The requests.
        most: The most requests at once.
        one_at_a_time: Whether requests wait for each other, as for one GPU.
        retry_after: The header of replies that the server is busy.
        reason: What follows the status of all replies.
    """

    translate: Callable[[str], str]
    answer: Callable[[Sequence[str], Sequence[str]], tuple[str, bool]] | None = None
    seconds: float = 0.0
    faults: deque[int | str] = field(default_factory=deque)
    refused: Sequence[str] = ()
    bad: dict[str, int | str] = field(default_factory=dict)
    key: str | None = None
    retry_after: str | None = "0"
    reason: str | None = None
    counts_tokens: bool = True
    one_at_a_time: bool = False
    prompts: list[str] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    most: int = 0
    running: int = 0
    address: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)
    device: threading.Lock = field(default_factory=threading.Lock)

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """The reply to a request."""
        prompt = body["messages"][0]["content"]
        sources = sentences_of(prompt)
        targets = list(map(self.translate, sources))
        right = json.dumps(
            {"translations": [{"number": n, "translation": text} for n, text in enumerate(targets, start=1)]}
        )
        text, cut = self.answer(sources, targets) if self.answer else (right, False)
        reply: dict[str, Any] = {
            "choices": [
                {"message": {"role": "assistant", "content": text}, "finish_reason": "length" if cut else "stop"}
            ]
        }
        if self.counts_tokens:
            reply["usage"] = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(text.split())}
        return reply


@contextmanager
def serve_teacher(server: TeacherServer) -> Iterator[TeacherServer]:
    """Run a server until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with server.lock:
                server.running += 1
                server.most = max(server.most, server.running)
                server.bodies.append(body)
                fault = server.faults.popleft() if server.faults else None
                prompt = body["messages"][0]["content"]
                fault = next((each for text, each in server.bad.items() if text in sentences_of(prompt)), fault)
            try:
                self._answer(body, fault)
            finally:
                with server.lock:
                    server.running -= 1

        def _answer(self, body: dict[str, Any], fault: int | str | None) -> None:
            prompt = body["messages"][0]["content"]
            if server.key and self.headers.get("Authorization") != f"Bearer {server.key}":
                self._send(401, {"error": f"wrong key {self.headers.get('Authorization')}"})
            elif any(name in body for name in server.refused):
                self._send(400, {"error": f"unsupported: {', '.join(server.refused)}"})
            elif isinstance(fault, int):
                self._send(fault, {"error": "busy"})
            elif fault == "page":
                self._write(200, b"<!DOCTYPE html><title>Wiki</title>")
            else:
                server.prompts.append(prompt)
                with server.device if server.one_at_a_time else nullcontext():
                    time.sleep(server.seconds if fault != "slow" else 1.0)
                completion = server.complete(body)
                if fault == "no completion":
                    completion = {"usage": completion["usage"], "error": f"key {self.headers.get('Authorization')}"}
                if fault == "lost":
                    self.close_connection = True
                    return
                reply = json.dumps(completion).encode()
                with server.lock:
                    server.answered[prompt] += fault not in ("broken", "damaged")
                self._write(200, reply, len(reply) // 2 if fault == "broken" else None, fault == "damaged")

        def _send(self, status: int, data: Any) -> None:
            self._write(status, json.dumps(data).encode())

        def _write(self, status: int, content: bytes, broken: int | None = None, damaged: bool = False) -> None:
            self.send_response(status, server.reason)
            self.send_header("Content-Type", "application/json")
            content = content[:-20] if damaged else content
            self.send_header("Content-Length", str(len(content)))
            if status in (429, 503) and server.retry_after is not None:
                self.send_header("Retry-After", server.retry_after)
            self.end_headers()
            self.wfile.write(content[:broken])
            if broken is not None:
                self.close_connection = True

        def log_message(self, *arguments: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A client that was killed has closed its connection."""

    httpd = Server(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    server.address = f"http://127.0.0.1:{httpd.server_address[1]}/v1"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()
