"""The application: which path is answered by what."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from dragoman.serving.errors import RequestError
from dragoman.serving.libretranslate import (
    detect_language,
    frontend_settings,
    list_languages,
    translate_libretranslate,
)
from dragoman.serving.limits import LimitBodies
from dragoman.serving.operations import health, health_live, health_ready
from dragoman.serving.service import Service

ROUTES: Sequence[BaseRoute] = (
    Route("/translate", translate_libretranslate, methods=["POST"]),
    Route("/detect", detect_language, methods=["POST"]),
    Route("/languages", list_languages, methods=["GET"]),
    Route("/frontend/settings", frontend_settings, methods=["GET"]),
    Route("/health", health, methods=["GET"]),
    Route("/health/live", health_live, methods=["GET"]),
    Route("/health/ready", health_ready, methods=["GET"]),
)
UPLOADS = ("/translate_file", "/v2/document")
"""Paths to which files are sent."""


def build_app(service: Service, on_start: Callable[[], None] = lambda: None) -> Starlette:
    """The application that answers requests with a service.

    Args:
        service: Translates.
        on_start: Called in the event loop when the server starts.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service.scheduler.start()
        on_start()
        yield
        service.scheduler.close()

    app = Starlette(
        routes=ROUTES,
        middleware=[
            Middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"]),
            Middleware(LimitBodies, settings=service.settings, uploads=UPLOADS),
        ],
        exception_handlers={RequestError: _refuse, HTTPException: _refuse_by_route},
        lifespan=lifespan,
    )
    app.state.service = service
    return app


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return JSONResponse(_body(request, error.status, error.message), error.status, error.headers)


async def _refuse_by_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse(_body(request, error.status_code, error.detail), error.status_code, error.headers)


def _body(request: Request, status: int, message: str) -> dict[str, object]:
    """An error in the form of the protocol."""
    return {"message": message} if request.url.path.startswith("/v2/") else {"error": message}
