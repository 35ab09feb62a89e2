"""Text files as lines: UTF-8, plain or gzip, read one line at a time."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path
from typing import BinaryIO, cast

from dragoman.errors import UserError

MAX_LINE_CHARACTERS = 100_000
"""A longer line is refused: whatever it is, it is not one sentence."""

MAX_LINE_BYTES = 4 * MAX_LINE_CHARACTERS + len("\ufeff".encode()) + len(b"\r\n")
"""The size of the longest line in UTF-8, with a byte order mark and the end of the line."""

_BYTE_ORDER_MARK = "\ufeff".encode()

CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]")
"""Unicode's category Cc except tab, and lone surrogates, which JSON can contain but UTF-8 cannot."""


def read_lines(path: Path) -> Generator[str, None, None]:
    """The lines of a UTF-8 file, plain or ``.gz``, without their ends.

    Only a line feed ends a line (a carriage return before it is dropped); an empty line is an empty string,
    an empty file has no lines.

    Raises:
        UserError: With file and line, for invalid UTF-8, control characters other than tab, lines of more than
            `MAX_LINE_CHARACTERS`, and damaged gzip; with the file, if it cannot be read.
    """
    number = 0
    try:
        with open_text_file(path) as stream:
            for line in decode_lines(stream, str(path)):
                number += 1
                yield line
    except gzip.BadGzipFile as error:
        raise UserError(f"{path}: named .gz, but not a gzip file or a damaged one ({error})") from None
    except (EOFError, zlib.error) as error:
        raise UserError(f"{path}: gzip file truncated or damaged after line {number} ({error})") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None


def decode_lines(stream: BinaryIO, name: str) -> Iterator[str]:
    """The lines of an open stream, such as standard input, by the rules of `read_lines`; `name` is for messages."""
    for number in count(1):
        raw = stream.readline(MAX_LINE_BYTES)
        if not raw:
            return
        if number == 1:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
            raise _too_long(name, number)
        try:
            line = raw.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise UserError(
                f"{name} line {number}: not valid UTF-8 (byte 0x{raw[error.start]:02x} at position {error.start + 1})"
            ) from None
        check_text(line, name, number)
        yield line


def check_text(text: str, name: str, number: int) -> None:
    """Refuse text that cannot be a sentence: too long, or with control characters.

    Raises:
        UserError: Naming the file `name` and the line `number`.
    """
    if len(text) > MAX_LINE_CHARACTERS:
        raise _too_long(name, number)
    if found := CONTROL_CHARACTERS.search(text):
        code = ord(found.group())
        raise UserError(f"{name} line {number}: control character U+{code:04X} at character {found.start() + 1}")


def without_controls(text: str) -> str:
    """The text with a space in place of every character that `check_text` refuses."""
    return CONTROL_CHARACTERS.sub(" ", text)


def open_text_file(path: Path) -> BinaryIO:
    """Open a file to read its bytes, decompressed if its name ends in ``.gz``.

    Raises:
        OSError: The file cannot be opened.
    """
    if path.suffix != ".gz":
        return path.open("rb")
    # GzipFile.readline is Python; a buffer in front of it reads lines several times as fast.
    return io.BufferedReader(cast(io.RawIOBase, gzip.open(path)))


def _too_long(name: str, number: int) -> UserError:
    return UserError(
        f"{name} line {number}: longer than {MAX_LINE_CHARACTERS:,} characters; this is probably not text with "
        "one sentence a line"
    )
