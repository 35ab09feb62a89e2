"""The application: which path is answered by what, errors in the form of each protocol, and health."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from http.client import responses

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from dragoman.serving.apertium import is_apertium, list_pairs, translate_apertium
from dragoman.serving.deepl import (
    create_glossary,
    delete_glossary,
    document_state,
    download_document,
    list_entries,
    list_glossaries,
    list_glossary_pairs,
    list_languages_deepl,
    show_glossary,
    show_usage,
    translate_deepl,
    upload_document,
)
from dragoman.serving.errors import RequestError
from dragoman.serving.libretranslate import (
    detect_language,
    download_file,
    frontend_settings,
    list_languages,
    redirect_to_specification,
    show_specification,
    suggest_translation,
    translate_file,
    translate_libretranslate,
)
from dragoman.serving.limits import LimitBodies
from dragoman.serving.monitoring import ObserveRequests
from dragoman.serving.page.files import show_page
from dragoman.serving.page.requests import inspect_sentence, replace_word, translate_words
from dragoman.serving.service import Service, service_of


async def health(request: Request) -> Response:
    """GET /health, exactly as LibreTranslate answers it, and GET /health/live: the process answers."""
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


_GET_OR_POST = ["GET", "POST"]
ROUTES: Sequence[BaseRoute] = (
    Route("/translate", translate_libretranslate, methods=["POST"]),
    Route("/translate", translate_apertium, methods=["GET"]),
    Route("/detect", detect_language, methods=["POST"]),
    Route("/languages", list_languages),
    Route("/frontend/settings", frontend_settings),
    Route("/suggest", suggest_translation, methods=["POST"]),
    Route("/translate_file", translate_file, methods=["POST"]),
    Route("/download_file/{token}", download_file, name="download_file"),
    Route("/json/translate", translate_apertium, methods=_GET_OR_POST),
    Route("/listPairs", list_pairs),
    Route("/v2/translate", translate_deepl, methods=["POST"]),
    Route("/v2/languages", list_languages_deepl, methods=_GET_OR_POST),
    Route("/v2/usage", show_usage, methods=_GET_OR_POST),
    Route("/v2/glossaries", list_glossaries),
    Route("/v2/glossaries", create_glossary, methods=["POST"]),
    Route("/v2/glossaries/{number}", show_glossary),
    Route("/v2/glossaries/{number}", delete_glossary, methods=["DELETE"]),
    Route("/v2/glossaries/{number}/entries", list_entries),
    Route("/v2/glossary-language-pairs", list_glossary_pairs),
    Route("/v2/document", upload_document, methods=["POST"]),
    Route("/v2/document/{number}", document_state, methods=_GET_OR_POST),
    Route("/v2/document/{number}/result", download_document, methods=_GET_OR_POST),
    Route("/", show_page),
    Route("/", health, methods=["POST"]),  # with which a client in PHP tests the connection
    Route("/page/translate", translate_words, methods=["POST"]),
    Route("/page/alternatives", replace_word, methods=["POST"]),
    Route("/page/inspect", inspect_sentence, methods=["POST"]),
    Route("/page/{name}", show_page),
    Route("/spec", show_specification),
    Route("/docs", redirect_to_specification),
    Route("/health", health),
    Route("/health/live", health),
    Route("/health/ready", health_ready),
    Route("/metrics", show_metrics),
)
APERTIUM_PATHS = ("/json/translate", "/listPairs")
"""Paths of Apertium alone; GET /translate is also one of LibreTranslate, which refuses it."""

UPLOADS = ("/translate_file", "/v2/document")
"""Paths to which files are sent."""


ANY_ORIGIN = Middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"])


def build_app(
    service: Service,
    on_start: Callable[[], None] = lambda: None,
    routes: Sequence[BaseRoute] = ROUTES,
    access: Middleware = ANY_ORIGIN,
) -> Starlette:
    """The application that answers requests with a service.

    Args:
        service: Translates.
        on_start: Called in the event loop when the server starts.
        routes: Which path is answered by what.
        access: Which pages may send requests and read the replies.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service.scheduler.start()
        on_start()
        yield
        service.close()

    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(ObserveRequests, metrics=service.metrics),
            access,
            Middleware(LimitBodies, settings=service.settings, uploads=UPLOADS),
        ],
        exception_handlers={
            RequestError: _refuse,
            HTTPException: _refuse_by_route,
            ClientDisconnect: _leave,
            Exception: _fail,
        },
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


async def _leave(request: Request, error: Exception) -> Response:
    """The client has disconnected while it sent the request: nobody reads this, but it is counted."""
    return Response(status_code=499)


async def _fail(request: Request, error: Exception) -> Response:
    return JSONResponse(_body(request, 500, "Internal server error"), 500)


def _body(request: Request, status: int, message: str) -> dict[str, object]:
    """An error in the form of the protocol."""
    path = request.scope["path"]
    if path.startswith("/v2/"):
        return {"message": message}
    if path in APERTIUM_PATHS or (path == "/translate" and is_apertium(request)):
        return {"status": "error", "code": status, "message": responses.get(status, ""), "explanation": message}
    return {"error": message}
