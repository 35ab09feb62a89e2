"""Requests to a server over HTTP: which machine gets the text, the key, timeouts, and when to try again."""

from __future__ import annotations

import email.utils
import html.entities
import ipaddress
import json
import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3

from dragoman.errors import UserError, shortened
from dragoman.system.files import read_bytes

CONNECT_SECONDS, READ_SECONDS, REPLY_SECONDS = 10.0, 600.0, 1200.0
"""How long a server may take to accept a connection, to send the next bytes, and to send all of a reply.

A large model thinks for minutes.
"""

MOST_BYTES = 16_000_000
"""A longer reply is damaged."""
_CHUNK = 65_536  # bytes

MAX_WAIT = 300.0
"""The longest time in seconds that is waited because a server asks for it; then the request is sent again anyway."""

_MOST_KEY_BYTES = 10_000

LONG_KEY = 12
"""Characters of a key that is no word of a translation."""

_EXPLAINED = 100_000  # characters of a reply that are looked at for a message

_OTHER_KEY = "name a valid key with --key-file or --key-variable"
_OTHER_ADDRESS = "check the address, which often ends in /v1 for a language model, and the name of the model"
_NO_CREDIT = f"the account of this key has no credit left; add some, or {_OTHER_KEY}"
_REMEDIES = {
    401: _OTHER_KEY,
    402: _NO_CREDIT,
    403: _OTHER_KEY,
    404: _OTHER_ADDRESS,
    405: _OTHER_ADDRESS,
    407: "the proxy asks for a password; add it to HTTPS_PROXY or HTTP_PROXY",
    413: "send fewer sentences at once, as with --sentences 5 of dragoman synthesize",
    456: _NO_CREDIT,  # of DeepL
}
"""What to do about the status of a refusal."""

_CAUSES = "Connection refused|Name or service not known|Connection reset|Broken pipe|Tunnel connection failed: [^'\")]+"

_TLS_PROBLEMS = {
    "WRONG_VERSION_NUMBER": "the server does not speak https; name it with http://",
    "CERTIFICATE_VERIFY_FAILED": "this machine does not trust the certificate of the server",
}
"""What errors of TLS that never pass mean, by their names in OpenSSL."""


class BusyServerError(Exception):
    """A request that may succeed later: the server is busy or restarts, or the connection was lost.

    Attributes:
        seconds: How long the server asks to wait; None if it does not say so.
        status: The status of the reply; None without a reply.
        remedy: What to do if it never answers.
    """

    remedy = "start the server, or correct its address"

    def __init__(self, problem: str, seconds: float | None = None, status: int | None = None) -> None:
        super().__init__(problem)
        self.seconds, self.status = seconds, status

    @property
    def concerns_request(self) -> bool:
        """Whether this request may be the cause, rather than the state of the server."""
        return self.status in (200, 408, 500)


class ProxyError(BusyServerError):
    """A proxy that cannot be reached, or that refuses to connect to the server."""

    remedy = "correct the proxy in HTTPS_PROXY or HTTP_PROXY, or name the server in NO_PROXY"


