"""DeepL's API, version 2: texts, languages, usage, documents, which are translated while the client asks for their
state, and glossaries."""

from __future__ import annotations

import asyncio
import csv
import hmac
import io
import logging
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from dragoman.errors import UserError, shortened
from dragoman.languages.codes import language_name, primary_language
from dragoman.serving.deepl_markup import read_markup
from dragoman.serving.documents import DocumentSlot, Upload, UploadedDocument
from dragoman.serving.downloads import LIFETIME, SHARE
from dragoman.serving.errors import RequestError
from dragoman.serving.keys import hash_key
from dragoman.serving.models import Route
from dragoman.serving.parameters import Parameters, read_parameters
from dragoman.serving.segments import Client
from dragoman.serving.service import Service, service_of, stated_key
from dragoman.serving.storage import StoredGlossary, split_lines
from dragoman.serving.texts import TranslatedText, open_plain_text
from dragoman.serving.uploads import FileRequest, take_slot, translate_upload
from dragoman.text.glossary import Glossary, Term
from dragoman.text.word_forms import load_dictionaries

_NO_LIMIT = 10**12  # characters; clients stop if they have used as many as are allowed
_MOST_DOCUMENTS = 10_000  # whose state is remembered
_TSV = "text/tab-separated-values"
_LOG = logging.getLogger(__name__)


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
    source, target = parameters.text("source_lang"), _target(parameters)
    routes, detected = await service.find_routes(source, target, texts, text_format)
    glossary = await find_glossary(request, parameters, routes)
    translated = await service.translate(request, routes, texts, open_text, client, glossary)
    replies = [
        {
            "detected_source_language": detected[place][0].upper(),
            "billed_characters": len(text),
            **_describe_translation(translated[place], routes[place]),
        }
        for place, text in enumerate(texts)
    ]
    return JSONResponse({"translations": replies})


def _describe_translation(result: TranslatedText, route: Route) -> dict[str, Any]:
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
    if (kind := parameters.text("type", "source")) not in ("source", "target"):
        raise RequestError(400, f"Value for 'type' not supported: {kind}")
    if kind == "target":
        return JSONResponse([{**_named(code), "supports_formality": False} for code in targets])
    return JSONResponse([_named(code) for code in models.sources])


async def show_usage(request: Request) -> JSONResponse:
    """GET or POST /v2/usage: nothing is counted."""
    admit_deepl(service_of(request), request, await read_parameters(request))
    return JSONResponse({"character_count": 0, "character_limit": _NO_LIMIT})


async def upload_document(request: Request) -> JSONResponse:
    """POST /v2/document."""
    service, parameters = service_of(request), await read_parameters(request)
    client = admit_deepl(service, request, parameters)
    file = parameters.file("file")
    if file is None:
        raise RequestError(400, "Parameter 'file' not specified.")
    target = _target(parameters)
    if sum(each.client == client.name for each in service.uploads.values()) >= _MOST_DOCUMENTS // SHARE:
        raise RequestError(429, "Slowdown: too many of your documents are stored; try again later.", 60)
    if len(service.uploads) >= _MOST_DOCUMENTS:
        raise RequestError(503, "The server stores too many documents; try again later.", 60)
    named = Upload(parameters.text("filename") or file.name, file.data)
    source = parameters.text("source_lang")
    if parameters.text("glossary_id") and not source:
        raise RequestError(400, "A glossary needs the parameter 'source_lang'.")
    routes = [service.route(source, target)] if source else []
    asked = FileRequest(named, source, target, client, await find_glossary(request, parameters, routes))
    slot = await take_slot(service, asked)
    number, document = secrets.token_hex(16).upper(), UploadedDocument(client.name, secrets.token_urlsafe(24))
    service.uploads[number] = document
    task = asyncio.create_task(_translate_document(service, slot, asked, document))
    service.tasks.add(task)

    def finish(task: asyncio.Task[None]) -> None:
        service.tasks.discard(task)
        asyncio.get_running_loop().call_later(LIFETIME, service.uploads.pop, number, None)

    task.add_done_callback(finish)
    return JSONResponse({"document_id": number, "document_key": document.key})


async def document_state(request: Request) -> JSONResponse:
    """GET or POST /v2/document/ID."""
    document = await _find_document(request)
    return JSONResponse({"document_id": request.path_params["number"], **document.state()})


async def download_document(request: Request) -> Response:
    """GET or POST /v2/document/ID/result."""
    document, service = await _find_document(request), service_of(request)
    if document.message:
        raise RequestError(404, "The document could not be translated.")
    if not document.token:
        raise RequestError(503, "The document is not translated yet.", 1)
    download = service.downloads.get(document.token)
    document.fetched = True
    return FileResponse(download.path, filename=download.name)


async def create_glossary(request: Request) -> JSONResponse:
    """POST /v2/glossaries."""
    service, parameters = service_of(request), await read_parameters(request)
    client = admit_deepl(service, request, parameters)
    owner = glossary_owner(request, parameters)
    name, languages = parameters.text("name"), (parameters.text("source_lang"), parameters.text("target_lang"))
    if not (name and all(languages)):
        raise RequestError(400, "Parameters 'name', 'source_lang' and 'target_lang' are required.")
    source, target = (service.language(language) for language in languages)
    glossary = await asyncio.to_thread(_read_entries, parameters.text("entries"), parameters.text("entries_format"))
    stored = await asyncio.to_thread(
        service.glossaries.add, owner, hash_key(client.name), name, (source, target), glossary
    )
    loading = BackgroundTask(load_dictionaries, source, target)  # so that the first translation need not wait for it
    return JSONResponse(_describe_glossary(stored), 201, background=loading)


