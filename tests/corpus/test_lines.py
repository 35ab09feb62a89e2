"""Which text files are read, and how others are rejected."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import BinaryIO

import pytest
from corpus_files import write_aligned

from dragoman.corpus import lines
from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.lines import MAX_LINE_CHARACTERS, open_binary, read_lines
from dragoman.corpus.pair import Pair
from dragoman.errors import UserError, counted
from dragoman.settings import CorpusReference


def read(reference: CorpusReference) -> list[Pair]:
    return list(read_corpus(reference, source_language="de", target_language="en"))


def test_lines_and_files_may_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    for content, expected in ((b"", []), (b"\n", [""]), (b"a\n\nb", ["a", "", "b"]), (b"\n\n", ["", ""])):
        path.write_bytes(content)
        assert list(read_lines(path)) == expected


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\ufeff", "\u200b", "\t"])
def test_only_a_line_feed_ends_a_line(separator: str, tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(f"a{separator}b\nc{separator}".encode())
    assert list(read_lines(path)) == [f"a{separator}b", f"c{separator}"]


@pytest.mark.parametrize("code", [*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0)])
def test_control_characters_are_rejected(code: int, tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(f"a\nb{chr(code)}b".encode())
    with pytest.raises(UserError, match=rf"t\.txt line 2: control character U\+{code:04X} at character 2"):
        list(read_lines(path))


@pytest.mark.skipif(not shutil.which("perl"), reason="needs perl")
@pytest.mark.parametrize("control", ["\v", "\x7f", "\x93", "\r"])
def test_the_command_against_control_characters_works(control: str, tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(f"é\tb\r\nb{control}b\n{control}".encode())
    with pytest.raises(UserError, match="line 2: control character") as refused:
        list(read_lines(path))
    remedy = str(refused.value).split(": ")[-1].replace("FILE", "t.txt").replace("NEW", "new.txt")
    subprocess.run(remedy, shell=True, check=True, cwd=tmp_path)
    assert [line.strip(" ") for line in read_lines(tmp_path / "new.txt") if line][:2] == [
        "é\tb",
        "b" if control == "\r" else "b b",
    ]


@pytest.mark.skipif(not shutil.which("perl"), reason="needs perl")
@pytest.mark.parametrize("encoding", [None, "cp1252"])
def test_the_command_against_control_characters_reads_other_files(encoding: str | None, tmp_path: Path) -> None:
    path = tmp_path / "t.txt.gz"
    path.write_bytes(gzip.compress("é\nb\vb\n".encode(encoding or "utf-8")))
    with pytest.raises(UserError, match="line 2: control character") as refused:
        list(read_lines(path, encoding))
    remedy = str(refused.value).split(": ")[-1].replace("FILE", path.name).replace("NEW", "new.txt")
    subprocess.run(remedy, shell=True, check=True, cwd=tmp_path)
    assert list(read_lines(tmp_path / "new.txt")) == ["é", "b b"]


def test_the_longest_line_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    longest = "𝄞" * MAX_LINE_CHARACTERS
    path.write_bytes(f"\ufeff{longest}\r\n{longest}".encode())
    assert list(read_lines(path)) == [longest, longest]
    for ending in ("x", "x\n", "x\r\n", longest):
        path.write_bytes(f"{longest}{ending}".encode())
        with pytest.raises(UserError, match="line 1: longer than"):
            list(read_lines(path))


INVALID = {
    "cp1252": b"\x81",
    "shift_jis": b"\xff",
    "gb18030": b"\xff",
    "euc_kr": b"\xff",
    "utf-8-sig": b"\xff",
    "utf-16": b"\xd8\x00" * 2,
    "utf-16-le": b"\x00\xd8" * 2,
    "utf-32": b"\xff" * 4,
}
"""For encodings, bytes that are no character."""


@pytest.mark.parametrize("before", [0, 1, 20_000], ids=["first line", "second line", "later block"])
@pytest.mark.parametrize("encoding", INVALID)
def test_an_invalid_byte_in_a_declared_encoding_is_reported_with_its_line(
    encoding: str, before: int, tmp_path: Path
) -> None:
    start = "a\n" * before + "a"
    text = ("\ufeff" + start).encode("utf-16-be") if encoding == "utf-16" else start.encode(encoding)
    path = tmp_path / "t.de"
    path.write_bytes(text + INVALID[encoding])
    byte = f"0x{INVALID[encoding][0]:02x}"
    with pytest.raises(UserError, match=rf"t\.de line {before + 1}: not valid {encoding} \(byte {byte}\)"):
        list(read_lines(path, encoding))


def test_a_directory_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Is a directory"):
        list(read_lines(tmp_path))


BAD_FILES = {
    "invalid UTF-8": ("t.tsv", b"a\tb\na\t\xfc\n", "t.tsv line 2: not valid UTF-8 (byte 0xfc at position 3)"),
    "UTF-16": ("t.tsv", "a\tb\n".encode("utf-16"), "t.tsv line 1: not valid UTF-8"),
    "cut UTF-8": ("t.tsv", "a\tü".encode()[:-1], "t.tsv line 1: not valid UTF-8"),
    "empty": ("t.tsv", b"", "t.tsv: contains no sentence pairs"),
    "byte order mark only": ("t.jsonl", "\ufeff".encode(), "t.jsonl: contains no sentence pairs"),
    "blank": ("t.tsv", b"\t\n \t \n", "t.tsv: only empty lines (2)"),
    "blank target": ("t.tsv", b"a\t\na\t \n", "target side of"),
    "blank source": ("t.jsonl", b'{"source": "", "target": "b"}\n', "source side of"),
    "long line": ("t.tsv", b"a\tb\n" + b"a" * 10**6, "t.tsv line 2: longer than 100,000 characters"),
    "NUL": ("t.tsv", b"a\tb\na\tb\0\n", "t.tsv line 2: control character U+0000 at character 4"),
    "delete": ("t.tsv", b"\x7f\tb\n", "t.tsv line 1: control character U+007F at character 1"),
    "C1": ("t.tsv", "a\tb\x93\n".encode(), "t.tsv line 1: control character U+0093 at character 4"),
    "old Macintosh": ("t.tsv", b"a\tb\ra\tb\r", "t.tsv line 1: control character U+000D at character 4"),
    "too many columns": ("t.tsv", b"a\tb\na\tb\tc\n", "t.tsv line 2: expected 2 columns, found 3"),
    "too few columns": ("t.tsv", b"a\tb\nc\n", "t.tsv line 2: expected 2 columns, found 1"),
    "broken JSON": ("t.jsonl", b'{"de": "a", "en": "b"}\n{"de": "a",\n', "t.jsonl line 2: invalid JSON: "),
    "deep JSON": ("t.jsonl", b"[" * 99_999, "t.jsonl line 1: invalid JSON: "),
    "huge number": ("t.jsonl", b"9" * 9_999, "t.jsonl line 1: invalid JSON: "),
    "JSON array over several lines": ("t.jsonl", b'[\n{"de": "a"}\n]\n', "t.jsonl line 1: a JSON array; write one"),
    "JSON list": ("t.jsonl", b'["a", "b"]\n', "t.jsonl line 1: a JSON array; write one object per line instead"),
    "missing key": (
        "t.jsonl",
        b'{"de": "a", "en": "b"}\n{"text": "a"}\n',
        "t.jsonl line 2: expected strings under 'de' and 'en'",
    ),
    "other languages": ("t.jsonl", b'{"de": "a", "fr": "b"}\n', "no record in de and en, only in de (1 record), fr (1"),
    "no key": ("t.jsonl", b"{}\n", "found the keys (none)"),
    "JSON number": (
        "t.jsonl",
        b'{"de": "a", "en": 5}\n',
        "t.jsonl line 1: the values of 'de' and 'en' must be strings or null",
    ),
    "JSON number under a name": (
        "t.jsonl",
        b'{"german": 5, "english": "b"}\n',
        "t.jsonl line 1: the values of 'german' and 'english' must be strings or null",
    ),
    "JSON control": ("t.jsonl", rb'{"de": "a\u0007b", "en": "b"}', "t.jsonl line 1: control character U+0007"),
    "JSON surrogate": ("t.jsonl", rb'{"de": "a", "en": "\ud800"}', "t.jsonl line 1: control character U+D800"),
    "not gzip": ("t.tsv.gz", b"a\tb\n", "t.tsv.gz: named .gz, but not a valid gzip file"),
    "truncated gzip": ("t.tsv.gz", gzip.compress(b"a\tb\n" * 9)[:-9], "t.tsv.gz: gzip file truncated or damaged"),
    "damaged gzip": ("t.tsv.gz", gzip.compress(b"a\tb\n")[:12] + b"\xff" * 20, "t.tsv.gz: gzip file truncated or"),
    "gzip with a wrong checksum": ("t.tsv.gz", gzip.compress(b"a\tb\n")[:-8] + bytes(8), "t.tsv.gz: "),
}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[BinaryIO]:
    """The streams that reading opens."""
    streams: list[BinaryIO] = []

    def remember(path: Path) -> BinaryIO:
        streams.append(open_binary(path))
        return streams[-1]

    monkeypatch.setattr(lines, "open_binary", remember)
    return streams


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_rejected_with_file_and_line(name: str, tmp_path: Path, opened: list[BinaryIO]) -> None:
    file_name, content, message = BAD_FILES[name]
    tmp_path.joinpath(file_name).write_bytes(content)
    with pytest.raises(UserError) as error:
        read(str(tmp_path / file_name))
    assert opened
    assert all(stream.closed for stream in opened)
    assert message in str(error.value)
    assert file_name in str(error.value)


@pytest.mark.parametrize(("sources", "targets"), [(3, 5), (5, 3), (0, 2), (1, 0)])
def test_files_of_different_length_are_rejected_with_both_lengths(
    sources: int, targets: int, tmp_path: Path, opened: list[BinaryIO]
) -> None:
    (tmp_path / "t.de").write_text("a\n" * sources)
    (tmp_path / "t.en").write_text("b\n" * targets)
    with pytest.raises(UserError) as error:
        read(f"{tmp_path}/t.{{lang}}")
    assert [stream.closed for stream in opened] == [True, True]
    assert f"t.de has {counted(sources, 'line')}" in str(error.value)
    assert f"t.en has {counted(targets, 'line')}" in str(error.value)
    assert f"from line {min(sources, targets) + 1} on" in str(error.value)


@pytest.mark.parametrize(("bad", "good"), [("de", "en"), ("en", "de")])
def test_an_invalid_line_closes_both_files(bad: str, good: str, tmp_path: Path, opened: list[BinaryIO]) -> None:
    (tmp_path / f"t.{bad}").write_bytes(b"a\n\xff\n")
    (tmp_path / f"t.{good}").write_text("b\n" * 3)
    with pytest.raises(UserError, match=rf"t\.{bad} line 2: not valid UTF-8") as error:
        read(f"{tmp_path}/t.{{lang}}")
    assert [stream.closed for stream in opened] == [True, True], error


def test_blank_aligned_files_are_rejected_by_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"t\.de: only empty lines \(2\)"):
        read(write_aligned(tmp_path, [Pair("", "b"), Pair(" ", "b")]))
    with pytest.raises(UserError, match=r"t\.en: only empty lines \(1\)"):
        read(write_aligned(tmp_path, [Pair("a", "")]))
    with pytest.raises(UserError, match=r"t\.de: empty file"):
        read(write_aligned(tmp_path, []))


def test_missing_files_are_reported_with_the_nearest_match(tmp_path: Path) -> None:
    write_aligned(tmp_path, [Pair("a", "b")])
    with pytest.raises(UserError, match=r"tt\.de: no such file; did you mean 't\.de'"):
        read(f"{tmp_path}/tt.{{lang}}")
    with pytest.raises(UserError, match=r"nowhere/t\.de: no such file"):
        read(f"{tmp_path}/nowhere/t.{{lang}}")
    (tmp_path / "d.tsv").mkdir()
    with pytest.raises(UserError, match=r"d\.tsv: is a directory"):
        read(f"{tmp_path}/d.tsv")
    (tmp_path / "l.tsv").symlink_to("l.tsv")
    with pytest.raises(UserError, match=r"l\.tsv: is a link to 'l\.tsv', which does not exist or leads back"):
        read(f"{tmp_path}/l.tsv")


def test_lines_of_a_pipe_arrive_as_they_are_written(tmp_path: Path) -> None:
    pipe, arrived, in_time = tmp_path / "pipe", threading.Event(), []
    os.mkfifo(pipe)

    def write() -> None:
        with pipe.open("w") as file:
            for number in range(3):
                arrived.clear()
                print(number, file=file, flush=True)
                in_time.append(arrived.wait(10))

    writer = threading.Thread(target=write)
    writer.start()
    for line in read_lines(pipe):
        assert line.isdecimal()
        arrived.set()
    writer.join()
    assert in_time == [True] * 3
