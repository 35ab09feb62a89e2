"""A plugin for pytest that runs LibreTranslate's own tests of its API against our server: `make test-clients`.

These tests want a fixture `client`, which has the interface of Flask's test client. They translate from English to
Spanish.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from running_server import Servers


@dataclass(frozen=True)
class FlaskResponse:
    """A reply with the attributes of Flask's.

    Args:
        status_code: Its status.
        data: Its body.
        json: The value in its body; None if that is not JSON.
    """

    status_code: int
    data: bytes
    json: Any


class FlaskClient:
    """Sends requests to a running server.

    Args:
        url: The address of the server.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    def get(self, path: str) -> FlaskResponse:
        return self._send("GET", path)

    def post(self, path: str, data: dict[str, str] | None = None, json: Any = None) -> FlaskResponse:
        return self._send("POST", path, data=data, json=json)

    def _send(self, method: str, path: str, **body: Any) -> FlaskResponse:
        reply = httpx.request(method, f"{self._url}{path}", **body)
        is_json = reply.headers["content-type"].startswith("application/json")
        return FlaskResponse(reply.status_code, reply.content, reply.json() if is_json else None)


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A client of a server from English to Spanish."""
    servers = Servers(tmp_path_factory.mktemp("state"))
    yield FlaskClient(servers.start().url)
    servers.stop()
