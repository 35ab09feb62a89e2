"""Read a corpus in chunks of lines. Damaged lines, which training would reject, are kept and marked."""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path
from typing import IO, Literal

from dragoman.corpus.corpus import aligned_files, read_corpus
from dragoman.corpus.encodings import find_byte_order_mark
from dragoman.corpus.lines import MAX_LINE_BYTES, open_binary
from dragoman.corpus.references import file_name
from dragoman.errors import UserError
from dragoman.settings import CorpusReference, FilePair
from dragoman.system.resumable import grouped

CHUNK_LINES = 8192
MAX_SPOOL_MEMORY = 64 << 20  # bytes; a larger corpus is kept in a temporary file


@dataclass(frozen=True)
class Chunk:
    """Consecutive pairs of a corpus.

    Attributes:
        first_line: The line number of the first pair, counted from 1.
        sources: The source of each pair.
        targets: The target of each pair.
        invalid_utf8: The indices of pairs with a side that is not valid UTF-8.
    """

    first_line: int
    sources: list[str]
    targets: list[str]
    invalid_utf8: set[int]

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def indices(self) -> slice:
        """Where the pairs are in arrays with one value per pair of the corpus."""
        return slice(self.first_line - 1, self.first_line - 1 + len(self))


class _Spool:
    """A temporary copy of the chunks of a corpus. All but the last one have the same number of pairs."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(MAX_SPOOL_MEMORY)  # noqa: SIM115 - open as long as the reader
        self._ends = [0]  # of each chunk, in bytes

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __del__(self) -> None:
        self._file.close()

    def append(self, chunk: Chunk) -> None:
        content = [chunk.first_line, chunk.sources, chunk.targets, sorted(chunk.invalid_utf8)]
        self._file.seek(self._ends[-1])
        self._file.write(json.dumps(content).encode())  # escapes, because a text may have lone surrogates
        self._ends.append(self._file.tell())

    def read(self, number: int) -> Chunk:
        begin, end = self._ends[number : number + 2]
        self._file.seek(begin)
        first_line, sources, targets, invalid = json.loads(self._file.read(end - begin))
        return Chunk(first_line, sources, targets, set(invalid))


@dataclass
class ChunkedReader:
    """Reads a corpus in chunks, as often as needed: its files once, and then a temporary copy of the decoded text.

    Attributes:
        reference: The corpus, as a recipe names it.
        source_language: Code of the source language.
        target_language: Code of the target language.
        data_directory: Mirror of the dataset catalog.
        line_counts: Lines of the source and of the target; known once all chunks have been read.
        on_read: Receives the number of pairs of each chunk that has been read and used, to show progress.
        unit: What is counted, "line" or "pair" of a file of another format; known once a chunk has been read.
    """

    reference: CorpusReference
    source_language: str
    target_language: str
    data_directory: Path | None = None
    on_read: Callable[[int], None] = lambda number: None
    line_counts: tuple[int, int] = field(default=(0, 0), init=False)
    unit: Literal["line", "pair"] = field(default="line", init=False)
    _spool: _Spool | None = field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the corpus in messages."""
        if isinstance(self.reference, FilePair):
            return f"{self.reference.source}, {self.reference.target}"
        stated = not isinstance(self.reference, str) and self.reference.languages
        return f"{file_name(self.reference)} ({'-'.join(stated)})" if stated else file_name(self.reference)

    def chunks(self) -> Iterator[Chunk]:
        """The pairs in chunks. If one file is longer than the other, its remaining lines are only counted.

        Raises:
            UserError: A file is missing or damaged, or a row of a .tsv or .jsonl file is malformed.
        """
        if self._spool is not None:
            for chunk in map(self._spool.read, range(len(self._spool))):
                yield chunk
                self.on_read(len(chunk))
            return
        spool = _Spool()
        for chunk in self._read_files():
            spool.append(chunk)
            yield chunk
            self.on_read(len(chunk))
        self._spool = spool  # only now, because a reader that stops early has seen a part of the corpus

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[list[str], list[str]]]:
        """The sources and targets of ranges [first, stop) of pairs, counted from 0, in ascending order of `first`."""
        if not ranges:
            return
        if self._spool is None:
            for _ in self.chunks():
                pass
        assert self._spool is not None, "all chunks were read"
        kept: dict[int, Chunk] = {}
        for first, stop in ranges:
            numbers = range(first // CHUNK_LINES, -(-stop // CHUNK_LINES))
            kept = {number: kept.get(number) or self._spool.read(number) for number in numbers}
            inside = slice(first - CHUNK_LINES * numbers.start, stop - CHUNK_LINES * numbers.start)
            sources = [text for chunk in kept.values() for text in chunk.sources]
            targets = [text for chunk in kept.values() for text in chunk.targets]
            yield sources[inside], targets[inside]

    def _read_files(self) -> Iterator[Chunk]:
        files = aligned_files(
            self.reference,
            source_language=self.source_language,
            target_language=self.target_language,
            data_directory=self.data_directory,
        )
        self.unit = "line" if files else "pair"
        return self._read_aligned(*files) if files else self._read_pairs()

    def _read_pairs(self) -> Iterator[Chunk]:
        pairs = read_corpus(
            self.reference,
            source_language=self.source_language,
            target_language=self.target_language,
            data_directory=self.data_directory,
        )
        count = 0
        for chunk in grouped(pairs, CHUNK_LINES):
            yield Chunk(count + 1, [pair.source for pair in chunk], [pair.target for pair in chunk], set())
            count += len(chunk)
        self.line_counts = (count, count)

    def _read_aligned(self, source: Path, target: Path) -> Iterator[Chunk]:
        source_count = target_count = 0
        no_lines: list[bytes] = []
        for raw_sources, raw_targets in zip_longest(_raw_chunks(source), _raw_chunks(target), fillvalue=no_lines):
            shared = min(len(raw_sources), len(raw_targets))
            if shared:
                at_start = source_count == 0
                sources, invalid_sources = _decode(raw_sources[:shared], at_start)
                targets, invalid_targets = _decode(raw_targets[:shared], at_start)
                yield Chunk(source_count + 1, sources, targets, invalid_sources | invalid_targets)
            source_count += len(raw_sources)
            target_count += len(raw_targets)
        self.line_counts = (source_count, target_count)


def _raw_chunks(path: Path) -> Iterator[list[bytes]]:
    try:
        with open_binary(path) as stream:
            lines = _raw_lines(stream)
            while chunk := list(islice(lines, CHUNK_LINES)):
                if (encoding := find_byte_order_mark(chunk[0])) and encoding != "utf-8-sig":
                    raise UserError(
                        f"{path}: the text is {encoding.upper()}; convert it to UTF-8, see dragoman convert"
                    )
                yield chunk
    except (EOFError, zlib.error, OSError) as error:
        raise UserError(f"{path}: cannot be read to the end: {error}") from None


def _raw_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Lines, the longest of which are truncated to whole characters."""
    while line := stream.readline(MAX_LINE_BYTES):
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            while (rest := stream.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                pass
            while line and line[-1] & 0xC0 == 0x80:  # continuation bytes of the last character
                line = line[:-1]
            line = line[:-1]
        yield line


def _decode(lines: list[bytes], at_start: bool) -> tuple[list[str], set[int]]:
    """The texts of lines, without a byte order mark at the start of a file, and the indices of invalid UTF-8."""
    stripped = [line.removesuffix(b"\n").removesuffix(b"\r") for line in lines]
    if at_start:
        stripped[0] = stripped[0].removeprefix(b"\xef\xbb\xbf")
    try:
        return b"\n".join(stripped).decode().split("\n"), set()
    except UnicodeDecodeError:
        texts = [line.decode(errors="replace") for line in stripped]
        return texts, {index for index, line in enumerate(stripped) if not _is_utf8(line)}


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
