"""Translating uploaded files through the scheduler."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from dragoman.documents.formats import open_document
from dragoman.documents.terms import with_terms
from dragoman.errors import UserError
from dragoman.serving.errors import RequestError
from dragoman.serving.fair_queue import Priority
from dragoman.serving.models import Route
from dragoman.serving.scheduler import Scheduler
from dragoman.text.glossary import Glossary

_CHUNK = 1000  # segments in the queue


class DocumentTranslator:
    """Translates files, a limited number at once.

    Args:
        scheduler: Translates segments.
        most: Maximum number of files at once.
        seconds: Maximum time for one file.
    """

    def __init__(self, scheduler: Scheduler, most: int, seconds: float) -> None:
        self._scheduler, self._most, self._seconds = scheduler, most, seconds
        self._active = 0

    async def translate(
        self, route: Route, data: bytes, name: str, client: str, glossary: Glossary | None = None
    ) -> bytes:
        """The translation of a file; with a glossary, one model must translate it.

        Raises:
            RequestError: The file cannot be read, there are too many files, or it takes too long.
        """
        if self._active >= self._most:
            raise RequestError(503, "The server translates too many files; try again later.", 10)
        self._active += 1
        try:
            async with asyncio.timeout(self._seconds):
                for model in route:
                    languages = model.source, model.target
                    document = await asyncio.to_thread(open_document, data, name, languages, (), model.whole_lines)
                    segments, found = with_terms(document.segments, glossary), []
                    for begin in range(0, len(segments), _CHUNK):
                        chunk = segments[begin : begin + _CHUNK]
                        found += await self._scheduler.translate(model.translate, chunk, client, Priority.DOCUMENT)
                    data = await asyncio.to_thread(document.assemble, found)
        except UserError as error:
            raise RequestError(400, str(error)) from None
        except TimeoutError:
            raise RequestError(503, f"The translation took longer than {self._seconds:g} seconds.", 60) from None
        finally:
            self._active -= 1
        return data


@dataclass(eq=False)
class UploadedDocument:
    """A document that is being translated.

    Args:
        key: What its client must know.
        task: The translation; its result is the name of the download.
    """

    key: str
    task: asyncio.Task[str]

    def state(self) -> dict[str, object]:
        """The state of the translation, for DeepL's clients."""
        if not self.task.done():
            return {"status": "translating", "seconds_remaining": 1}
        error = self.task.exception()
        if error is None:
            return {"status": "done", "billed_characters": 0}
        message = error.message if isinstance(error, RequestError) else "The document could not be translated."
        return {"status": "error", "message": message, "error_message": message}
