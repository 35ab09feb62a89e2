"""Clients that misbehave, and a full disk."""

from __future__ import annotations

import contextlib
import errno
import socket
import time
from pathlib import Path

import httpx
import pytest
from running_server import Running, StartServer


@pytest.fixture(scope="module")
def impatient(start_server: StartServer) -> Running:
    """A server that waits half a second for requests, and has few connections."""
    return start_server(read_seconds=0.5, connections=50, body_bytes=10_000, file_bytes=10_000)


def is_closed_within(connection: socket.socket, seconds: float) -> bool:
    connection.settimeout(seconds)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"POST /trans",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nX-Header: a",
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nq=",
    ],
    ids=["nothing", "half a line", "half a head", "half a body"],
)
def test_slow_clients_are_disconnected(impatient: Running, beginning: bytes) -> None:
    with socket.create_connection(impatient.address) as connection:
        connection.sendall(beginning)
        assert is_closed_within(connection, 5)
    assert impatient.translate("Hund").status_code == 200


def test_a_client_that_sends_a_byte_now_and_then_is_disconnected(impatient: Running) -> None:
    with socket.create_connection(impatient.address) as connection:
        connection.sendall(b"POST /translate HTTP/1.1\r\nHost: x\r\n")
        begin = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < begin + 5:
                connection.sendall(b"X: a\r\n")
                time.sleep(0.05)
        assert time.monotonic() < begin + 3


def test_connections_stay_open_between_requests(impatient: Running) -> None:
    with httpx.Client() as client:
        for _ in range(5):
            assert client.get(f"{impatient.url}/health").status_code == 200
            time.sleep(0.2)


def test_translations_may_take_longer_than_requests(impatient: Running) -> None:
    impatient.fakes["de-en"].seconds = 1.0
    assert impatient.translate("Hund").status_code == 200
    impatient.fakes["de-en"].seconds = 0.0


@pytest.mark.parametrize("path", ["/translate", "/v2/document"])
def test_large_bodies_are_refused_before_they_are_read(impatient: Running, path: str) -> None:
    sent = 0
    with socket.create_connection(impatient.address) as connection:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n"
        connection.sendall(head.encode())
        with contextlib.suppress(ConnectionError):
            while sent < 100_000_000:
                connection.sendall(b" " * 65536)
                sent += 65536
    assert sent < 50_000_000
    assert impatient.translate("Hund").status_code == 200


def test_a_large_body_gets_a_message(impatient: Running) -> None:
    reply = httpx.post(f"{impatient.url}/translate", json={"q": "a" * 20_000, "source": "de", "target": "en"})
    assert reply.status_code == 413
    assert "10000 bytes" in reply.json()["error"]


def test_connections_above_the_limit_are_closed(impatient: Running) -> None:
    connections = [socket.create_connection(impatient.address) for _ in range(80)]
    closed = sum(is_closed_within(connection, 0.01) for connection in connections)
    assert 29 <= closed <= 80
    for connection in connections:
        connection.close()
    deadline = time.monotonic() + 5
    while True:
        with contextlib.suppress(httpx.HTTPError):
            assert impatient.translate("Hund").status_code == 200
            break
        assert time.monotonic() < deadline


def test_a_full_disk_is_a_message_and_leaves_nothing(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_bytes

    def write_half(path: Path, data: bytes) -> int:
        write(path, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_half)
    files = {"file": ("brief.txt", b"Ein Hund.")}
    reply = httpx.post(f"{server.url}/translate_file", data={"source": "de", "target": "en"}, files=files)
    assert reply.status_code == 507
    assert "disk is full" in reply.json()["error"]
    assert server.service.downloads.files() == []
