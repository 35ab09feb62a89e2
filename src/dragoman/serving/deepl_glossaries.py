"""DeepL's API, version 2: glossaries."""

from __future__ import annotations

import asyncio
import csv
import io
from typing import Any

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dragoman.errors import UserError, shortened
from dragoman.serving.deepl import admit_deepl, glossary_owner
from dragoman.serving.errors import RequestError
from dragoman.serving.glossaries import StoredGlossary, split_lines
from dragoman.serving.parameters import read_parameters
from dragoman.serving.service import Service, service_of
from dragoman.text.glossary import Glossary, Term
from dragoman.text.word_forms import load_dictionaries

_TSV = "text/tab-separated-values"


async def create_glossary(request: Request) -> JSONResponse:
    """POST /v2/glossaries."""
    service, parameters = service_of(request), await read_parameters(request)
    admit_deepl(service, request, parameters)
    owner = glossary_owner(request, parameters)
    name, languages = parameters.text("name"), (parameters.text("source_lang"), parameters.text("target_lang"))
    if not (name and all(languages)):
        raise RequestError(400, "Parameters 'name', 'source_lang' and 'target_lang' are required.")
    source, target = (service.language(language) for language in languages)
    glossary = await asyncio.to_thread(_read_entries, parameters.text("entries"), parameters.text("entries_format"))
    stored = await asyncio.to_thread(service.glossaries.add, owner, name, (source, target), glossary)
    loading = BackgroundTask(load_dictionaries, source, target)  # so that the first translation need not wait for it
    return JSONResponse(_describe(stored), 201, background=loading)


async def list_glossaries(request: Request) -> JSONResponse:
    """GET /v2/glossaries."""
    service, owner = await _admit(request)
    found = await asyncio.to_thread(service.glossaries.all, owner)
    return JSONResponse({"glossaries": [_describe(stored) for stored in found]})


async def show_glossary(request: Request) -> JSONResponse:
    """GET /v2/glossaries/ID."""
    return JSONResponse(_describe(await _find(request)))


async def list_entries(request: Request) -> Response:
    """GET /v2/glossaries/ID/entries."""
    return Response((await _find(request)).lines, media_type=_TSV)


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


async def _admit(request: Request) -> tuple[Service, str]:
    """The service, and the owner of the glossaries."""
    service, parameters = service_of(request), await read_parameters(request)
    admit_deepl(service, request, parameters)
    return service, glossary_owner(request, parameters)


async def _find(request: Request) -> StoredGlossary:
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


def _describe(stored: StoredGlossary) -> dict[str, Any]:
    return {
        "glossary_id": stored.number,
        "name": stored.name,
        "ready": True,
        "source_lang": stored.source,
        "target_lang": stored.target,
        "creation_time": stored.created,
        "entry_count": stored.terms,
    }
