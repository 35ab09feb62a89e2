"""Limits of requests per client, and of the size and duration of a request."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Any, TypeVar

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.serving.errors import RequestError
from dragoman.settings.serving import Serving

Result = TypeVar("Result")
MULTIPART = "multipart/form-data"
"""The type of a form with files."""
_FORM_BYTES = 100_000  # of an upload, around the file
_NETWORK_BITS = 64  # of an address in IPv6; a user has all addresses of the network
_CLIENTS = 100_000  # remembered; older ones begin again


def client_address(host: str) -> str:
    """The address by which a client is counted: in IPv6 its network, because each user has millions of addresses."""
    try:
        address = ip_address(host)
    except ValueError:  # a proxy may state a name
        return host
    if not isinstance(address, IPv6Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((int(address), _NETWORK_BITS), strict=False))


class RateLimiter:
    """Limits the requests of each client per minute. Those that are not used can be sent later, up to one minute's."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests left, and when that was

    def admit(self, client: str) -> None:
        """Count a request.

        Raises:
            RequestError: There were too many.
        """
        left = self.require_room(client)
        self._left.pop(client, None)
        self._left[client] = left - 1, self._clock()
        if len(self._left) > _CLIENTS:
            self._left.popitem(last=False)

    def require_room(self, client: str) -> float:
        """How many requests a client may send now, without counting one.

        Raises:
            RequestError: None.
        """
        now = self._clock()
        left, before = self._left.get(client, (float(self._per_minute), now))
        left = min(self._per_minute, left + (now - before) * self._per_minute / 60)
        if left < 1:
            seconds = math.ceil((1 - left) * 60 / self._per_minute)
            raise RequestError(429, f"Slowdown: {self._per_minute} requests per minute are allowed", max(1, seconds))
        return left


class LimitBodies:
    """Middleware that stops reading a request that is too large, or that takes too long to arrive.

    Args:
        app: The application.
        settings: The limits.
        uploads: Paths to which files are sent.
    """

    def __init__(self, app: ASGIApp, settings: Serving, uploads: tuple[str, ...]) -> None:
        self._app, self._settings, self._uploads = app, settings, uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        settings = self._settings
        headers = Headers(scope=scope)
        is_upload = (
            scope["path"] in self._uploads
            and headers.get("content-type", "").partition(";")[0].strip().lower() == MULTIPART
        )
        limit = settings.file_bytes + _FORM_BYTES if is_upload else settings.body_bytes
        too_large = f"Invalid request: the body is larger than {limit} bytes"
        deadline = asyncio.get_running_loop().time() + settings.read_seconds
        announced = headers.get("content-length", "")
        length, complete = 0, False

        async def receive_within_limits() -> Message:
            nonlocal length, complete
            if complete:
                return await receive()  # waits for the client to disconnect
            if announced.isdecimal() and int(announced) > limit:
                raise RequestError(413, too_large)
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise RequestError(408, "The request took too long to arrive.") from None
            length += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if length > limit:
                raise RequestError(413, too_large)
            return message

        await self._app(scope, receive_within_limits, send)


async def while_connected(request: Request, work: Coroutine[Any, Any, Result], seconds: float) -> Result:
    """The result of some work, which is cancelled if the client disconnects, a time is over, or the server stops.

    Raises:
        RequestError: The time is over, or there is nobody to answer any more.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({working, leaving}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        if leaving.done():
            raise RequestError(499, "The client has disconnected.")
        raise RequestError(503, f"The translation took longer than {seconds:g} seconds.", 1)
    except asyncio.CancelledError:
        raise RequestError(503, "The server is shutting down; try again later.", 1) from None
    finally:
        leaving.cancel()
        working.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
