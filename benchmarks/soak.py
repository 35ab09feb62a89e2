"""Keeps the server busy for minutes: its memory must not grow, and it must answer every request.

    python benchmarks/soak.py runs/mine --corpus multi30k:val --minutes 10

Clients send single sentences and lists at the same time. All sentences are distinct. Memory is compared with that after
the first minute, when the server has made everything that it keeps.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from _load import Load, Measurement, distinct
from _servers import Server, our_server, read_sentences, server_parser

LOADS = (Load(28, 1), Load(4, 20))
MAX_GROWTH = 30 * 2**20


def main() -> None:
    parser = server_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    sentences, languages = read_sentences(options)
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
