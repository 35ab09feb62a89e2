"""Opening and translating files, a limited number at once; each has a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Semaphore
from typing import Any, TypeVar

from dragoman.corpus.pair import Languages
from dragoman.documents.formats import open_document
from dragoman.documents.segment import SegmentedDocument, with_glossary
from dragoman.documents.sentences import WholeLines
from dragoman.errors import UserError
from dragoman.serving.errors import RequestError
from dragoman.serving.fair_queue import Priority
from dragoman.serving.models import Route
from dragoman.serving.scheduler import Scheduler
from dragoman.text.glossary import Glossary

Result = TypeVar("Result")
_CHUNK = 1000  # segments in the queue


@dataclass(frozen=True)
class Upload:
    """A file in a request.

    Args:
        name: The file's name, which is not empty.
        data: Its content.
    """

    name: str
    data: bytes


class DocumentSlots:
    """The places for files that are translated at once; each has a thread.

    Args:
        most: The number of places.
    """

    def __init__(self, most: int) -> None:
        self._threads = ThreadPoolExecutor(most, "dragoman-document")
        self._free = Semaphore(most)

    def take(self) -> DocumentSlot:
        """Take a place.

        Raises:
            RequestError: There is none.
        """
        if not self._free.acquire(blocking=False):
            raise RequestError(503, "The server translates too many files; try again later.", 10)
        return DocumentSlot(self._threads, self._free.release)

    def close(self) -> None:
        """End the threads as soon as their work is done."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class DocumentSlot:
    """The place of one file. A thread cannot be cancelled, so the place becomes free only when its thread is."""

    def __init__(self, threads: ThreadPoolExecutor, free: Callable[[], None]) -> None:
        self._threads, self._free = threads, free
        self._running: Future[Any] = Future()
        self._running.set_result(None)

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """The result of some work in the thread.

        Raises:
            RequestError: The file cannot be read.
        """
        future = self._threads.submit(work, *arguments)
        self._running = future
        try:
            return await asyncio.wrap_future(future)
        except UserError as error:
            raise RequestError(400, str(error)) from None

    def free(self) -> None:
        """Give the place back, at the latest when the thread is free."""
        self._running.add_done_callback(lambda _: self._free())


async def open_upload(
    slot: DocumentSlot, file: Upload, languages: Languages, whole_lines: WholeLines = False
) -> SegmentedDocument[bytes]:
    """Open a file, and find its segments.

    Raises:
        RequestError: It cannot be read.
    """
    return await slot.run(open_document, file.data, file.name, languages, (), whole_lines)


async def translate_document(
    scheduler: Scheduler,
    slot: DocumentSlot,
    route: Route,
    file: Upload,
    client: str,
    glossary: Glossary | None = None,
) -> bytes:
    """The translation of a file by one or two models; with a glossary, by one.

    Raises:
        RequestError: It cannot be read.
    """
    data = file.data
    for model in route:
        languages = model.source, model.target
        document = await open_upload(slot, Upload(file.name, data), languages, model.whole_lines)
        segments, found = with_glossary(document.segments, glossary), []
        for begin in range(0, len(segments), _CHUNK):
            chunk = segments[begin : begin + _CHUNK]
            found += await scheduler.translate(model.translate, model.count_tokens, chunk, client, Priority.DOCUMENT)
        data = await slot.run(document.assemble, found)
    return data


@dataclass
class UploadedDocument:
    """A document of DeepL's protocol, from its upload to its download.

    Args:
        key: What its client must know.
        token: The name of the download, when the document is translated.
        message: Why it could not be translated.
        fetched: Whether the client has the translation.
    """

    key: str
    token: str = ""
    message: str = ""
    fetched: bool = False

    @property
    def is_open(self) -> bool:
        """Whether its client still waits for it."""
        return not self.message and not self.fetched

    def state(self) -> dict[str, object]:
        """The state of the translation, for DeepL's clients."""
        if self.message:
            return {"status": "error", "message": self.message, "error_message": self.message}
        if self.token:
            return {"status": "done", "billed_characters": 0}
        return {"status": "translating", "seconds_remaining": 1}
