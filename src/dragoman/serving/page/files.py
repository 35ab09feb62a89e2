"""The files of the page, with a policy that allows nothing else."""

from __future__ import annotations

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse

from dragoman.system.translation_page import SHARED_FILES

_OWN_FILES = (path for path in Path(__file__).parent.iterdir() if path.suffix in (".html", ".js"))
_FILES = {path.name: path for path in (*_OWN_FILES, *SHARED_FILES)}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


async def show_page(request: Request) -> FileResponse:
    """GET / and GET /page/NAME.

    Raises:
        HTTPException: There is no such file.
    """
    path = _FILES.get(request.path_params.get("name", "index.html"))
    if path is None:
        raise HTTPException(404, "Not Found")
    return FileResponse(path, headers=_HEADERS)
