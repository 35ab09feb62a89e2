"""Connections on which nothing is sent, and connections while the server stops."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from running_server import Running, StartServer

from dragoman.serving.limits import client_address

if TYPE_CHECKING:
    from types import ModuleType

CONNECTIONS = 5000


@pytest.fixture
def many_files() -> Iterator[int]:
    """Allow as many open files as the system allows, and return how many connections they are enough for."""
    resource: ModuleType = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield min(CONNECTIONS, (hard - open_files() - 200) // 2)  # client and server are the same process
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def count_tasks(server: Running) -> int:
    async def count() -> int:
        return len(asyncio.all_tasks())

    loop = server.service.scheduler._loop
    assert loop is not None
    return asyncio.run_coroutine_threadsafe(count(), loop).result(10)


def is_answered(server: Running) -> None:
    """New clients are served, and soon."""
    begin = time.monotonic()
    assert httpx.get(f"{server.url}/health").json() == {"status": "ok"}
    assert server.translate("Hund").json()["translatedText"] == "en[Hund]"
    assert time.monotonic() - begin < 5


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list open files")
@pytest.mark.parametrize("limit", [1000, 10_000])
def test_idle_connections_keep_nobody_out_and_leave_nothing_behind(
    start_server: StartServer, many_files: int, limit: int
) -> None:
    server = start_server(connections=limit)
    is_answered(server)
    files, tasks = open_files(), count_tasks(server)
    with contextlib.ExitStack() as stack:
        for number in range(many_files):
            connection = stack.enter_context(socket.create_connection(server.address))
            if number % 2:
                connection.sendall(b"POST /translate HTTP/1.1\r\nHost: x\r\n")
        is_answered(server)
        assert limit - 5 <= len(server.server.server_state.connections) <= limit or limit > many_files
    is_answered(server)
    deadline = time.monotonic() + 60
    while len(server.server.server_state.connections) > 5 or open_files() > files + 10:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert count_tasks(server) <= tasks + 2


def ask_health(connection: socket.socket) -> bytes:
    """Send a request, and read the reply; empty if the connection is closed."""
    with contextlib.suppress(ConnectionError):
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        return read_reply(connection)
    return b""


def read_reply(connection: socket.socket) -> bytes:
    """A reply in JSON; what has arrived of it if the connection is closed."""
    reply = b""
    while not reply.endswith(b"}") and (data := connection.recv(65536)):
        reply += data
    return reply


def test_answered_connections_keep_nobody_out(start_server: StartServer) -> None:
    server = start_server(connections=20)
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(socket.create_connection(server.address, timeout=10)) for _ in range(20)]
        assert all(b"200 OK" in ask_health(each) for each in connections)
        again = connections.pop(0)
        assert b"200 OK" in ask_health(again)
        for _ in range(5):
            new = stack.enter_context(socket.create_connection(server.address, timeout=10))
            assert b"200 OK" in ask_health(new)
        assert not any(ask_health(each) for each in connections[:5]), "those that have waited longest"
        assert all(b"200 OK" in ask_health(each) for each in [again, *connections[5:]])


def with_small_buffers(server: Running) -> Running:
    """The system keeps less of a reply for new connections of a server."""
    for listening in server.server.servers[0].sockets:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # which connections inherit
    return server


@pytest.mark.parametrize("byte", [b"", b"G"])
def test_clients_that_do_not_read_their_replies_keep_nobody_out(start_server: StartServer, byte: bytes) -> None:
    server = with_small_buffers(start_server(connections=20, read_seconds=1))
    ask = b"GET /page/page.js HTTP/1.1\r\nHost: x\r\n\r\n"
    with contextlib.ExitStack() as stack:
        for number in range(30):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(server.address)
            connection.sendall(ask * (number % 2 * 30 + 1))
            time.sleep(0.05)
            connection.sendall(byte)
        time.sleep(3)
        is_answered(server)


def test_a_slow_client_gets_its_whole_reply(start_server: StartServer) -> None:
    server = with_small_buffers(start_server(read_seconds=1))
    expected = httpx.get(f"{server.url}/page/page.js").content
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.connect(server.address)
        connection.settimeout(10)
        connection.sendall(b"GET /page/page.js HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        pieces = []
        while data := connection.recv(len(expected) // 20):
            pieces.append(data)
            time.sleep(0.2)
    assert b"".join(pieces).endswith(expected)


def test_an_upload_that_continues_while_the_server_stops_is_answered(start_server: StartServer) -> None:
    server = start_server()
    body = b'{"q": "Hund", "source": "de", "target": "en"}'.ljust(200)
    kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}"
    with socket.create_connection(server.address, timeout=10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(f"POST /translate HTTP/1.1\r\nHost: x\r\n{kind}\r\n\r\n".encode() + body[:20])
        while not server.server.server_state.tasks:
            time.sleep(0.005)
        server.server.should_exit = True
        while server.server.servers[0].is_serving():
            time.sleep(0.005)
        for position in range(20, len(body)):
            connection.sendall(body[position : position + 1])
            time.sleep(0.002)
        reply = b"".join(iter(lambda: connection.recv(65536), b""))
    assert reply.startswith(b"HTTP/1.1 200 OK")
    assert b"en[Hund]" in reply
    assert reply.lower().count(b"connection: close") == 1


def connect_from(server: Running, address: str) -> socket.socket:
    return socket.create_connection(server.address, timeout=10, source_address=(address, 0))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one address for the machine itself")
def test_connections_of_one_client_leave_room_for_others(start_server: StartServer) -> None:
    server = start_server(connections=30, connections_per_client=10)
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connect_from(server, "127.0.0.2")) for _ in range(10)]
        assert all(b"200 OK" in ask_health(each) for each in connections)
        other = stack.enter_context(connect_from(server, "127.0.0.3"))
        assert b"200 OK" in ask_health(other)
        for _ in range(5):
            assert b"200 OK" in ask_health(stack.enter_context(connect_from(server, "127.0.0.2")))
        assert not any(ask_health(each) for each in connections[:5]), "they are replaced by those of the same client"
        assert all(b"200 OK" in ask_health(each) for each in [other, *connections[5:]])
        proxied = [stack.enter_context(connect_from(server, "127.0.0.1")) for _ in range(15)]
        assert all(b"200 OK" in ask_health(each) for each in proxied), "a proxy on the same machine"
    is_answered(server)
    deadline = time.monotonic() + 60
    while server.config.of_client.keys() - {"127.0.0.1"}:
        assert time.monotonic() < deadline, "nothing is kept of clients that have left"
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one address for the machine itself")
def test_busy_connections_of_a_client_are_not_replaced(start_server: StartServer) -> None:
    server = start_server(connections_per_client=2)
    server.fakes["de-en"].gate.clear()
    body = b"q=Hund&source=de&target=en"
    head = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: "
    with contextlib.ExitStack() as stack:
        busy = [stack.enter_context(connect_from(server, "127.0.0.2")) for _ in range(2)]
        for each in busy:
            each.sendall(head + f"{len(body)}\r\n\r\n".encode() + body)
        while len(server.server.server_state.tasks) < 2:
            time.sleep(0.005)
        assert ask_health(stack.enter_context(connect_from(server, "127.0.0.2"))) == b""
        assert b"200 OK" in ask_health(stack.enter_context(connect_from(server, "127.0.0.3")))
        server.fakes["de-en"].gate.set()
        assert all(b"en[Hund]" in read_reply(each) for each in busy)


@pytest.mark.parametrize(
    ("host", "client"),
    [
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("192.0.2.1", "192.0.2.1"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_a_network_of_ipv6_is_one_client(host: str, client: str) -> None:
    assert client_address(host) == client


def test_the_addresses_of_a_network_share_a_limit(start_server: StartServer) -> None:
    server = start_server(requests_per_minute=3)

    def status(address: str) -> int:
        fields = {"q": "Hund", "source": "de", "target": "en"}
        return httpx.post(f"{server.url}/translate", data=fields, headers={"X-Forwarded-For": address}).status_code

    assert [status(f"2001:db8::{number}") for number in range(5)] == [200] * 3 + [429] * 2
    assert [status(f"2001:db8:0:{number}::1") for number in range(1, 5)] == [200] * 4
    assert [status(f"192.0.2.{number}") for number in range(5)] == [200] * 5
