"""Uploaded files: the language of a file is detected, the file is translated, and the translation is stored."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from dragoman.documents.formats import open_document
from dragoman.documents.formats.open import find_source
from dragoman.languages.identify import language_of_most
from dragoman.serving.detection import UNKNOWN
from dragoman.serving.documents import DocumentSlot, Upload, translate_document
from dragoman.serving.downloads import translated_name
from dragoman.serving.errors import RequestError
from dragoman.serving.segments import Client
from dragoman.serving.service import Service
from dragoman.text.glossary import Glossary

_DETECTED_SEGMENTS = 50


@dataclass(frozen=True)
class FileRequest:
    """A file to translate.

    Args:
        file: The file.
        source: The code of its language; empty if it is to be detected.
        target: The code of the other language.
        client: Who asks.
        glossary: Terms to use; the language must be given with it.
    """

    file: Upload
    source: str
    target: str
    client: Client
    glossary: Glossary | None = None


async def take_slot(service: Service, asked: FileRequest) -> DocumentSlot:
    """Check what is known before the file is opened, and take a place for it.

    Raises:
        RequestError: The file is too large, a language is not served, or too many files are being translated or stored.
    """
    if len(asked.file.data) > (limit := service.settings.file_bytes):
        raise RequestError(413, f"Invalid request: the file is larger than {limit} bytes")
    if asked.source:
        service.route(asked.source, asked.target)
    else:
        service.language(asked.target)
    service.downloads.require_room(asked.client.name, len(asked.file.data))
    return service.documents.take(await asyncio.to_thread(asked.file.content_size))


async def translate_upload(service: Service, slot: DocumentSlot, asked: FileRequest) -> str:
    """Translate a file and return the name of its translation in the downloads. The slot becomes free.

    Raises:
        RequestError: The file cannot be read, its language is not recognized or not served, or it takes too long.
    """
    seconds = service.settings.document_seconds
    try:
        async with asyncio.timeout(seconds):
            target = service.language(asked.target)
            route = service.route(await _find_language(service, slot, asked), target)
            data = await translate_document(
                service.scheduler, slot, route, asked.file, asked.client.name, asked.glossary
            )
    except TimeoutError:
        raise RequestError(503, f"The translation took longer than {seconds:g} seconds.", 60) from None
    finally:
        slot.free()
    return await service.downloads.add(data, translated_name(asked.file.name, target), asked.client.name)


async def _find_language(service: Service, slot: DocumentSlot, asked: FileRequest) -> str:
    """The language of a file: the given one, or the language of its first segments."""
    target, file = service.language(asked.target), asked.file
    if asked.source:
        source = service.language(asked.source)
        if source == target:
            await slot.run(
                open_document, file.data, file.name, (source, target)
            )  # it is returned unchanged, if it is what it seems
        return source
    sources = [*(each for each in service.models.sources if each != target), target]  # which is returned unchanged
    stated, texts = await slot.run(find_source, file.data, file.name, sources, target)
    if stated:
        return stated
    if not any(map(str.isalpha, "".join(texts))):
        return target  # there is nothing to translate
    sample = texts[:_DETECTED_SEGMENTS]
    found = await service.detect_each(sample, target=target)
    language = language_of_most(sample, [each for each, _ in found])
    if language in ("", UNKNOWN):
        raise RequestError(400, "The language of the file was not recognized; choose it.")
    return language
