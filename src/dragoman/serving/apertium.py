"""Apertium's API, which OmegaT, Okapi and Virtaal use."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from dragoman.serving.errors import RequestError
from dragoman.serving.parameters import read_parameters
from dragoman.serving.service import service_of
from dragoman.serving.texts import TEXT_FORMATS

_FORMATS = {"text": "text", "txt": "text", "html": "html"}
"""The names of `TEXT_FORMATS` in this API."""


async def translate_apertium(request: Request) -> JSONResponse:
    """GET /translate, and GET or POST /json/translate, with `langpair`."""
    service, parameters = service_of(request), await read_parameters(request)
    if request.scope["path"] == "/translate" and not is_apertium(request):
        raise HTTPException(405, headers={"Allow": "POST"})
    client = service.admit(request, parameters.text("key"))
    source, separator, target = parameters.text("langpair").partition("|")
    if not separator:
        raise RequestError(400, "langpair must be two languages, such as en|es")
    if parameters["q"] is None:
        raise RequestError(400, "Missing argument q")
    text_format = parameters.text("format") or "text"
    if text_format not in _FORMATS:
        raise RequestError(400, f"format {text_format} is not supported; choose one of {', '.join(_FORMATS)}")
    open_text = TEXT_FORMATS[_FORMATS[text_format]]
    texts = [parameters.text("q")]
    service.require_size(texts)
    route = service.route(source, target)
    (translated,) = await service.translate(request, [route], texts, open_text, client)
    data: dict[str, object] = {"translatedText": translated.text}
    if len(route) > 1:
        data["pivot"] = route[0].target
    return JSONResponse({"responseData": data, "responseDetails": None, "responseStatus": 200})


def is_apertium(request: Request) -> bool:
    """Whether a request to /translate is one of Apertium, not of LibreTranslate."""
    return request.method in ("GET", "HEAD") and "langpair" in request.query_params


async def list_pairs(request: Request) -> JSONResponse:
    """GET /listPairs."""
    models = service_of(request).models
    pairs = [
        {"sourceLanguage": source, "targetLanguage": target}
        for source in models.sources
        for target in models.targets(source)
    ]
    return JSONResponse({"responseData": pairs, "responseDetails": None, "responseStatus": 200})
