"""LibreTranslate's API: texts, languages, files, corrections, and its specification."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from dataclasses import asdict
from typing import Any
from urllib.parse import quote_plus, unquote_plus

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response

from dragoman.documents.formats import DOCUMENT_FORMATS
from dragoman.languages.codes import language_name
from dragoman.serving.errors import RequestError
from dragoman.serving.limits import while_connected
from dragoman.serving.models import Route
from dragoman.serving.parameters import Parameters, is_text, read_parameters
from dragoman.serving.service import service_of
from dragoman.serving.texts import TEXT_FORMATS, TranslatedText, read_words
from dragoman.serving.uploads import FileRequest, take_slot, translate_upload
from dragoman.system.version import __version__
from dragoman.text.match import NO_MATCH
from dragoman.text.normalization import find_control

AUTO = "auto"

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


async def translate_libretranslate(request: Request) -> JSONResponse:
    """POST /translate."""
    service, parameters = service_of(request), await read_parameters(request)
    client = service.admit(request, parameters.text("api_key"))
    texts, shape = _read_texts(parameters)
    source, target = (require_parameter(parameters, name) for name in ("source", "target"))
    text_format = parameters.text("format", "text")
    if text_format not in TEXT_FORMATS:
        raise RequestError(400, f"{text_format} format is not supported")
    alternatives = _read_alternatives(parameters["alternatives"], service.settings.alternatives)
    service.require_size(texts)
    given = "" if source.lower() == AUTO else source
    routes, detected = await service.find_routes(given, target, texts, text_format)
    translated = await service.translate(request, routes, texts, TEXT_FORMATS[text_format], client)
    shown = alternatives if text_format == "text" else 0
    return JSONResponse(shape.reply(_describe(translated, detected, routes, shown)))


async def detect_language(request: Request) -> JSONResponse:
    """POST /detect. Several texts count by their lengths."""
    service, parameters = service_of(request), await read_parameters(request)
    service.admit(request, parameters.text("api_key"))
    texts, _ = _read_texts(parameters)
    service.require_size(texts)
    words = [await read_words([text], "text") for text in texts]
    confidences: dict[str, float] = defaultdict(float)
    for text in words:
        for language, confidence in service.detector.detect(text):
            confidences[language] += confidence * max(1, len(text)) / sum(max(1, len(each)) for each in words)
    return JSONResponse(
        [
            _detected(language, confidence)
            for language, confidence in sorted(confidences.items(), key=lambda each: -each[1])
        ]
    )


async def list_languages(request: Request) -> JSONResponse:
    """GET /languages: also those that are only targets, because some clients read all codes from this list.

    Their list of targets is empty. No client needs a language as its own target: Mastodon removes it, Weblate reads the
    codes only.
    """
    service = service_of(request)
    models = service.models
    return JSONResponse(
        [{"code": code, "name": language_name(code), "targets": models.targets(code)} for code in models.languages]
    )


async def frontend_settings(request: Request) -> JSONResponse:
    """GET /frontend/settings."""
    service = service_of(request)
    settings, first = service.settings, service.models.models[0]
    return JSONResponse(
        {
            "charLimit": settings.characters,
            "frontendTimeout": 500,
            "apiKeys": settings.require_keys,
            "keyRequired": settings.require_keys,
            "suggestions": settings.corrections > 0,
            "filesTranslation": True,
            "supportedFilesFormat": list(DOCUMENT_FORMATS),
            "language": {
                "source": {"code": first.source, "name": language_name(first.source)},
                "target": {"code": first.target, "name": language_name(first.target)},
            },
        }
    )


async def translate_file(request: Request) -> JSONResponse:
    """POST /translate_file."""
    service, parameters = service_of(request), await read_parameters(request)
    client = service.admit(request, parameters.text("api_key"))
    file = parameters.file("file")
    if file is None:
        raise RequestError(400, "Invalid request: empty file")
    source, target = (require_parameter(parameters, name) for name in ("source", "target"))
    asked = FileRequest(file, "" if source.lower() == AUTO else source, target, client)
    work = translate_upload(service, await take_slot(service, asked), asked)
    token = await while_connected(request, work, service.settings.document_seconds)
    base = (service.settings.public_url or str(request.base_url)).rstrip("/")
    return JSONResponse({"translatedFileUrl": base + request.app.url_path_for("download_file", token=token)})


async def download_file(request: Request) -> Response:
    """GET /download_file/NAME."""
    download = service_of(request).downloads.get(request.path_params["token"])
    return FileResponse(download.path, filename=download.name)


async def suggest_translation(request: Request) -> JSONResponse:
    """POST /suggest."""
    service, parameters = service_of(request), await read_parameters(request)
    service.admit(request, parameters.text("api_key"))
    if not service.settings.corrections:
        raise RequestError(403, "Suggestions are disabled on this server.")
    text, translation, source, target = (require_parameter(parameters, name) for name in ("q", "s", "source", "target"))
    service.require_size([text, translation])
    for name, value in (("q", text), ("s", translation)):
        if not value.strip():
            raise RequestError(400, f"Invalid request: {name} is blank")
        if find_control(value) is not None:
            raise RequestError(400, f"Invalid request: {name} contains a control character")
    languages = service.language(source), service.language(target)
    await asyncio.to_thread(service.corrections.add, languages, text, translation)
    return JSONResponse({"success": True})


async def show_specification(request: Request) -> JSONResponse:
    """The specification of all operations."""
    paths = {
        path: {method: _describe_operation(summary, required, optional)}
        for path, method, summary, required, optional in _OPERATIONS
    }
    info = {"title": "dragoman", "version": __version__}
    return JSONResponse({"swagger": "2.0", "info": info, "basePath": "/", "paths": paths})


async def redirect_to_specification(request: Request) -> Response:
    """GET /docs."""
    return RedirectResponse("spec")


def _describe_operation(summary: str, required: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
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


class _ReplyShape:
    """How the texts of a request were given, and therefore how their translations are returned."""

    def __init__(self, is_list: bool, encoded: bool = False) -> None:
        self._is_list, self._encoded = is_list, encoded

    def reply(self, columns: dict[str, list[Any]]) -> dict[str, Any]:
        """The reply: lists for a list, otherwise the value for the only text."""
        if not self._is_list:
            return {name: values[0] for name, values in columns.items() if values[0] is not None}
        reply: dict[str, Any] = {
            name: values for name, values in columns.items() if any(each is not None for each in values)
        }
        if self._encoded:
            reply["translatedText"] = quote_plus(json.dumps(reply["translatedText"]))
        return reply


def _read_texts(parameters: Parameters) -> tuple[list[str], _ReplyShape]:
    """The texts to translate: a list also if fields are repeated.

    PHP's client sends a list as JSON in one URL-encoded string, and expects the same.
    """
    q = parameters.all("q") if parameters.is_repeated("q") else parameters["q"]
    if isinstance(q, str) and q.startswith("%5B%22"):
        try:
            q, encoded = json.loads(unquote_plus(q)), True
        except (ValueError, RecursionError):
            encoded = False
    else:
        encoded = False
    if q is None or q == []:
        raise RequestError(400, "Invalid request: missing q parameter")
    texts = q if isinstance(q, list) else [q]
    if not all(isinstance(text, str) for text in texts):
        raise RequestError(400, "Invalid request: q must be a string or a list of strings")
    if not is_text(texts):
        raise RequestError(400, "Invalid request: q must be text, without lone surrogates")
    return texts, _ReplyShape(isinstance(q, list), encoded)


def require_parameter(parameters: Parameters, name: str) -> str:
    """A parameter that must be given.

    Raises:
        RequestError: It is missing.
    """
    value = parameters.text(name)
    if not value:
        raise RequestError(400, f"Invalid request: missing {name} parameter")
    return value


def _read_alternatives(value: Any, limit: int) -> int:
    try:
        number = max(0, int("0" if value in (None, "") else str(value)))  # refuses true and 2.7, unlike int alone
    except ValueError:
        raise RequestError(400, "Invalid request: alternatives parameter is not a number") from None
    if number > limit:
        raise RequestError(400, f"Invalid request: alternatives parameter must be <= {limit}")
    return number


def _describe(
    translated: list[TranslatedText], detected: list[tuple[str, float]], routes: list[Route], alternatives: int
) -> dict[str, list[Any]]:
    """The values of the reply for every text; None for those that are left out."""
    count = len(translated)
    problems = [list(each.problems) for each in translated]
    matches = [each.match != NO_MATCH for each in translated]
    return {
        "translatedText": [each.text for each in translated],
        "detectedLanguage": [_detected(*each) for each in detected],
        "alternatives": [list(each.alternatives[:alternatives]) if alternatives else None for each in translated],
        "problems": problems if any(problems) else [None] * count,
        "match": [asdict(each.match) for each in translated] if any(matches) else [None] * count,
        "confidence": [each.confidence for each in translated],
        "pivot": [route[0].target if len(route) > 1 else None for route in routes],
    }


def _detected(language: str, confidence: float) -> dict[str, Any]:
    return {"confidence": round(100 * confidence, 1), "language": language}
