"""Sends more requests than the server can answer: each reply must be right, or state when to try again.

    python benchmarks/overload.py runs/mine --corpus multi30k:val --seconds 120

First, the speed of the server is measured with clients that wait for their replies. Then 200 clients send a request at
the same moment, several times. Then requests are sent at twice the measured speed, whether there are replies or not.
One second later, or after the last reply, the speed is measured again. The translations of all sentences are made
beforehand.
"""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from _load import Load, Measurement, distinct
from _servers import our_server, read_sentences, server_parser

SENTENCES = 4000
LIST = 100
LOAD = Load(32, 1)
AT_ONCE, ROUNDS = 200, 10
MAX_P99 = 2.0  # seconds
MAX_IDLE = 3.0  # seconds, after which a connection is not used again, because the server closes it after five
REFUSALS = (429, 503)


@dataclass
class Client:
    """Sends requests without waiting for earlier ones; the connections are used again."""

    url: str
    languages: tuple[str, str]
    expected: dict[str, str]
    statuses: Counter[int] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    """Seconds of each accepted request."""
    problems: list[str] = field(default_factory=list)
    _free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter, float]] = field(default_factory=list)

    async def ask(self, text: str) -> None:
        """Translate a text, and check the reply."""
        begin = time.perf_counter()
        try:
            status, headers, body = await self._post(
                {"q": text, "source": self.languages[0], "target": self.languages[1]}
            )
        except (OSError, asyncio.IncompleteReadError) as error:
            self.problems.append(f"{text}: {error!r}")
            return
        self.statuses[status] += 1
        if status == 200:
            self.times.append(time.perf_counter() - begin)
            if json.loads(body)["translatedText"] != self.expected[text]:
                self.problems.append(f"{text}: {body.decode()} is not {self.expected[text]}")
        elif status not in REFUSALS or b"\r\nretry-after: " not in headers:
            self.problems.append(f"{text}: status {status}, {headers!r}")

    async def _post(self, request: dict[str, str]) -> tuple[int, bytes, bytes]:
        parts = urlsplit(self.url)
        now = time.perf_counter()
        while self._free and self._free[-1][2] < now - MAX_IDLE:
            self._free.pop()[1].close()
        if self._free:
            reader, writer, _ = self._free.pop()
        else:
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        body = json.dumps(request).encode()
        head = f"POST /translate HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        headers = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(headers.partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0])
        reply = await reader.readexactly(length)
        self._free.append((reader, writer, time.perf_counter()))
        return int(headers.split()[1]), headers, reply

    def show(self, name: str) -> None:
        """Print what was found."""
        counts = ", ".join(f"{count} times {status}" for status, count in sorted(self.statuses.items()))
        print(f"{name}: {counts}; p99 of the accepted ones {self.p99:.2f} s; {len(self.problems)} problems", flush=True)

    @property
    def p99(self) -> float:
        """99 % of the accepted requests took at most so many seconds."""
        return sorted(self.times)[int(0.99 * (len(self.times) - 1))]


def main() -> None:
    parser = server_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=120, help="how long more requests are sent than are answered")
    options = parser.parse_args()
    sources, languages = read_sentences(options)
    sentences = list(itertools.islice(distinct(sources), SENTENCES))
    with our_server(options.bundle, options.engine, options.compute_type, options.port) as server:
        problems = asyncio.run(overload(server.url, sentences, languages, options.seconds))
    for problem in problems[:10]:
        print(problem)
    if problems:
        sys.exit(f"{len(problems)} problems")


async def overload(url: str, sentences: list[str], languages: tuple[str, str], seconds: float) -> list[str]:
    """Measure one server, print the results, and return all problems."""
    expected = await asyncio.to_thread(translate_all, url, sentences, languages)
    before = await measure(url, sentences, languages)
    print(f"{LOAD}: {before}", flush=True)
    at_once = Client(url, languages, expected)
    for start in range(0, AT_ONCE * ROUNDS, AT_ONCE):
        await asyncio.gather(*map(at_once.ask, sentences[start : start + AT_ONCE]))
    at_once.show(f"{AT_ONCE} clients at once, {ROUNDS} times")
    client, tasks = Client(url, languages, expected), []
    begin, rate = time.perf_counter(), 2 * before.speed
    stream = itertools.cycle(sentences)
    for number in itertools.count():
        await asyncio.sleep(begin + number / rate - time.perf_counter())
        if time.perf_counter() > begin + seconds:
            break
        tasks.append(asyncio.create_task(client.ask(next(stream))))
    await asyncio.gather(*tasks, asyncio.sleep(1))
    after = await measure(url, sentences, languages)
    client.show(f"{rate:.0f} requests per second for {seconds:g} seconds")
    print(f"one second later: {after}, {after.speed / before.speed:.2f} x the speed before")
    slow = [f"p99 is {client.p99:.2f} s, more than {MAX_P99:g} s"] if client.p99 > MAX_P99 else []
    return [*at_once.problems, *client.problems, *before.errors, *after.errors, *slow]


async def measure(url: str, sentences: list[str], languages: tuple[str, str]) -> Measurement:
    """What clients see that wait for their replies."""
    return await asyncio.to_thread(LOAD.run, url, itertools.cycle(sentences), languages, 10)


def translate_all(url: str, sentences: list[str], languages: tuple[str, str]) -> dict[str, str]:
    """The translations that an idle server returns."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
    found: dict[str, str] = {}
    for start in range(0, len(sentences), LIST):
        texts = sentences[start : start + LIST]
        body = json.dumps({"q": texts, "source": languages[0], "target": languages[1]})
        connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
        found |= zip(texts, json.loads(connection.getresponse().read())["translatedText"], strict=True)
    return found


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
