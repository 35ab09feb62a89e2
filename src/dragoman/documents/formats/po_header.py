"""The header of a message catalog (PO): the translation of the empty message at the start."""

from __future__ import annotations

import codecs
import re

_HEADER = re.compile(
    rb'(?:\xef\xbb\xbf)?(?:[ \t\r]*+(?:#[^\n]*+)?\n)*msgid[ \t]*+""[ \t\r]*+\nmsgstr[ \t]*+"[^\n]*+'
    rb'(?:\n[ \t]*+"[^\n]*+)*'
)
_CHARSET = re.compile(rb"charset=[ \t]*+([\w.:-]++)")
_KNOWN = re.compile(
    r"ascii|utf-8|iso8859-\d+|koi8-[rtu]|cp\d+|mac-[a-z]+|gb2312|gbk|gb18030|big5(?:hkscs)?|hz|"
    r"euc_(?:jp|kr)|shift_jis|iso2022_(?:jp|kr)|johab|tis-620|ptcp154"
)
"""Encodings of text, as Python names them; others, such as punycode, are none that gettext knows, and may be slow."""


def header_end(content: bytes) -> int:
    """Where the header ends, which is also that of no header."""
    match = _HEADER.match(content)
    return match.end() if match else 0


def find_charset(content: bytes) -> str:
    """The encoding that the header of a file declares, or "utf-8"."""
    declared = _CHARSET.search(content, 0, header_end(content))
    name = declared[1].decode() if declared else "CHARSET"
    return "utf-8" if name == "CHARSET" else name  # as templates declare


def find_codec(charset: str) -> str:
    """What Python calls an encoding.

    Raises:
        LookupError: It is not known.
    """
    codec = codecs.lookup(charset).name
    if not _KNOWN.fullmatch(codec):
        raise LookupError(charset)
    return codec


def declare_charset(content: bytes, charset: str) -> bytes:
    """A file whose header declares another encoding."""
    declared = _CHARSET.search(content, 0, header_end(content))
    return content[: declared.start(1)] + charset.encode() + content[declared.end(1) :] if declared else content
