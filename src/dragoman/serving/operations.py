"""What operators ask: whether the server works, and how much it does."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dragoman.serving.errors import RequestError
from dragoman.serving.service import service_of


async def health(request: Request) -> Response:
    """GET /health, exactly as LibreTranslate answers it."""
    return JSONResponse({"status": "ok"})


async def health_live(request: Request) -> Response:
    """GET /health/live: the process answers."""
    return JSONResponse({"status": "ok"})


async def health_ready(request: Request) -> Response:
    """GET /health/ready: models are loaded, and the server is not being stopped.

    It opens its port only when models are loaded, and answers with the earlier ones while it loads them again.
    """
    if service_of(request).is_stopping:
        raise RequestError(503, "The server is being stopped.", 1)
    return JSONResponse({"status": "ok"})


async def show_metrics(request: Request) -> Response:
    """GET /metrics, for Prometheus."""
    return Response(service_of(request).metrics.text(), media_type="text/plain; version=0.0.4")
