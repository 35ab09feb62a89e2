"""Opening and translating files, a limited number at once; each has a thread."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from dragoman.corpus.archive import read_archive
from dragoman.documents.formats import open_document
from dragoman.documents.segment import with_glossary
from dragoman.errors import UserError
from dragoman.serving.errors import RequestError
from dragoman.serving.fair_queue import Priority
from dragoman.serving.models import Route
from dragoman.serving.scheduler import Scheduler
from dragoman.serving.segments import Client, translate_segments
from dragoman.text.glossary import Glossary
from dragoman.text.translation import Translation

Result = TypeVar("Result")
_CHUNK = 1000  # segments in the queue


_ARCHIVE_END = 2**16 + 22
"""The bytes in which the last record of a ZIP archive is, with the longest comment."""


@dataclass(frozen=True)
class Upload:
    """A file in a request.

    Args:
        name: The file's name, which is not empty.
        data: Its content.
    """

    name: str
    data: bytes

    def content_size(self) -> int:
        """The bytes of its content: of an archive, those of all files in it, unless it is refused when it is opened."""
        content = 0
        if b"PK\x05\x06" in self.data[-_ARCHIVE_END:]:
            with suppress(UserError), read_archive(io.BytesIO(self.data), self.name, sys.maxsize) as archive:
                content = sum(entry.file_size for entry in archive.infolist())
        return max(len(self.data), content)


class DocumentSlots:
    """The places for files that are translated at once; each has a thread.

    Args:
        most: The number of places.
        most_bytes: Maximum size of the content of all files together, with those that arrive; a single file may be
            larger.
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        self._threads = ThreadPoolExecutor(most, "dragoman-document")
        self._most, self._most_bytes = most, most_bytes
        self._sizes: list[int] = []  # of the files that have places
        self._arriving: dict[object, int] = {}  # the bytes of each file that have arrived
        self._lock = Lock()

    def take(self, size: int) -> DocumentSlot:
        """Take a place for a file whose content has so many bytes.

        Raises:
            RequestError: There is none.
        """
        with self._lock:
            if len(self._sizes) == self._most:
                raise _too_many_files()
            self._require_room(size)
            self._sizes.append(size)
        return DocumentSlot(self._threads, lambda: self._give_back(size))

    @contextmanager
    def arriving(self) -> Iterator[Callable[[int], None]]:
        """Count the bytes of a file while it arrives; call what this yields with their number by now.

        Raises:
            RequestError: All files together are too large.
        """
        file = object()

        def count(size: int) -> None:
            with self._lock:
                self._arriving.pop(file, None)
                self._require_room(size)
                self._arriving[file] = size

        try:
            yield count
        finally:
            with self._lock:
                self._arriving.pop(file, None)

    @property
    def arrived_bytes(self) -> int:
        """How many bytes of files that are not complete have arrived."""
        return sum(self._arriving.values())

    def _require_room(self, size: int) -> None:
        others = [*self._sizes, *self._arriving.values()]
        if others and sum(others) + size > self._most_bytes:
            raise _too_many_files()

    def _give_back(self, size: int) -> None:
        with self._lock:
            self._sizes.remove(size)

    def close(self) -> None:
        """End the threads as soon as their work is done."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _too_many_files() -> RequestError:
    return RequestError(503, "The server translates too many files; try again later.", 10)


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


async def translate_document(
    scheduler: Scheduler,
    slot: DocumentSlot,
    route: Route,
    file: Upload,
    client: str,
    glossary: Glossary | None = None,
) -> bytes:
    """The translation of a file by one or two models, with a glossary by one; without a route, the file itself.

    Raises:
        RequestError: It cannot be read.
    """
    if not route:
        return file.data
    languages = route[0].source, route[-1].target
    document = await slot.run(open_document, file.data, file.name, languages, (), route[0].whole_lines)
    segments, found = with_glossary(document.segments, glossary), list[Translation]()
    for begin in range(0, len(segments), _CHUNK):
        chunk = segments[begin : begin + _CHUNK]
        found += await translate_segments(scheduler, route, chunk, Client(client, Priority.DOCUMENT))
    return await slot.run(document.assemble, found)


@dataclass
class UploadedDocument:
    """A document of DeepL's protocol, from its upload to its download.

    Args:
        client: Whose document it is.
        key: What its client must know.
        token: The name of the download, when the document is translated.
        message: Why it could not be translated.
        fetched: Whether the client has the translation.
    """

    client: str
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
