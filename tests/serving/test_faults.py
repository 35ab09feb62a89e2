"""Clients that misbehave, and a full disk."""

from __future__ import annotations

import contextlib
import errno
import socket
import threading
import time
from pathlib import Path

import httpx
import pytest
from running_server import Running, StartServer

from dragoman.documents.segment import SegmentedDocument
from dragoman.serving.models import ServedModel
from dragoman.serving.texts import TEXT_FORMATS, open_html_text


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


@pytest.mark.parametrize(
    "before", [b"", b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"], ids=["first request", "next request"]
)
def test_endless_heads_are_refused(start_server: StartServer, before: bytes) -> None:
    server = start_server()
    sent, chunk = 0, b"X: " + b"a" * 10_000
    with socket.create_connection(server.address, timeout=10) as connection:
        connection.sendall(before + b"POST /translate HTTP/1.1\r\nHost: x\r\n")
        with contextlib.suppress(ConnectionError):
            while sent < 100_000_000:
                connection.sendall(chunk)
                sent += len(chunk)
    assert sent < 20_000_000, "what the system buffers"


def test_a_client_that_sends_a_byte_now_and_then_is_disconnected(impatient: Running) -> None:
    with socket.create_connection(impatient.address) as connection:
        connection.sendall(b"POST /translate HTTP/1.1\r\nHost: x\r\n")
        deadline = time.monotonic() + 60
        with contextlib.suppress(ConnectionError):
            while True:
                connection.sendall(b"X: a\r\n")
                time.sleep(0.05)
                assert time.monotonic() < deadline, "each line is given the time again"


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


@pytest.fixture(scope="module")
def locked(start_server: StartServer) -> tuple[Running, str]:
    """A server that requires keys, and a key."""
    running = start_server(require_keys=True, requests_per_minute=50)
    return running, running.service.keys.add("alice")


def upload(running: Running, *parts: tuple[str, str], header: str = "", size: int = 9_000_000) -> tuple[int, bytes]:
    """Upload a large file after some fields; how many bytes were sent, and the reply."""
    form = "".join(f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n' for name, text in parts)
    form += '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    head = (
        f"POST /translate_file HTTP/1.1\r\nHost: x\r\nContent-Length: {len(form) + size + 7}\r\n{header}"
        f"Content-Type: multipart/form-data; boundary=x\r\n\r\n{form}"
    )
    sent = 0
    with socket.create_connection(running.address) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        connection.sendall(head.encode())
        with contextlib.suppress(ConnectionError):
            while sent < size:
                sent += connection.send(((b"A dog.".ljust(699) + b"\n") * 100)[: size - sent])
            connection.sendall(b"\r\n--x--\r\n")
        connection.settimeout(20)
        with contextlib.suppress(ConnectionError):
            return sent, connection.recv(65536).partition(b"\r\n")[0]
    return sent, b""


def test_a_large_file_without_a_key_is_not_read(locked: tuple[Running, str]) -> None:
    running, key = locked
    fields = ("source", "en"), ("target", "en")
    assert upload(running, *fields)[0] < 8_000_000
    assert upload(running, *fields, header="Authorization: DeepL-Auth-Key wrong\r\n")[0] < 8_000_000
    assert upload(running, ("api_key", "wrong"), *fields)[0] < 8_000_000
    size = 2_100_000  # the key precedes the file
    assert upload(running, ("api_key", key), *fields, size=size) == (size, b"HTTP/1.1 200 OK")
    data, files = {"source": "en", "target": "en"}, {"file": ("a.txt", b"A dog.")}
    for name, status in ((key, 200), ("wrong", 403)):
        reply = httpx.post(f"{running.url}/translate_file", params={"api_key": name}, data=data, files=files)
        assert reply.status_code == status


def test_a_large_body_of_an_address_with_too_many_requests_is_not_read(start_server: StartServer) -> None:
    running = start_server(requests_per_minute=2)
    assert [running.translate("Hund").status_code for _ in range(3)] == [200, 200, 429]
    assert upload(running, ("source", "en"), ("target", "en"))[0] < 8_000_000


@pytest.mark.parametrize("charset", ["unicode_escape", "punycode", "undefined", "idna", "utf-16", "zip"])
def test_other_charsets_of_forms_are_refused(server: Running, charset: str) -> None:
    fields = {"q": r"\N{x} é", "source": "de", "target": "en"}
    body = "".join(f'--x\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields.items())

    def status(name: str) -> int:
        kind = f"multipart/form-data; boundary=x; charset={name}"
        headers = {"content-type": kind}
        return httpx.post(f"{server.url}/translate", content=f"{body}--x--\r\n".encode(), headers=headers).status_code

    assert (status(charset), status("UTF-8"), status("latin-1")) == (400, 200, 200)


def test_a_long_text_does_not_stop_other_requests(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, gate = threading.Event(), threading.Event()

    def open_slowly(html: str, model: ServedModel) -> SegmentedDocument[str]:
        opened.set()
        gate.wait(60)
        return open_html_text(html, model)

    monkeypatch.setitem(TEXT_FORMATS, "html", open_slowly)
    data = {"q": "<p>Hund</p>" * 500, "source": "de", "target": "en", "format": "html"}
    slow = threading.Thread(target=httpx.post, args=(f"{server.url}/translate",), kwargs={"data": data, "timeout": 30})
    slow.start()
    assert opened.wait(60)
    assert httpx.get(f"{server.url}/health", timeout=30).status_code == 200
    assert slow.is_alive()
    gate.set()
    slow.join()


def test_a_large_body_gets_a_message(impatient: Running) -> None:
    reply = httpx.post(f"{impatient.url}/translate", json={"q": "a" * 20_000, "source": "de", "target": "en"})
    assert reply.status_code == 413
    assert "10000 bytes" in reply.json()["error"]


def test_a_body_that_is_announced_as_too_large_is_refused_before_it_arrives(impatient: Running) -> None:
    head = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    with socket.create_connection(impatient.address, timeout=10) as connection:
        connection.sendall(head + b"Content-Length: 99999999999999\r\n\r\n{")
        assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_connections_above_the_limit_are_closed(impatient: Running) -> None:
    connections = [socket.create_connection(impatient.address) for _ in range(80)]
    closed = sum(is_closed_within(connection, 0.01) for connection in connections)
    assert 29 <= closed <= 80
    for connection in connections:
        connection.close()
    deadline = time.monotonic() + 60
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
