"""The parameters of a request, wherever its client puts them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl

from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from dragoman.errors import shortened
from dragoman.serving.documents import Upload
from dragoman.serving.errors import RequestError
from dragoman.serving.limits import MULTIPART
from dragoman.serving.service import KEY_PARAMETERS, Service, service_of, stated_key

MAX_FIELDS = 10_000
MAX_BYTES = 2**40
"""Of a part of a form; `LimitBodies` limits the whole."""

_SPOOLED = 65_536  # bytes of a file that stay in memory while it arrives
_CHARSETS = ("utf-8", "utf8", "latin-1", "iso-8859-1")
_INVALID_JSON = "Invalid JSON format"


class Parameters:
    """Values by name, each a string or any value in JSON; a name may occur several times.

    Args:
        body: What the body contains.
        query: What the query contains; a name with other values in the body is refused when it is read.
    """

    def __init__(self, body: Iterable[tuple[str, Any]], query: Iterable[tuple[str, Any]] = ()) -> None:
        stated, others = _by_name(body), _by_name(query)
        self._values = others | stated
        self._conflicts = {name for name in stated.keys() & others.keys() if stated[name] != others[name]}

    def __getitem__(self, name: str) -> Any:
        """The value, or None.

        Raises:
            RequestError: There are several different ones, of which all but one would be lost.
        """
        first, *others = self._find(name) or [None]
        if any(value != first for value in others):
            raise RequestError(400, f"Invalid request: {name} is repeated; send one value")
        return first

    def is_repeated(self, name: str) -> bool:
        """Whether there are several values."""
        return len(self._find(name)) > 1

    def text(self, name: str, default: str = "") -> str:
        """The value, or the default if there is none.

        Raises:
            RequestError: It is not a string, or there are several.
        """
        value = self[name]
        return default if value is None else _require_string(name, value)

    def texts(self, name: str) -> list[str]:
        """All values, see `all`; raises RequestError if one is not a string."""
        return [_require_string(name, value) for value in self.all(name)]

    def all(self, name: str) -> list[Any]:
        """All values: those of repeated fields, or the items of a list."""
        values = self._find(name)
        return list(values[0]) if len(values) == 1 and isinstance(values[0], list) else values

    def file(self, name: str) -> Upload | None:
        """An uploaded file."""
        value = self[name]
        return value if isinstance(value, Upload) else None

    def _find(self, name: str) -> list[Any]:
        if name in self._conflicts:
            raise RequestError(400, f"Invalid request: {name} is repeated, in the address and the body; send it once")
        return self._values.get(name, [])


def _by_name(pairs: Iterable[tuple[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for name, value in pairs:
        if value is not None:
            found.setdefault(name, []).append(value)
    return found


def _require_string(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise RequestError(400, f"Invalid request: {name} must be a string")
    return value


async def read_parameters(request: Request) -> Parameters:
    """The parameters in the body (JSON, or a form of either kind), then those in the query.

    Raises:
        RequestError: The body cannot be read, or the request is refused before that.
    """
    service = service_of(request)
    service.admit_head(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    query = _parse_form(request.scope["query_string"], "Invalid query")
    if kind.endswith("/json") or kind.endswith("+json"):
        return Parameters(_parse_json(await request.body()), query)
    if kind == MULTIPART:
        return Parameters(await _read_multipart(request, service), query)
    return Parameters(_parse_form(await request.body()), query)


async def _read_multipart(request: Request, service: Service) -> list[tuple[str, Any]]:
    """The fields of a form. If the server requires a key, large files are read only after it."""
    _, options = parse_options_header(request.headers["content-type"])
    charset = options.get(b"charset", b"utf-8").decode("latin-1").lower()
    if charset not in _CHARSETS:
        raise RequestError(400, "Invalid form data: the charset must be UTF-8")
    if not (boundary := options.get(b"boundary", b"").decode("latin-1")):
        raise RequestError(400, "Invalid form data: the boundary is missing")
    # The parser would read text that is not in the charset as Latin-1, which represents all bytes.
    headers = Headers({"content-type": f'{MULTIPART}; charset=latin-1; boundary="{boundary}"'})

    async def read_chunks(count: Callable[[int], None]) -> AsyncGenerator[bytes, None]:
        length = 0
        async for chunk in request.stream():
            yield chunk
            length += len(chunk)
            if length > service.settings.body_bytes:
                fields = [value for name, value in parser.items if name in KEY_PARAMETERS and isinstance(value, str)]
                service.require_key(stated_key(request) or next(iter(fields), ""))
                count(length)

    with service.documents.arriving() as count:
        parser = MultiPartParser(headers, read_chunks(count), max_fields=MAX_FIELDS, max_part_size=MAX_BYTES)
        parser.spool_max_size = _SPOOLED
        try:
            form = await parser.parse()
        except MultiPartException as error:
            raise RequestError(400, error.message) from None
        try:
            return [(_decode(name, charset), await _content(value, charset)) for name, value in form.multi_items()]
        finally:
            await form.close()


async def _content(value: str | UploadFile, charset: str) -> str | Upload | None:
    if isinstance(value, str):
        return _decode(value, charset)
    name = _decode(value.filename or "", charset).strip()
    return Upload(name, await value.read()) if name else None


def _decode(text: str, charset: str) -> str:
    """A part of a form that was read as Latin-1."""
    try:
        return text.encode("latin-1").decode(charset)
    except UnicodeDecodeError:
        raise RequestError(400, f"Invalid form data: it is not in {charset.upper()}") from None


def _parse_form(body: bytes, error: str = "Invalid form data") -> Iterable[tuple[str, Any]]:
    """The fields of a form or query; some clients send UTF-8 without encoding it as the type of a form demands."""
    try:
        return parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:
        raise RequestError(400, error) from None


def _parse_json(body: bytes) -> Iterable[tuple[str, Any]]:
    if not body.strip():
        return ()
    try:
        document = json.loads(body, object_pairs_hook=_read_object)
        has_text = is_text(document)
    except (ValueError, RecursionError):
        raise RequestError(400, _INVALID_JSON) from None
    if not (isinstance(document, dict) and has_text):
        raise RequestError(400, _INVALID_JSON)
    return document.items()


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in JSON; if a name is repeated, all but one of its values would be lost."""
    document = dict(pairs)
    if len(document) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        repeated = next(name for name, count in counts.items() if count > 1)
        raise RequestError(400, f"{_INVALID_JSON}: {shortened(json.dumps(repeated))} is repeated")
    return document


def is_text(document: Any) -> bool:
    """Whether the strings in a JSON document are text: lone surrogates are not."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
