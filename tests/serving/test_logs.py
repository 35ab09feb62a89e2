"""Logs and metrics contain neither texts nor keys nor addresses."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import logging
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from running_server import Running

from dragoman.serving.monitoring import JsonFormatter, configure_logging

SECRET_TEXT, SECRET_KEY = "Geheimnis FAIL", "sehr-geheim"


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    loggers = [logging.getLogger(name) for name in ("dragoman", "uvicorn")]
    before = [(logger.handlers, logger.level) for logger in loggers]
    for logger in loggers:
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
    yield stream
    for logger, (handlers, level) in zip(loggers, before, strict=True):
        logger.handlers = handlers
        logger.setLevel(level)


def entries(logged: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in logged.getvalue().splitlines()]


def test_nothing_secret_is_logged_or_counted(server: Running, logged: io.StringIO) -> None:
    data = {"q": SECRET_TEXT, "source": "de", "target": "en", "api_key": SECRET_KEY}
    assert httpx.post(f"{server.url}/translate", data=data).status_code == 500
    assert httpx.post(f"{server.url}/translate", params=data | {"q": "Geheimnis"}).status_code == 200
    assert httpx.get(f"{server.url}/Geheimnis/{SECRET_KEY}").status_code == 404
    text = logged.getvalue() + httpx.get(f"{server.url}/metrics").text
    for secret in ("Geheimnis", SECRET_KEY, "127.0.0.1"):
        assert secret not in text
    requests = [entry for entry in entries(logged) if entry["message"] == "request"]
    assert [(entry["endpoint"], entry["status"]) for entry in requests[:3]] == [
        ("translate_libretranslate", 500),
        ("translate_libretranslate", 200),
        ("none", 404),
    ]
    assert any(entry.get("exception") == "RuntimeError" for entry in entries(logged))


def test_a_client_that_leaves_while_it_sends_is_no_error(server: Running, logged: io.StringIO) -> None:
    for kind in ("application/json", "multipart/form-data; boundary=x"):
        with socket.create_connection(server.address) as connection:
            head = f"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: 1000\r\n\r\n--x"
            connection.sendall(head.encode())
            time.sleep(0.2)
    deadline = time.monotonic() + 60
    while len(left := [entry for entry in entries(logged) if entry.get("status") == 499]) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert len(left) == 2
    assert {entry["level"] for entry in entries(logged)} == {"info"}


def test_errors_of_tasks_are_logged_without_their_messages(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("", "asyncio", "dragoman", "uvicorn", "py.warnings")
    loggers = [logging.getLogger(name) for name in names]
    before = [(logger.handlers, logger.level, logger.propagate) for logger in loggers]

    async def fail() -> None:
        asyncio.get_running_loop().create_task(asyncio.sleep(0)).add_done_callback(lambda _: 1 / 0)
        task = asyncio.create_task(read("geheim.txt"))
        await asyncio.wait({task})

    async def read(name: str) -> None:
        raise ValueError(name)

    try:
        configure_logging()
        asyncio.run(fail())
        gc.collect()
        logging.getLogger("other").warning("a warning")
    finally:
        logging.captureWarnings(False)
        for logger, values in zip(loggers, before, strict=True):
            logger.handlers, logger.level, logger.propagate = values
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert {"ValueError", "ZeroDivisionError"} <= {line.get("exception") for line in lines}
    assert not [line for line in lines if "geheim" in json.dumps(line)]
    assert lines[-1]["message"] == "a warning"


def test_metrics_count_requests_and_characters(server: Running) -> None:
    def count(name: str) -> float:
        lines = httpx.get(f"{server.url}/metrics").text.splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    name = 'dragoman_requests_total{endpoint="translate_libretranslate",status="200"}'
    requests, characters = count(name), count("dragoman_characters_total")
    server.translate("Gezählt.")
    assert count(name) == requests + 1
    assert count("dragoman_characters_total") == characters + len("Gezählt.")
    assert count("dragoman_waiting_tokens") == 0
