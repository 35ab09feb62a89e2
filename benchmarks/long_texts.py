"""How long one client waits while others send long random texts, which are slow to translate.

    python benchmarks/long_texts.py runs/mine --corpus multi30k:val

One client sends a sentence about three times per second, first alone, then while three others send texts of 4,000
random Chinese characters again and again, each from another address, as the limits of the server are by client.
"""

from __future__ import annotations

import http.client
import itertools
import json
import random
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from urllib.parse import urlsplit

from _servers import our_server, read_sentences, server_parser

OTHERS = 3
CHARACTERS = 4000
SENTENCES = 60
PAUSE = 0.3  # seconds
MAX_SECONDS = 2.0

Post = Callable[[str, str], tuple[int, float]]
"""Sends a text from an address; returns the status of the reply and the seconds that it took."""


def main() -> None:
    parser = server_parser(__doc__)
    options = parser.parse_args()
    sources, languages = read_sentences(options)
    with our_server(options.bundle, options.engine, options.compute_type, options.port) as server:
        parts = urlsplit(server.url)

        def post(text: str, address: str) -> tuple[int, float]:
            begin = time.perf_counter()
            host, port = parts.hostname or "", parts.port
            with closing(
                http.client.HTTPConnection(host, port, timeout=120, source_address=(address, 0))
            ) as connection:
                body = json.dumps({"q": text, "source": languages[0], "target": languages[1]})
                connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
                reply = connection.getresponse()
                reply.read()
                return reply.status, time.perf_counter() - begin

        sentences = itertools.cycle(sources)
        for sentence in itertools.islice(sentences, 20):
            post(sentence, "127.0.0.1")  # so that the server knows its speed
        measure("alone", post, list(itertools.islice(sentences, SENTENCES)))
        stopped, replies = threading.Event(), list[int]()
        threads = [
            threading.Thread(target=send_long_texts, args=(post, f"127.0.0.{2 + number}", number, stopped, replies))
            for number in range(OTHERS)
        ]
        for thread in threads:
            thread.start()
        try:
            is_good = measure("with others", post, list(itertools.islice(sentences, SENTENCES)))
        finally:
            stopped.set()
            for thread in threads:
                thread.join()
        statuses = Counter(replies)
        print(f"{statuses[200]} of {len(replies)} long texts were translated, {statuses[503]} refused")
    if not is_good:
        sys.exit("the client was refused, or waited too long")
    if statuses.keys() - {200, 503}:
        sys.exit(f"other replies to long texts: {statuses}")


def send_long_texts(post: Post, address: str, seed: int, stopped: threading.Event, replies: list[int]) -> None:
    generator = random.Random(seed)
    while not stopped.is_set():
        text = "".join(chr(generator.randrange(0x4E00, 0x9FFF)) for _ in range(CHARACTERS))
        replies.append(post(text, address)[0])
        if replies[-1] != 200:
            stopped.wait(0.2)


def measure(name: str, post: Post, sentences: list[str]) -> bool:
    """Print what a client sees; returns whether all its sentences were translated in time."""
    found = []
    for sentence in sentences:
        found.append(post(sentence, "127.0.0.1"))
        time.sleep(PAUSE)
    times = sorted(seconds for status, seconds in found if status == 200)
    if not times:
        print(f"{name}: none of {len(found)} accepted")
        return False
    print(
        f"{name}: {len(times)} of {len(found)} accepted, median {statistics.median(times):.3f} s, "
        f"p95 {times[int(0.95 * (len(times) - 1))]:.3f} s, at most {times[-1]:.3f} s",
        flush=True,
    )
    return len(times) == len(found) and times[-1] <= MAX_SECONDS


if __name__ == "__main__":
    main()
