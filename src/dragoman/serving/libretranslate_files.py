"""LibreTranslate's API: files and corrections."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from dragoman.serving.errors import RequestError
from dragoman.serving.libretranslate import AUTO, require_parameter
from dragoman.serving.limits import while_connected
from dragoman.serving.parameters import read_parameters
from dragoman.serving.service import service_of
from dragoman.serving.uploads import FileRequest, take_slot, translate_upload
from dragoman.text.normalization import find_control


async def translate_file(request: Request) -> JSONResponse:
    """POST /translate_file."""
    service, parameters = service_of(request), await read_parameters(request)
    client = service.admit(request, parameters.text("api_key"))
    file = parameters.file("file")
    if file is None:
        raise RequestError(400, "Invalid request: empty file")
    source, target = (require_parameter(parameters, name) for name in ("source", "target"))
    asked = FileRequest(file, "" if source.lower() == AUTO else source, target, client)
    work = translate_upload(service, take_slot(service, asked), asked)
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
