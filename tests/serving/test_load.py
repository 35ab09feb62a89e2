"""Many clients at once: every answer belongs to its request, and too many requests are refused."""

from __future__ import annotations

import asyncio
import socket
import time

import httpx
import pytest
from running_server import Running, StartServer

from dragoman.serving.fair_queue import Priority


async def ask_all(url: str, texts: list[str]) -> list[httpx.Response]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=30, limits=limits) as client:
        bodies = [{"q": text, "source": "de", "target": "en"} for text in texts]
        return await asyncio.gather(*(client.post(f"{url}/translate", json=body) for body in bodies))


def test_200_simultaneous_requests_get_their_own_answers(start_server: StartServer) -> None:
    server = start_server(batch_tokens=2000, queue_seconds=60.0)  # none is refused because of its wait
    server.fakes["de-en"].seconds = 0.02
    texts = [f"Satz Nummer {number}" for number in range(200)]
    replies = asyncio.run(ask_all(server.url, texts))
    assert not [reply.text for reply in replies if reply.status_code != 200]
    assert [reply.json()["translatedText"] for reply in replies] == [f"en[{text}]" for text in texts]
    assert len(server.fakes["de-en"].batches) < 150, "sentences of different requests share batches"


def test_overload_gives_only_correct_answers_or_503(start_server: StartServer) -> None:
    server = start_server(characters=300, queue_tokens=300, workers=1)
    server.fakes["de-en"].seconds = 0.05
    texts = [f"Satz Nummer {number}" for number in range(200)]
    replies = asyncio.run(ask_all(server.url, texts))
    assert {reply.status_code for reply in replies} == {200, 503}
    for text, reply in zip(texts, replies, strict=True):
        if reply.status_code == 200:
            assert reply.json()["translatedText"] == f"en[{text}]"
        else:
            assert int(reply.headers["retry-after"]) >= 1
    assert server.service.scheduler.waiting[Priority.INTERACTIVE] == 0
    assert server.translate("Danach").status_code == 200


def test_each_key_and_each_address_has_its_own_limit(start_server: StartServer) -> None:
    server = start_server(requests_per_minute=5)
    key = server.service.keys.add("alice")
    codes = [server.translate("Hund").status_code for _ in range(7)]
    assert codes == [200] * 5 + [429] * 2
    refused = server.translate("Hund")
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["error"].startswith("Slowdown:")
    body = {"q": "Hund", "source": "de", "target": "en", "api_key": key}
    assert httpx.post(f"{server.url}/translate", json=body).status_code == 200


def test_a_translation_that_takes_too_long_is_503(start_server: StartServer) -> None:
    server = start_server(seconds=0.2)
    server.fakes["de-en"].gate.clear()
    reply = server.translate("Hund")
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
    server.fakes["de-en"].gate.set()
    assert server.translate("Katze").status_code == 200


def send_and_leave(server: Running, count: int) -> None:
    """Send requests to a server with one worker; the clients disconnect before the answer."""
    connections = []
    for number in range(count):
        connection = socket.create_connection(server.address)
        body = f'{{"q": "Verlassen {number}", "source": "de", "target": "en"}}'
        head = f"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        connection.sendall(f"{head}\r\n\r\n{body}".encode())
        connections.append(connection)
        if number == 0:
            while not server.fakes["de-en"].batches:  # the only worker is busy from now on
                time.sleep(0.005)
    waiting = sum(len(f"Verlassen {number}") for number in range(1, count))
    deadline = time.monotonic() + 60
    while server.service.scheduler.waiting[Priority.INTERACTIVE] < waiting:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    for connection in connections:
        connection.close()


def test_clients_that_disconnect_free_the_queue(start_server: StartServer) -> None:
    server = start_server(workers=1)
    fake = server.fakes["de-en"]
    fake.gate.clear()
    send_and_leave(server, 100)
    deadline = time.monotonic() + 60
    while server.service.scheduler.waiting[Priority.INTERACTIVE]:
        assert time.monotonic() < deadline, "the sentences of clients that have left stay in the queue"
        time.sleep(0.005)
    fake.gate.set()
    assert server.translate("Hund").json()["translatedText"] == "en[Hund]"
    assert sum(map(len, fake.batches)) == 2, "only what a worker had already taken is translated"


@pytest.mark.parametrize("text", ["FAIL", "EXIT"])
def test_a_failure_of_the_translator_is_an_error_of_this_request_only(start_server: StartServer, text: str) -> None:
    server = start_server()
    replies = asyncio.run(ask_all(server.url, [f"Satz {number}" for number in range(20)] + [text]))
    for number, reply in enumerate(replies[:20]):
        if reply.status_code == 200:
            assert reply.json()["translatedText"] == f"en[Satz {number}]"
        else:
            assert (reply.status_code, text) == (503, "EXIT"), "a worker that ends interrupts only its batch"
    assert replies[20].status_code == {"FAIL": 500, "EXIT": 503}[text]
    assert "error" in replies[20].json()
    assert server.translate("Danach").json()["translatedText"] == "en[Danach]"
