"""Keeps the server busy for minutes: its memory must not grow, and it must answer every request.

    python benchmarks/soak.py runs/mine --corpus multi30k:val --minutes 10

Clients send single sentences and lists at the same time. All sentences are distinct. Memory is compared with that after
the first minute, when the server has made everything that it keeps.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from pathlib import Path

from _load import Load, Measurement, distinct
from _servers import Server, our_server
from dragoman.bundle import Bundle
from dragoman.corpus.corpus import read_corpus

LOADS = (Load(28, 1), Load(4, 20))
MAX_GROWTH = 30 * 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--corpus", default="multi30k:val")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--compute-type", default="int8", choices=["int8", "float32"])
    parser.add_argument("--engine", default="ctranslate2")
    parser.add_argument("--port", type=int, default=5071)
    options = parser.parse_args()
    data = Bundle.load(options.bundle).recipe.data
    languages = data.source_language, data.target_language
    pairs = read_corpus(options.corpus, source_language=languages[0], target_language=languages[1])
    sentences = [pair.source for pair in pairs]
    with our_server(options.bundle, options.engine, options.compute_type, options.port) as server:
        first, last, errors = soak(server, sentences, languages, 60 * options.minutes)
    growth = last - first
    print(f"memory: {first / 2**20:.0f} MiB after a minute, {last / 2**20:.0f} MiB at the end")
    for error in errors[:10]:
        print(error)
    if errors or growth > MAX_GROWTH:
        sys.exit(f"{len(errors)} errors, and memory grew by {growth / 2**20:.1f} MiB (at most 30)")


def soak(
    server: Server, sentences: list[str], languages: tuple[str, str], seconds: float
) -> tuple[int, int, list[str]]:
    """The memory after a minute and at the end, and the errors."""
    found: list[Measurement] = []

    def send(load: Load, stream_of: list[str]) -> None:
        found.append(load.run(server.url, distinct(stream_of), languages, seconds))

    halves = sentences[: len(sentences) // 2], sentences[len(sentences) // 2 :]
    threads = [threading.Thread(target=send, args=each) for each in zip(LOADS, halves, strict=True)]
    for thread in threads:
        thread.start()
    time.sleep(min(60, seconds / 2))
    first = last = server.memory
    while any(thread.is_alive() for thread in threads):
        time.sleep(1)
        last = server.memory
    total = sum(found, Measurement())
    print(f"{total.sentences} sentences in {len(total.times)} requests, {len(total.errors)} errors")
    return first, last, total.errors


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
