"""Corpora are read completely, in chunks, even if they are damaged."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dragoman.doctor.data import chunked_reader
from dragoman.doctor.data.chunked_reader import Chunk, ChunkedReader
from dragoman.errors import UserError
from dragoman.settings import FilePair


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunked_reader, "CHUNK_LINES", 4)


def make_reader(directory: Path, source: bytes, target: bytes, suffix: str = "") -> ChunkedReader:
    paths = directory / f"x.de{suffix}", directory / f"x.en{suffix}"
    for path, data in zip(paths, (source, target), strict=True):
        path.write_bytes(gzip.compress(data) if suffix else data)
    return ChunkedReader(FilePair(source=str(paths[0]), target=str(paths[1])), "de", "en")


def texts(chunks: list[Chunk]) -> tuple[list[str], list[str]]:
    return [text for chunk in chunks for text in chunk.sources], [text for chunk in chunks for text in chunk.targets]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_files_are_read_in_chunks(suffix: str, tmp_path: Path) -> None:
    lines = [str(number) for number in range(10)]
    reader = make_reader(tmp_path, "\r\n".join(lines).encode(), "\ufeff".encode() + "\n".join(lines).encode(), suffix)
    for _ in range(2):
        chunks = list(reader.chunks())
        assert [chunk.first_line for chunk in chunks] == [1, 5, 9]
        assert texts(chunks) == (lines, lines)
        assert reader.line_counts == (10, 10)


@pytest.mark.parametrize(("source_lines", "target_lines"), [(3, 12), (4, 12), (12, 5), (0, 2)])
def test_the_rest_of_the_longer_file_is_counted(source_lines: int, target_lines: int, tmp_path: Path) -> None:
    reader = make_reader(tmp_path, b"a\n" * source_lines, b"b\n" * target_lines)
    shared = min(source_lines, target_lines)
    assert texts(list(reader.chunks())) == (["a"] * shared, ["b"] * shared)
    assert reader.line_counts == (source_lines, target_lines)


def test_invalid_utf8_is_marked_and_read_on(tmp_path: Path) -> None:
    reader = make_reader(tmp_path, b"a\n\xff\nc\nd\ne\n", b"a\nb\n\xe4\n\xef\xbf\xbd\n\xe4\n")
    first, second = reader.chunks()
    assert first.invalid_utf8 == {1, 2}, "a replacement character that the file contains is valid"
    assert first.sources == ["a", "\ufffd", "c", "d"]
    assert second.invalid_utf8 == {0}


def test_a_damaged_gzip_file_is_an_error(tmp_path: Path) -> None:
    reader = make_reader(tmp_path, b"a\n" * 100_000, b"b\n" * 100_000, ".gz")
    path = tmp_path / "x.en.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"x\.en\.gz: cannot be read to the end"):
        list(reader.chunks())


def test_the_rest_of_an_overlong_line_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunked_reader, "MAX_LINE_BYTES", 10)
    reader = make_reader(tmp_path, ("ä" * 40 + "\nb\n").encode(), b"123456789\nd\n")
    assert texts(list(reader.chunks())) == (["ä" * 4, "b"], ["123456789", "d"])
    assert reader.line_counts == (2, 2)
