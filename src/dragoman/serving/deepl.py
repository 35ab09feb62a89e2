"""DeepL's API, version 2: texts, languages and usage."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from dragoman.languages.codes import language_name
from dragoman.serving.deepl_markup import read_markup
from dragoman.serving.detection import UNKNOWN
from dragoman.serving.errors import RequestError
from dragoman.serving.keys import hash_key
from dragoman.serving.models import Route
from dragoman.serving.parameters import Parameters, read_parameters
from dragoman.serving.service import Service, service_of, stated_key
from dragoman.serving.texts import Client, TranslatedText, open_plain_text
from dragoman.text.glossary import Glossary

_NO_LIMIT = 10**12  # characters; clients stop if they have used as many as are allowed


async def translate_deepl(request: Request) -> JSONResponse:
    """POST /v2/translate."""
    service, parameters = service_of(request), await read_parameters(request)
    client = admit_deepl(service, request, parameters)
    texts = parameters.all("text")
    if not texts or not all(isinstance(text, str) for text in texts):
        raise RequestError(400, "Parameter 'text' not specified.")
    service.require_size(texts)
    markup = parameters.text("tag_handling")
    if markup not in ("", "html", "xml"):
        raise RequestError(400, f"Value for 'tag_handling' not supported: {markup}")
    text_format = "html" if markup else "text"
    open_text = read_markup(parameters) if markup else open_plain_text
    source = parameters.text("source_lang")
    if source:
        detected = [service.language(source)] * len(texts)
    else:
        detected = [language for language, _ in await service.detect_each(texts, text_format)]
    routes = [deepl_route(service, language, parameters) for language in detected]
    glossary = await find_glossary(request, parameters, routes)
    translated = await service.translate(request, routes, texts, open_text, client, glossary)
    replies = [
        {
            "detected_source_language": detected[place].upper(),
            "billed_characters": len(text),
            **_describe(translated[place], routes[place]),
        }
        for place, text in enumerate(texts)
    ]
    return JSONResponse({"translations": replies})


def _describe(result: TranslatedText, route: Route) -> dict[str, Any]:
    """The translation of a text, and what is known of it."""
    reply: dict[str, Any] = {"text": result.text}
    if result.problems:
        reply["problems"] = list(result.problems)
    if result.confidence is not None:
        reply["confidence"] = result.confidence
    if result.terms:
        reply["terms"] = [asdict(term) for term in result.terms]
    if len(route) > 1:
        reply["pivot"] = route[0].target
    return reply


async def list_languages_deepl(request: Request) -> JSONResponse:
    """GET or POST /v2/languages."""
    service, parameters = service_of(request), await read_parameters(request)
    admit_deepl(service, request, parameters)
    models = service.models
    targets = [language for language in models.languages if any(language in models.targets(s) for s in models.sources)]
    if parameters.text("type", "source") == "target":
        return JSONResponse([{**_named(code), "supports_formality": False} for code in targets])
    return JSONResponse([_named(code) for code in models.sources])


async def show_usage(request: Request) -> JSONResponse:
    """GET or POST /v2/usage: nothing is counted."""
    admit_deepl(service_of(request), request, await read_parameters(request))
    return JSONResponse({"character_count": 0, "character_limit": _NO_LIMIT})


def admit_deepl(service: Service, request: Request, parameters: Parameters) -> Client:
    """Check the key in the header or in the parameters; DeepL answers missing keys as wrong ones.

    Raises:
        RequestError: The key is missing or wrong, or there are too many requests.
    """
    key = _read_key(request, parameters)
    try:
        return service.admit(request, key)
    except RequestError as error:
        raise RequestError(403, error.message) if error.status == 400 else error from None


def _read_key(request: Request, parameters: Parameters) -> str:
    return stated_key(request) or parameters.text("auth_key").strip()


def glossary_owner(request: Request, parameters: Parameters) -> str:
    """Whose glossaries a request means: those of its key, also if the server requires no keys.

    Raises:
        RequestError: There is no key.
    """
    if not (key := _read_key(request, parameters)):
        raise RequestError(403, "Glossaries belong to a key; send any key with your requests.")
    return hash_key(key)


async def find_glossary(request: Request, parameters: Parameters, routes: Sequence[Route]) -> Glossary | None:
    """The glossary that a request asks for.

    Raises:
        RequestError: There is no such glossary, or it is for other languages than those of the models.
    """
    if not (number := parameters.text("glossary_id")):
        return None
    owner = glossary_owner(request, parameters)
    stored = await asyncio.to_thread(service_of(request).glossaries.find, owner, number)
    for route in routes:
        if [(model.source, model.target) for model in route] != [(stored.source, stored.target)]:
            raise RequestError(
                400, f"The glossary needs texts from {stored.source} to {stored.target}, and one model for them."
            )
    return await asyncio.to_thread(stored.glossary)


def deepl_route(service: Service, source: str, parameters: Parameters) -> Route:
    """The models for a text; none if its language is unknown, so that it is returned unchanged.

    Raises:
        RequestError: The target language is missing or not served.
    """
    target = parameters.text("target_lang")
    if not target:
        raise RequestError(400, "Parameter 'target_lang' not specified.")
    if source == UNKNOWN:
        service.language(target)
        return ()
    return service.route(source, target)


def _named(code: str) -> dict[str, Any]:
    return {"language": code.upper(), "name": language_name(code)}
