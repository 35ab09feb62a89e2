"""Measures the server: sentences per second and waiting times of clients, on one bundle.

    python benchmarks/serving.py runs/mine --corpus multi30k:val

Every client is a thread that sends one request after another. All sentences of a measurement are distinct, so nothing
is translated twice. Another server with LibreTranslate's protocol is measured in the same way with --url.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from dragoman.bundle import Bundle
from dragoman.cli.options import EngineOptions, open_translator
from dragoman.corpus.corpus import read_corpus

LIST = 100
UNLIMITED = ("serving.requests_per_minute=100000000", "decoding.beam_size=4")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--corpus", default="multi30k:val")
    parser.add_argument("--url", help="measure this server instead of starting ours")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--compute-type", default="int8", choices=["int8", "float32"])
    parser.add_argument("--engine", default="ctranslate2")
    parser.add_argument("--port", type=int, default=5071)
    options = parser.parse_args()
    data = Bundle.load(options.bundle).recipe.data
    pairs = read_corpus(options.corpus, source_language=data.source_language, target_language=data.target_language)
    sentences = [pair.source for pair in pairs]
    languages = data.source_language, data.target_language
    if options.url is None:
        print(f"engine, all sentences at once: {engine_speed(options, sentences):.1f} sentences/s")
    with contextlib.nullcontext(options.url) if options.url else our_server(options) as url:
        for clients, size in ((32, 1), (8, 1), (1, 1), (1, LIST)):
            measure(url, distinct(sentences), languages, clients, size, options.seconds)


def engine_speed(options: argparse.Namespace, sentences: list[str]) -> float:
    """Sentences per second of the engine without a server."""
    engine = EngineOptions(options.engine, compute_type=options.compute_type, token_scores=False)
    translator = open_translator(options.bundle, [UNLIMITED[1]], engine)
    translator(sentences[:64])
    begin = time.perf_counter()
    translator(sentences)
    return len(sentences) / (time.perf_counter() - begin)


@contextlib.contextmanager
def our_server(options: argparse.Namespace) -> Iterator[str]:
    """The address of a server that is stopped afterwards."""
    settings = [part for setting in UNLIMITED for part in ("--set", setting)]
    choice = ["--engine", options.engine, "--compute-type", options.compute_type, "--port", str(options.port)]
    command = [sys.executable, "-m", "dragoman", "serve", str(options.bundle), *choice, *settings]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_for(options.port)
        yield f"http://127.0.0.1:{options.port}"
    finally:
        server.terminate()
        server.wait(30)


def wait_for(port: int) -> None:
    while True:
        with contextlib.suppress(OSError):
            http.client.HTTPConnection("127.0.0.1", port, timeout=5).request("GET", "/health")
            return
        time.sleep(0.1)


def distinct(sentences: list[str]) -> Iterator[str]:
    """Sentences without end, none twice: from the second round on, each is half of one and half of another."""
    yield from sentences
    for distance in itertools.count(1):
        for index, sentence in enumerate(sentences):
            words, others = sentence.split(), sentences[(index + distance) % len(sentences)].split()
            yield " ".join(words[: len(words) // 2] + others[len(others) // 2 :])


def measure(
    url: str, sentences: Iterator[str], languages: tuple[str, str], clients: int, size: int, seconds: float
) -> None:
    """Print sentences per second and waiting times of some clients that send lists of a size."""
    lock, times, errors = threading.Lock(), [], []
    end = time.perf_counter() + seconds

    def run_client() -> None:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        while time.perf_counter() < end:
            with lock:
                texts = list(itertools.islice(sentences, size))
            body = {"q": texts if size > 1 else texts[0], "source": languages[0], "target": languages[1]}
            begin = time.perf_counter()
            connection.request("POST", "/translate", json.dumps(body), {"Content-Type": "application/json"})
            reply = connection.getresponse()
            content = reply.read()
            times.append(time.perf_counter() - begin)
            if reply.status != 200 or not json.loads(content)["translatedText"]:
                errors.append(reply.status)

    begin = time.perf_counter()
    threads = [threading.Thread(target=run_client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    speed = size * len(times) / (time.perf_counter() - begin)
    p50, p95 = statistics.median(times), sorted(times)[int(0.95 * (len(times) - 1))]
    print(
        f"{clients} clients, {size} sentences per request: {speed:.1f} sentences/s, "
        f"median {1000 * p50:.0f} ms, p95 {1000 * p95:.0f} ms, {len(errors)} errors",
        flush=True,
    )


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
