"""Corpora in chunks of lines, also those that training would refuse: damage is noted and read over."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from dragoman.corpus.corpus import aligned_files, read_corpus
from dragoman.corpus.lines import MAX_LINE_CHARACTERS
from dragoman.errors import UserError
from dragoman.settings import CorpusReference

CHUNK = 8192  # lines
_MOST_BYTES = 4 * MAX_LINE_CHARACTERS + 3


@dataclass(frozen=True)
class Chunk:
    """Some neighbouring pairs; `first` is the line number of the first, `broken` the places of invalid UTF-8."""

    first: int
    sources: list[str]
    targets: list[str]
    broken: set[int]


@dataclass
class Reader:
    """Reads a corpus, as often as needed; `lines` of source and target are known after the first time."""

    reference: CorpusReference
    source_language: str
    target_language: str
    data_directory: Path | None = None
    lines: tuple[int, int] = field(default=(0, 0), init=False)

    @property
    def name(self) -> str:
        """What messages call the corpus."""
        if isinstance(self.reference, str):
            return self.reference
        return f"{self.reference.source}, {self.reference.target}"

    def chunks(self) -> Iterator[Chunk]:
        """The pairs in chunks; what one file has beyond the end of the other is counted only.

        Raises:
            UserError: A file is missing or damaged; or rows of a .tsv or .jsonl file are malformed.
        """
        files = aligned_files(
            self.reference,
            source_language=self.source_language,
            target_language=self.target_language,
            data_directory=self.data_directory,
        )
        return self._aligned(*files) if files else self._rows()

    def _rows(self) -> Iterator[Chunk]:
        pairs = read_corpus(
            self.reference,
            source_language=self.source_language,
            target_language=self.target_language,
            data_directory=self.data_directory,
        )
        count = 0
        while chunk := list(islice(pairs, CHUNK)):
            yield Chunk(count + 1, [pair.source for pair in chunk], [pair.target for pair in chunk], set())
            count += len(chunk)
        self.lines = (count, count)

    def _aligned(self, *paths: Path) -> Iterator[Chunk]:
        counts = [0, 0]
        with ExitStack() as stack:
            streams = [stack.enter_context(_open(path)) for path in paths]
            while True:
                sides = [_read(stream, path) for stream, path in zip(streams, paths, strict=True)]
                shared = min(len(side) for side in sides)
                if shared:
                    (sources, broken), (targets, also) = (_decode(side[:shared], not counts[0]) for side in sides)
                    yield Chunk(counts[0] + 1, sources, targets, broken | also)
                counts = [count + len(side) for count, side in zip(counts, sides, strict=True)]
                if shared < CHUNK:
                    break
            for side, (stream, path) in enumerate(zip(streams, paths, strict=True)):
                while more := len(_read(stream, path)):
                    counts[side] += more
        self.lines = (counts[0], counts[1])


def _open(path: Path) -> BinaryIO:
    try:
        # GzipFile.readline is Python; a buffer in front of it reads lines several times as fast.
        return io.BufferedReader(cast(io.RawIOBase, gzip.open(path))) if path.suffix == ".gz" else path.open("rb")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None


def _read(stream: BinaryIO, path: Path) -> list[bytes]:
    try:
        return list(islice(iter(lambda: stream.readline(_MOST_BYTES), b""), CHUNK))
    except (EOFError, zlib.error, OSError) as error:
        raise UserError(f"{path}: cannot be read to its end: {error}") from None


def _decode(lines: list[bytes], start: bool) -> tuple[list[str], set[int]]:
    """The texts of lines, and which of them are not valid UTF-8."""
    stripped = [line.removesuffix(b"\n").removesuffix(b"\r") for line in lines]
    if start:
        stripped[0] = stripped[0].removeprefix(b"\xef\xbb\xbf")
    try:
        return b"\n".join(stripped).decode().split("\n"), set()
    except UnicodeDecodeError:
        texts = [line.decode(errors="replace") for line in stripped]
        return texts, {place for place, text in enumerate(texts) if "\ufffd" in text and not _is_utf8(stripped[place])}


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
