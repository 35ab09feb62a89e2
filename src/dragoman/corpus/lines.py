"""Reading text files line by line: UTF-8 or a declared encoding, plain or gzip."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import IO, BinaryIO, cast

from dragoman.corpus.encodings import SAMPLE_BYTES, check_declared, explain_damage
from dragoman.errors import UserError
from dragoman.text.normalization import find_forbidden, replace_forbidden

MAX_LINE_CHARACTERS = 100_000
"""Longer lines are rejected: such a line is not one sentence."""

_BYTE_ORDER_MARK = "\ufeff".encode()
MAX_LINE_BYTES = 4 * MAX_LINE_CHARACTERS + len(_BYTE_ORDER_MARK) + len(b"\r\n")
"""The size of the longest line in UTF-8, with a byte order mark and the end of the line."""
BLOCK_BYTES = 1 << 18  # of a file
_ASCII_CONTROLS = bytes(code for code in (*range(32), 127) if chr(code) not in "\t\n")
_C1_CONTROLS = re.compile(rb"\xc2[\x80-\x9f]")
_TOO_LONG = f"longer than {MAX_LINE_CHARACTERS:,} characters; the file probably does not have one sentence per line"


Check = Callable[[str], str]
"""Returns the text of a line, perhaps repaired; raises `LineError` if it is rejected."""


REPLACE_LINE_ENDS = r"tr '\r' '\n'"
REPLACE_CONTROLS = r"perl -CS -pe 's/[^\P{Cc}\t\r\n]/ /g'"
"""Commands that correct text in UTF-8."""


class LineError(ValueError):
    """Why a line is rejected; does not say which file and line, because the caller knows them.

    Attributes:
        purpose: What `command` does.
        command: A command that corrects text in UTF-8 from standard input; empty if there is none.
    """

    def __init__(self, problem: str, purpose: str = "", command: str = "") -> None:
        super().__init__(problem)
        self.purpose, self.command = purpose, command

    def advice(self, name: str, encoding: str | None = None) -> str:
        """How to correct a file, as the end of a message."""
        if not self.command:
            return ""
        start = "gzip -dc FILE | " if name.endswith(".gz") else ""
        if encoding:
            start += f"iconv -f {encoding} -t utf-8 {'' if start else 'FILE '}| "
        return f"; {self.purpose}: {start}{self.command}{'' if start else ' < FILE'} > NEW"


def read_lines(
    path: Path, encoding: str | None = None, *, replace_controls: bool = False
) -> Generator[str, None, None]:
    """The lines of a file, plain or ``.gz``, without line ends. Its encoding is UTF-8 if none is given.

    Only a line feed ends a line (a carriage return before it is dropped). An empty line is an empty string; an empty
    file has no lines. With `replace_controls`, control characters become spaces, except NUL, which text in UTF-16 has.

    Raises:
        UserError: With file and line, for text that is not in this encoding, control characters other than tab, lines
            of more than `MAX_LINE_CHARACTERS`, and damaged gzip; with the file, if it cannot be read. It is an
            `UndeclaredError` if the file looks like another encoding.
    """
    number = 0
    try:
        with open_binary(path) as stream:
            if not encoding and path.suffix.lower() != ".gz":
                yield from _decode_blocks(
                    cast(io.BufferedReader, stream), str(path), _replace_controls if replace_controls else check_text
                )
                return
            for line in decode_lines(stream, str(path), encoding, replace_controls=replace_controls):
                number += 1
                yield line
    except gzip.BadGzipFile as error:
        raise UserError(f"{path}: named .gz, but not a valid gzip file ({error})") from None
    except (EOFError, zlib.error) as error:
        raise UserError(f"{path}: gzip file truncated or damaged after line {number} ({error})") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None


def decode_lines(
    stream: IO[bytes], name: str, encoding: str | None = None, *, replace_controls: bool = False
) -> Iterator[str]:
    """The lines of an open stream, such as standard input, as `read_lines` returns them.

    Args:
        stream: Text.
        name: What error messages call it.
        encoding: Its encoding, if it is not UTF-8.
        replace_controls: As for `read_lines`.

    Raises:
        UserError: For text that `read_lines` rejects.
    """
    check = _replace_controls if replace_controls else check_text
    return _decode_other(stream, name, encoding, check) if encoding else _decode_utf8(stream, name, check)


def _decode_blocks(stream: io.BufferedReader, name: str, check: Check) -> Iterator[str]:
    """The lines of a file in UTF-8. Many are decoded and checked at once, which is several times as fast."""
    number, head, is_utf8 = 1, b"", False
    while block := stream.read1(BLOCK_BYTES):  # of a pipe, what has arrived
        if not block.endswith(b"\n"):
            block += stream.readline(MAX_LINE_BYTES)
        head = head or block[: block.find(b"\n") + 1 or None]
        lines = _decode_block(block.removeprefix(_BYTE_ORDER_MARK) if number == 1 else block)
        if lines is None:
            yield from _decode_utf8(io.BytesIO(block), name, check, number, head, is_utf8)
        else:
            yield from lines
        number, is_utf8 = number + block.count(b"\n"), is_utf8 or not block.isascii()


def _decode_block(block: bytes) -> list[str] | None:
    """The lines of a block, or None if it may contain an error."""
    try:
        block = block.replace(b"\r\n", b"\n")
        lines = block.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        return None
    valid = not _has_controls(block) and max(map(len, lines)) <= MAX_LINE_CHARACTERS
    return lines if valid else None


def _has_controls(block: bytes) -> bool:
    """Whether text in UTF-8 has characters that `find_forbidden` finds, except line feeds; six times as fast."""
    return len(block.translate(None, _ASCII_CONTROLS)) < len(block) or _C1_CONTROLS.search(block) is not None


def _decode_utf8(
    stream: IO[bytes], name: str, check: Check, first: int = 1, head: bytes = b"", is_utf8: bool = False
) -> Iterator[str]:
    """The lines of a stream, or of a part of it that begins with its line `first`.

    The first line of all is `head`; `is_utf8` is whether lines before were in UTF-8, other than ASCII.
    """
    for number in count(first):
        raw = stream.readline(MAX_LINE_BYTES)
        if not raw:
            return
        head = head or raw
        try:
            line = check(_decode(raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw))
        except LineError as error:
            damaged = b"" if is_utf8 else raw + _read_ahead(stream)
            raise explain_damage(f"{name} line {number}: {error}", head, damaged, error.advice(name)) from None
        is_utf8 = is_utf8 or not line.isascii()
        yield line


def _read_ahead(stream: IO[bytes]) -> bytes:
    """More text, to guess its encoding; none from a pipe, which may have none for a long time."""
    with suppress(OSError, EOFError, zlib.error):  # damaged gzip
        return stream.read(SAMPLE_BYTES) if stream.seekable() else b""
    return b""


def _decode_other(stream: IO[bytes], name: str, encoding: str, check: Check) -> Iterator[str]:
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, stream))
    check_declared(encoding, buffered.peek(), name)
    number = 0
    with io.TextIOWrapper(buffered, encoding, newline="\n") as text:
        try:
            while line := text.readline(MAX_LINE_CHARACTERS + len("\ufeff\r\n")):
                number += 1
                line = line.removeprefix("\ufeff") if number == 1 else line
                yield check(line.removesuffix("\n").removesuffix("\r"))
        except UnicodeDecodeError as error:
            raise UserError(f"{_describe_invalid(error, name, number, encoding)}; correct the encoding") from None
        except LineError as error:
            raise UserError(f"{name} line {number}: {error}{error.advice(name, encoding)}") from None


def _describe_invalid(error: UnicodeDecodeError, name: str, read: int, encoding: str) -> str:
    """Describe an invalid byte. `read` lines came before this block, which may begin in the middle of a line."""
    codec = encoding if error.encoding == "charmap" else error.encoding  # of UTF-16, the order of its bytes
    line = read + 1 + error.object[: error.start].decode(codec, "replace").count("\n")
    return f"{name} line {line}: not valid {encoding} (byte 0x{error.object[error.start]:02x})"


def _decode(raw: bytes) -> str:
    if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
        raise LineError(_TOO_LONG)
    try:
        return raw.removesuffix(b"\n").removesuffix(b"\r").decode()
    except UnicodeDecodeError as error:
        raise LineError(f"not valid UTF-8 (byte 0x{raw[error.start]:02x} at position {error.start + 1})") from None


def check_text(text: str) -> str:
    """The text, if it can be a sentence.

    Raises:
        LineError: It is too long, or contains control characters.
    """
    if len(text) > MAX_LINE_CHARACTERS:
        raise LineError(_TOO_LONG)
    position = find_forbidden(text)
    if position is not None:
        problem = f"control character U+{ord(text[position]):04X} at character {position + 1}"
        if text[position] == "\r":
            raise LineError(problem, "if it ends lines, as on old Macs", REPLACE_LINE_ENDS)
        if text[position] == "\0":  # the data is not text
            raise LineError(problem)
        raise LineError(problem, "to replace all of them with spaces", REPLACE_CONTROLS)
    return text


def _replace_controls(text: str) -> str:
    return check_text(text if "\0" in text else replace_forbidden(text))


def open_binary(path: Path) -> BinaryIO:
    """Open a file for reading; ``.gz`` files are decompressed.

    Raises:
        OSError: It cannot be opened.
    """
    if path.suffix.lower() != ".gz":
        return path.open("rb")
    # GzipFile.readline is written in Python; a buffer in front of it makes reading lines several times as fast.
    return io.BufferedReader(cast(io.RawIOBase, gzip.open(path)))