class RefusedRequestError(UserError):
    """A request that the server will always refuse, such as one with a wrong key.

    Attributes:
        status: The status of the reply.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def is_on_this_machine(address: str) -> bool:
    """Whether the host of a URL is this machine."""
    host = (urlsplit(address).hostname or "").rstrip(".")
    if host == "localhost":  # resolvers may send its subdomains to any machine
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_SECRETS = re.compile(r"(?<=//).*@|^[^/]*@|[?#].*", re.DOTALL)
"""What a URL may have before its host and after its path; without a scheme, everything before an @."""


def check_address(address: str, protocol: str = "") -> str:
    """A URL without the slash at its end; before it, a user writes the name of a protocol and a colon, or nothing.

    Raises:
        UserError: It is no address of a server, or contains a password or a query, which would be printed and stored.
    """
    if _SECRETS.search(address):
        shown = _SECRETS.sub("…", address)
        raise UserError(
            f"{shortened(shown)}: an address must not contain a user, a password or a query; give a key with "
            "--key-file or --key-variable"
        )
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError as error:
        raise UserError(f"{shortened(address)}: not a valid address ({error})") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        example = (
            f"http://{address}" if re.fullmatch(r"[\w.-]+(:\d+)?(/\S*)?", address) else "http://localhost:11434/v1"
        )
        raise UserError(f"{address}: an address starts with http:// or https://, such as {protocol}{example}")
    return f"{parts.scheme}{address[len(parts.scheme) :]}".rstrip("/")  # the scheme in lower case


def read_key(file: Path | None, variable: str | None) -> str | None:
    """The key in a file or in an environment variable; None if neither is named.

    Raises:
        UserError: There is no such file or variable, or it does not contain one line of ASCII characters.
    """
    if file is None and variable is None:
        return None
    if file is not None and variable is not None:
        raise UserError("--key-file and --key-variable both name a key; give one of them")
    if file is not None:
        if not os.path.exists(file):  # without the name, which may be the key
            raise UserError("--key-file: there is no file with this name; name a file that contains only the key")
        name, text = f"--key-file {file}", read_bytes(file, _MOST_KEY_BYTES).decode("utf-8", "replace")
    else:
        assert variable is not None
        name, text = f"--key-variable {shortened(variable)}", os.environ.get(variable, "")
        if not re.fullmatch(r"[A-Za-z_]\w{0,60}", variable):
            raise UserError("--key-variable: expected the name of an environment variable, not the key itself")
        if variable not in os.environ:
            # without the name, which may be a key, such as hf_…
            raise UserError("--key-variable: there is no environment variable with this name; set and export it")
    key = text.strip()
    if not re.fullmatch("[!-~]+", key):
        raise UserError(f"{name}: expected a key, one word of ASCII characters")
    return key


@dataclass(frozen=True)
class HiddenKey:
    """Hides a key in what is printed or stored, in all spellings: escaped for JSON, Python, URLs or HTML, also twice.

    Attributes:
        key: The key; None without one.
    """

    key: str | None = field(default=None, repr=False)

    def hide(self, text: str) -> str:
        """A text for a message, without the key."""
        return _pattern_of(self.key).sub("…", text) if self.key else text

    def hide_in_reply(self, value: Any) -> Any:
        """Parsed JSON without the key, unless the key is so short that it may be a word, such as ollama."""
        if not self.key or len(self.key) < LONG_KEY:
            return value
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, list):
            return [self.hide_in_reply(each) for each in value]
        if isinstance(value, dict):
            return {name: self.hide_in_reply(each) for name, each in value.items()}
        return value


@cache
def _pattern_of(key: str) -> re.Pattern[str]:
    """Finds a key in all spellings; several backslashes are one."""
    spelled = map(_spellings, re.sub(r"\\+", r"\\", key))
    return re.compile(rf"(?<!\\){''.join(spelled)}", re.IGNORECASE)  # a run of backslashes is only tried at its start


@cache
def _spellings(character: str) -> str:
    """A pattern for a character and what escapes it."""
    if character == "\\":
        return r"(?:\\|u005c|x5c|%5c|&#0*92;|&#x0*5c;)++"
    code = ord(character)
    forms = [re.escape(character), f"u{code:04x}", f"x{code:02x}", f"%{code:02x}", f"&#0*{code};", f"&#x0*{code:x};"]
    forms += [f"&{name}" for name, each in html.entities.html5.items() if each == character and name.endswith(";")]
    return rf"\\*+(?:{'|'.join(forms)})"


@dataclass
class HttpClient:
    """Sends JSON to a server.

    One object is used by one thread at a time. Redirections are not followed: they could lead to another machine. On
    this machine, no proxy is used, for the same reason.

    Attributes:
        address: Where paths start.
        key: Is sent in the header `Authorization`, and never appears in messages.
        key_type: What precedes the key in this header.
        key_field: The field of each request that contains the key, instead of the header.
        timeouts: Seconds to connect, and to wait for the next bytes of a reply.
        reply_seconds: Seconds for a whole reply.
    """

    address: str
    key: str | None = field(default=None, repr=False)
    key_type: str = "Bearer"
    key_field: str | None = None
    timeouts: tuple[float, float] = (CONNECT_SECONDS, READ_SECONDS)
    reply_seconds: float = REPLY_SECONDS

    def __post_init__(self) -> None:
        self._hidden = HiddenKey(self.key)
        self._session = requests.Session()
        self._session.trust_env = not is_on_this_machine(self.address)
        self._session.auth = _leave_headers  # requests would send the passwords in ~/.netrc
        if self.key and not self.key_field:
            self._session.headers["Authorization"] = f"{self.key_type} {self.key}"

    def post(self, path: str, data: dict[str, Any]) -> Any:
        """The reply to a request, parsed from JSON.

        Raises:
            BusyServerError: The request may succeed later.
            RefusedRequestError: It will not.
        """
        url = f"{self.address}{path}"
        hide = self._hidden.hide
        if self.key and self.key_field:
            data = {**data, self.key_field: self.key}
        try:
            with self._session.post(url, json=data, timeout=self.timeouts, allow_redirects=False, stream=True) as reply:
                text = self._read_text(reply, url)
        except (requests.ConnectionError, requests.Timeout) as error:
            if problem := next((text for name, text in _TLS_PROBLEMS.items() if name in str(error)), None):
                raise UserError(f"{url}: {problem}") from None
            if isinstance(error, requests.exceptions.ProxyError):
                raise ProxyError(f"{url}: the proxy on the way: {self._describe(error)}") from None
            status = 408 if isinstance(error, requests.ReadTimeout) else None
            raise BusyServerError(f"{url}: {self._describe(error)}", status=status) from None
        except requests.RequestException as error:
            raise UserError(f"{url}: {hide(str(error))}") from None
        reason = hide(f"{reply.status_code} {reply.reason}")
        if reply.status_code == 429 or reply.status_code >= 500 or reply.status_code == 408:
            problem = f"{url}: answers {reason}{self._explanation(text)}"
            raise BusyServerError(problem, _retry_after(reply.headers.get("Retry-After")), reply.status_code)
        if reply.status_code != 200:
            location = reply.headers.get("Location", "")
            moved = f" to {hide(location)}; name that address" if location else ""
            problem = f"{url}: answers {reason}{moved}{self._explanation(text)}"
            remedy = f"; {_REMEDIES[reply.status_code]}" if reply.status_code in _REMEDIES else ""
            raise RefusedRequestError(problem + remedy, reply.status_code)
        try:
            return self._hidden.hide_in_reply(json.loads(text))
        except (ValueError, RecursionError):
            shown = shortened(hide(text[:_EXPLAINED]))
            remedy = f"; {_OTHER_ADDRESS}" if shown.lstrip().startswith("<") else ""  # a page for people
            raise BusyServerError(f"{url}: the reply is not JSON: {shown!r}{remedy}", status=200) from None

    def hide_key(self, text: str) -> str:
        """A text for a message, without the key."""
        return self._hidden.hide(text)

    def _read_text(self, reply: requests.Response, url: str) -> str:
        """The text of a reply; raises BusyServerError if it is too long or takes too long."""
        content, end = bytearray(), time.monotonic() + self.reply_seconds
        problem = None
        try:
            while problem is None and (chunk := reply.raw.read1(_CHUNK, decode_content=True)):
                content += chunk
                if len(content) > MOST_BYTES:
                    problem = f"the reply has more than {MOST_BYTES:,} bytes"
                elif time.monotonic() > end:
                    problem = f"the reply is not complete after {self.reply_seconds:g} seconds"
        except urllib3.exceptions.HTTPError as error:
            problem = self._describe(error)
        if problem:
            raise BusyServerError(f"{url}: {problem}", status=reply.status_code)
        return content.decode("utf-8", "replace")

    def _explanation(self, text: str) -> str:
        text = " ".join(self.hide_key(text[:_EXPLAINED]).split())
        return f": {text[:300]}" if text else ""

    def _describe(self, error: Exception) -> str:
        if isinstance(error, requests.ConnectTimeout):
            return f"does not accept a connection within {self.timeouts[0]:g} seconds"
        if isinstance(error, requests.Timeout | urllib3.exceptions.ReadTimeoutError):
            return f"sends nothing for {self.timeouts[1]:g} seconds"
        cause = re.search(_CAUSES, str(error))
        return cause[0].lower() if cause else f"the connection was lost ({shortened(self.hide_key(str(error)))})"


def _leave_headers(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _retry_after(value: str | None) -> float | None:
    """The seconds in the header Retry-After, which may also be a date; at most `MAX_WAIT`."""
    if value is None:
        return None
    seconds = None
    with suppress(ValueError):
        seconds = float(value)
    if seconds is None:
        with suppress(TypeError, ValueError, OverflowError):
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
    return None if seconds is None or seconds != seconds else min(max(0.0, seconds), MAX_WAIT)
