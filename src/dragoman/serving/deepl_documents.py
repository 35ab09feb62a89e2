"""DeepL's API, version 2: documents, which are translated while the client asks for their state."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from dragoman.serving.deepl import admit_deepl, find_glossary
from dragoman.serving.documents import UploadedDocument
from dragoman.serving.downloads import LIFETIME, translated_name
from dragoman.serving.errors import RequestError
from dragoman.serving.parameters import read_parameters
from dragoman.serving.service import Service, service_of

_DETECTED_BYTES = 10_000


async def upload_document(request: Request) -> JSONResponse:
    """POST /v2/document."""
    service, parameters = service_of(request), await read_parameters(request)
    client = admit_deepl(service, request, parameters)
    file = parameters.file("file")
    if file is None:
        raise RequestError(400, "Parameter 'file' not specified.")
    target = parameters.text("target_lang")
    if not target:
        raise RequestError(400, "Parameter 'target_lang' not specified.")
    source = parameters.text("source_lang") or service.detect([file.data[:_DETECTED_BYTES].decode(errors="ignore")])[0]
    route = service.route(source, target)
    glossary = await find_glossary(request, parameters, [route])
    name = parameters.text("filename") or file.name
    work = service.documents.translate(route, file.data, name, client.name, glossary)
    translation = _store(service, work, translated_name(name, route[-1].target if route else ""))
    document = UploadedDocument(secrets.token_urlsafe(24), asyncio.create_task(translation))
    number = secrets.token_hex(16).upper()
    service.uploads[number] = document
    asyncio.get_running_loop().call_later(LIFETIME, service.uploads.pop, number, None)
    return JSONResponse({"document_id": number, "document_key": document.key})


async def document_state(request: Request) -> JSONResponse:
    """GET or POST /v2/document/ID."""
    document = await _find(request)
    return JSONResponse({"document_id": request.path_params["number"], **document.state()})


async def download_document(request: Request) -> Response:
    """GET or POST /v2/document/ID/result."""
    document, service = await _find(request), service_of(request)
    if not document.task.done():
        raise RequestError(503, "The document is not translated yet.", 1)
    if document.task.exception():
        raise RequestError(404, "The document could not be translated.")
    download = service.downloads.get(document.task.result())
    return FileResponse(download.path, filename=download.name)


async def _store(service: Service, work: Awaitable[bytes], name: str) -> str:
    return await service.downloads.add(await work, name)


async def _find(request: Request) -> UploadedDocument:
    service, parameters = service_of(request), await read_parameters(request)
    admit_deepl(service, request, parameters)
    document = service.uploads.get(request.path_params["number"])
    if document is None or not hmac.compare_digest(document.key.encode(), parameters.text("document_key").encode()):
        raise RequestError(404, "Document not found")
    return document