async def list_glossaries(request: Request) -> JSONResponse:
    """GET /v2/glossaries."""
    service, owner = await _admit(request)
    found = await asyncio.to_thread(service.glossaries.all, owner)
    return JSONResponse({"glossaries": [_describe_glossary(stored) for stored in found]})


async def show_glossary(request: Request) -> JSONResponse:
    """GET /v2/glossaries/ID."""
    return JSONResponse(_describe_glossary(await _find_glossary(request)))


async def list_entries(request: Request) -> Response:
    """GET /v2/glossaries/ID/entries."""
    return Response((await _find_glossary(request)).lines, media_type=_TSV)


async def delete_glossary(request: Request) -> Response:
    """DELETE /v2/glossaries/ID."""
    service, owner = await _admit(request)
    await asyncio.to_thread(service.glossaries.remove, owner, request.path_params["number"])
    return Response(status_code=204)


async def list_glossary_pairs(request: Request) -> JSONResponse:
    """GET /v2/glossary-language-pairs: those that one model translates."""
    service, _ = await _admit(request)
    pairs = [{"source_lang": model.source, "target_lang": model.target} for model in service.models.models]
    return JSONResponse({"supported_languages": pairs})


# ---- What requests have in common


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
        pairs = [(primary_language(model.source), primary_language(model.target)) for model in route]
        if pairs != [(primary_language(stored.source), primary_language(stored.target))]:
            through = f", but these go through {route[0].target}" if len(route) > 1 else ""
            raise RequestError(
                400,
                f"The glossary needs texts from {stored.source} to {stored.target}, and one model for them{through}.",
            )
    return await asyncio.to_thread(stored.glossary)


def _target(parameters: Parameters) -> str:
    if not (target := parameters.text("target_lang")):
        raise RequestError(400, "Parameter 'target_lang' not specified.")
    return target


def _named(code: str) -> dict[str, Any]:
    return {"language": code.upper(), "name": language_name(code)}


async def _translate_document(
    service: Service, slot: DocumentSlot, asked: FileRequest, document: UploadedDocument
) -> None:
    """Translate, and note only the result: an exception would keep the file in memory."""
    try:
        document.token = await translate_upload(service, slot, asked)
    except RequestError as error:
        document.message = error.message
    except Exception:
        _LOG.exception("a document could not be translated")
        document.message = "The document could not be translated."


async def _find_document(request: Request) -> UploadedDocument:
    service, parameters = service_of(request), await read_parameters(request)
    admit_deepl(service, request, parameters)
    document = service.uploads.get(request.path_params["number"])
    if document is None or not hmac.compare_digest(document.key.encode(), parameters.text("document_key").encode()):
        raise RequestError(404, "Document not found")
    return document


async def _admit(request: Request) -> tuple[Service, str]:
    """The service, and the owner of the glossaries."""
    service, parameters = service_of(request), await read_parameters(request)
    admit_deepl(service, request, parameters)
    return service, glossary_owner(request, parameters)


async def _find_glossary(request: Request) -> StoredGlossary:
    service, owner = await _admit(request)
    return await asyncio.to_thread(service.glossaries.find, owner, request.path_params["number"])


def _read_entries(entries: str, entries_format: str) -> Glossary:
    """The terms in tab-separated or comma-separated values.

    Raises:
        RequestError: They are damaged.
    """
    if entries_format not in ("tsv", "csv"):
        raise RequestError(400, "Parameter 'entries_format' must be 'tsv' or 'csv'.")
    try:
        glossary = _parse_csv(entries) if entries_format == "csv" else Glossary.parse(split_lines(entries))
    except (UserError, csv.Error) as error:
        raise RequestError(400, str(error)) from None
    if not glossary.terms:
        raise RequestError(400, "The glossary has no entries.")
    return glossary


def _parse_csv(entries: str) -> Glossary:
    """The glossary in comma-separated values, which may contain line breaks and tabs; languages may follow."""
    terms, places = [], []
    for number, row in enumerate(csv.reader(io.StringIO(entries, newline="")), start=1):
        columns = [" ".join(value.split()) for value in row[:2]]
        if len(columns) == 1 and columns[0]:
            shown = shortened(columns[0])
            raise UserError(f"glossary row {number}: expected a term, a comma and its translation, not {shown!r}")
        if any(columns):
            terms.append(Term(*columns))
            places.append(f"row {number}")
    return Glossary(terms, places)


def _describe_glossary(stored: StoredGlossary) -> dict[str, Any]:
    return {
        "glossary_id": stored.number,
        "name": stored.name,
        "ready": True,
        "source_lang": primary_language(stored.source),  # as in DeepL: clients compare them without regions
        "target_lang": primary_language(stored.target),
        "creation_time": stored.created,
        "entry_count": stored.terms,
    }
