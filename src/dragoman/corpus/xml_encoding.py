"""The encoding of XML files: a byte order mark, else what the XML declaration says, else UTF-8."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import IO

from dragoman.corpus.encodings import (
    SAMPLE_BYTES,
    check_declared,
    describe_content,
    describe_guess,
    explain_damage,
    find_byte_order_mark,
    guess_encoding,
)
from dragoman.corpus.references import UndeclaredError
from dragoman.errors import UserError

_BLOCK = 1 << 16
_DECLARATION = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)""")


def decode_xml(stream: IO[bytes], name: str, encoding: str | None) -> Iterator[str]:
    """The text of an XML file in blocks.

    Args:
        stream: The file, decompressed.
        name: What error messages call it.
        encoding: Its encoding, if it is not the one that it declares.

    Raises:
        UserError: The file is not XML, is empty, or is not in its encoding.
    """
    block = stream.read(_BLOCK)
    if not block.strip():
        raise UserError(f"{name}: empty file; export or download it again")
    encoding = encoding or find_xml_encoding(block)
    check_declared(encoding, block, name)
    decoder = codecs.getincrementaldecoder(encoding)()
    line, first = 1, True
    while block:
        try:
            text = decoder.decode(block)
        except UnicodeDecodeError as error:
            raise _explain(error, name, line, block) from None
        except UnicodeError as error:  # no byte order mark
            raise UserError(f"{name}: {error}; remove the setting of the encoding, which is then detected") from None
        if first and not text.lstrip("\ufeff").lstrip().startswith("<"):
            raise explain_damage(f"{name} line 1: not XML", block, block)
        yield text.removeprefix("\ufeff") if first else text
        first = False
        line += text.count("\n")
        block = stream.read(_BLOCK)


def find_xml_encoding(head: bytes) -> str:
    """The encoding of an XML file, given its first bytes."""
    if mark := find_byte_order_mark(head):
        return mark
    for wide in ("utf-16-le", "utf-16-be"):
        if head.startswith("<?".encode(wide)):
            return wide
    declared = _DECLARATION.match(head)
    encoding = declared[1].decode() if declared else "utf-8"
    # The declaration was read as bytes, so it is wrong if it says UTF-16: another program has converted the file.
    if encoding.lower().startswith(("utf-16", "utf-32", "utf16")):
        return "utf-8"
    # Programs that declare Latin-1 usually write Windows-1252, its superset, as browsers assume too.
    return "cp1252" if encoding.lower() in ("iso-8859-1", "latin1", "latin-1") else encoding


def _explain(error: UnicodeDecodeError, name: str, line: int, block: bytes) -> UserError:
    """The error for a block that starts in a line and cannot be decoded."""
    line += error.object[: error.start].count(b"\n")
    problem = f"{name} line {line}: not valid {error.encoding} text"
    if content := describe_content(block):
        return UserError(f"{problem}; the file is {content}")
    damaged = error.object[max(0, error.start - 100) : error.start + SAMPLE_BYTES]
    if encoding := guess_encoding(damaged):
        return UndeclaredError(f"{problem}; {describe_guess(encoding, damaged)}", encoding=encoding)
    return UserError(f"{problem}; the file is damaged, or declares a wrong encoding")
