"""GET /spec: LibreTranslate's protocol in the format of Swagger 2.0, for programs that generate clients."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from dragoman.system.version import __version__

_OPERATIONS = (
    ("/translate", "post", "Translate texts", ("q", "source", "target"), ("format", "alternatives", "api_key")),
    ("/detect", "post", "Detect the language of a text", ("q",), ("api_key",)),
    ("/languages", "get", "List the languages that are served", (), ()),
    ("/frontend/settings", "get", "Show limits and defaults", (), ()),
    ("/translate_file", "post", "Translate a file", ("file", "source", "target"), ("api_key",)),
    ("/suggest", "post", "Suggest a translation", ("q", "s", "source", "target"), ("api_key",)),
    ("/health", "get", "Show whether the server works", (), ()),
)
"""Path, method, summary, required and optional parameters."""

_STATUSES = {
    "200": "The reply",
    "400": "Invalid request",
    "403": "Wrong key",
    "429": "Too many requests",
    "503": "Busy",
}


async def show_specification(request: Request) -> JSONResponse:
    """The specification of all operations."""
    paths = {
        path: {method: _describe(summary, required, optional)}
        for path, method, summary, required, optional in _OPERATIONS
    }
    info = {"title": "dragoman", "version": __version__}
    return JSONResponse({"swagger": "2.0", "info": info, "basePath": "/", "paths": paths})


async def redirect_to_specification(request: Request) -> Response:
    """GET /docs."""
    return RedirectResponse("spec")


def _describe(summary: str, required: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
    parameters = [
        {
            "name": name,
            "in": "formData",
            "type": {"file": "file", "alternatives": "integer"}.get(name, "string"),
            "required": name in required,
        }
        for name in (*required, *optional)
    ]
    responses = {status: {"description": meaning} for status, meaning in _STATUSES.items()}
    consumes = "multipart/form-data" if "file" in required else "application/x-www-form-urlencoded"
    return {"summary": summary, "consumes": [consumes], "parameters": parameters, "responses": responses}
