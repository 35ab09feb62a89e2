"""Reading text files line by line: UTF-8, plain or gzip."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path
from typing import BinaryIO, cast

from dragoman.errors import UserError
from dragoman.text.normalization import find_forbidden

MAX_LINE_CHARACTERS = 100_000
"""Longer lines are rejected: such a line is not one sentence."""

_BYTE_ORDER_MARK = "\ufeff".encode()
MAX_LINE_BYTES = 4 * MAX_LINE_CHARACTERS + len(_BYTE_ORDER_MARK) + len(b"\r\n")
"""The size of the longest line in UTF-8, with a byte order mark and the end of the line."""
_TOO_LONG = f"longer than {MAX_LINE_CHARACTERS:,} characters; the file probably does not have one sentence per line"


class LineError(ValueError):
    """Why a line is rejected; does not say which file and line, because the caller knows them."""


def read_lines(path: Path) -> Generator[str, None, None]:
    """The lines of a UTF-8 file, plain or ``.gz``, without line ends.

    Only a line feed ends a line (a carriage return before it is dropped). An empty line is an empty string; an empty
    file has no lines.

    Raises:
        UserError: With file and line, for invalid UTF-8, control characters other than tab, lines of more than
            `MAX_LINE_CHARACTERS`, and damaged gzip; with the file, if it cannot be read.
    """
    number = 0
    try:
        with open_binary(path) as stream:
            for line in decode_lines(stream, str(path)):
                number += 1
                yield line
    except gzip.BadGzipFile as error:
        raise UserError(f"{path}: named .gz, but not a valid gzip file ({error})") from None
    except (EOFError, zlib.error) as error:
        raise UserError(f"{path}: gzip file truncated or damaged after line {number} ({error})") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None


def decode_lines(stream: BinaryIO, name: str) -> Iterator[str]:
    """The lines of an open stream, such as standard input, as `read_lines` returns them.

    Args:
        stream: UTF-8 text.
        name: What error messages call it.

    Raises:
        UserError: For text that `read_lines` rejects.
    """
    for number in count(1):
        raw = stream.readline(MAX_LINE_BYTES)
        if not raw:
            return
        try:
            line = _decode(raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw)
        except LineError as error:
            raise UserError(f"{name} line {number}: {error}") from None
        yield line


def _decode(raw: bytes) -> str:
    if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
        raise LineError(_TOO_LONG)
    try:
        line = raw.removesuffix(b"\n").removesuffix(b"\r").decode()
    except UnicodeDecodeError as error:
        raise LineError(f"not valid UTF-8 (byte 0x{raw[error.start]:02x} at position {error.start + 1})") from None
    check_text(line)
    return line


def check_text(text: str) -> None:
    """Check that a text can be a sentence.

    Raises:
        LineError: It is too long, or contains control characters.
    """
    if len(text) > MAX_LINE_CHARACTERS:
        raise LineError(_TOO_LONG)
    position = find_forbidden(text)
    if position is not None:
        raise LineError(f"control character U+{ord(text[position]):04X} at character {position + 1}")


def open_binary(path: Path) -> BinaryIO:
    """Open a file for reading; ``.gz`` files are decompressed.

    Raises:
        OSError: It cannot be opened.
    """
    if path.suffix != ".gz":
        return path.open("rb")
    # GzipFile.readline is written in Python; a buffer in front of it makes reading lines several times as fast.
    return io.BufferedReader(cast(io.RawIOBase, gzip.open(path)))
