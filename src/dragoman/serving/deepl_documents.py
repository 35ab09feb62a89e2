"""DeepL's API, version 2: documents, which are translated while the client asks for their state."""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from dragoman.serving.deepl import admit_deepl, find_glossary
from dragoman.serving.documents import DocumentSlot, Upload, UploadedDocument
from dragoman.serving.downloads import LIFETIME
from dragoman.serving.errors import RequestError
from dragoman.serving.parameters import read_parameters
from dragoman.serving.service import Service, service_of
from dragoman.serving.uploads import FileRequest, take_slot, translate_upload

_MOST_DOCUMENTS = 10_000  # whose state is remembered
_LOG = logging.getLogger(__name__)


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
    if len(service.uploads) >= _MOST_DOCUMENTS:
        raise RequestError(503, "The server stores too many documents; try again later.", 60)
    named = Upload(parameters.text("filename") or file.name, file.data)
    source = parameters.text("source_lang")
    if parameters.text("glossary_id") and not source:
        raise RequestError(400, "A glossary needs the parameter 'source_lang'.")
    routes = [service.route(source, target)] if source else []
    asked = FileRequest(named, source, target, client, await find_glossary(request, parameters, routes))
    slot = take_slot(service, asked)
    number, document = secrets.token_hex(16).upper(), UploadedDocument(secrets.token_urlsafe(24))
    service.uploads[number] = document
    task = asyncio.create_task(_translate(service, slot, asked, document))
    service.tasks.add(task)

    def finish(task: asyncio.Task[None]) -> None:
        service.tasks.discard(task)
        asyncio.get_running_loop().call_later(LIFETIME, service.uploads.pop, number, None)

    task.add_done_callback(finish)
    return JSONResponse({"document_id": number, "document_key": document.key})


async def document_state(request: Request) -> JSONResponse:
    """GET or POST /v2/document/ID."""
    document = await _find(request)
    return JSONResponse({"document_id": request.path_params["number"], **document.state()})


async def download_document(request: Request) -> Response:
    """GET or POST /v2/document/ID/result."""
    document, service = await _find(request), service_of(request)
    if document.message:
        raise RequestError(404, "The document could not be translated.")
    if not document.token:
        raise RequestError(503, "The document is not translated yet.", 1)
    download = service.downloads.get(document.token)
    document.fetched = True
    return FileResponse(download.path, filename=download.name)


async def _translate(service: Service, slot: DocumentSlot, asked: FileRequest, document: UploadedDocument) -> None:
    """Translate, and note only the result: an exception would keep the file in memory."""
    try:
        document.token = await translate_upload(service, slot, asked)
    except RequestError as error:
        document.message = error.message
    except Exception:
        _LOG.exception("a document could not be translated")
        document.message = "The document could not be translated."


async def _find(request: Request) -> UploadedDocument:
    service, parameters = service_of(request), await read_parameters(request)
    admit_deepl(service, request, parameters)
    document = service.uploads.get(request.path_params["number"])
    if document is None or not hmac.compare_digest(document.key.encode(), parameters.text("document_key").encode()):
        raise RequestError(404, "Document not found")
    return document
