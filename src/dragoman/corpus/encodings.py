"""What the bytes of a file reveal about its encoding and its content."""

from __future__ import annotations

import codecs
import re

from dragoman.corpus.references import UndeclaredError
from dragoman.errors import UserError

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it starts with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SIGNATURES = {
    b"PK\x03\x04": "a ZIP archive, as are XLSX and DOCX files; its name should end accordingly",
    b"\x1f\x8b": "a gzip file; its name should end in .gz",
    b"BZh": "a bzip2 file; decompress it first",
    b"\xfd7zXZ": "an xz file; decompress it first",
    b"\x28\xb5\x2f\xfd": "a Zstandard file; decompress it first",
    b"%PDF": "a PDF document; extract its text first",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word document; save it as .xlsx or .csv first",
    b"MZ\x90\x00": "a Windows program, not text",
    b"\x7fELF": "a program, not text",
    b"\x89PNG": "a picture, not text",
}
_NO_TEXT = {"utf-7", "unicode-escape", "raw-unicode-escape", "punycode", "idna", "undefined", "mbcs", "oem"}
"""Python's encodings that are no encodings of text files."""
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_OTHER_THAN_ASCII = re.compile(r"[^\x00-\x7f]")
_ACCENTED_WORD = re.compile(r"[^\W\d_a-zA-Z]{4}")  # not in languages that are written in Windows-1252
_PADDING = b"\x1a\0"  # DOS ends files with U+001A
_ENOUGH_BYTES = 20  # other than ASCII; guesses from fewer are often wrong
SAMPLE_BYTES = 65_536
"""How much text is read to guess its encoding."""


def find_byte_order_mark(head: bytes) -> str | None:
    """The encoding whose byte order mark a file starts with."""
    return next((encoding for mark, encoding in _BYTE_ORDER_MARKS.items() if head.startswith(mark)), None)


def describe_content(head: bytes) -> str | None:
    """What a file that is not text is, given its first bytes."""
    return next((content for mark, content in _SIGNATURES.items() if head.startswith(mark)), None)


def explain_damage(problem: str, head: bytes, damaged: bytes, advice: str = "") -> UserError:
    """The error for a text file that is not UTF-8 or contains control characters, with the cause if it is known.

    Args:
        problem: What is wrong, and where.
        head: The first bytes of the file.
        damaged: The bytes of the line with the problem, and perhaps of the lines after it; none if the lines before are
            UTF-8 for certain, so that no other encoding is guessed.
        advice: What to do if the cause is not known.
    """
    if content := describe_content(head):
        return UserError(f"{problem}; the file is {content}")
    if (encoding := find_byte_order_mark(head)) and encoding != "utf-8-sig":
        return UndeclaredError(
            f"{problem}; the file starts with the byte order mark of {encoding.upper()}", encoding=encoding
        )
    if encoding := _find_utf16(head):
        return UndeclaredError(f"{problem}; the file looks like UTF-16 without a byte order mark", encoding=encoding)
    if "not valid UTF-8" in problem and (encoding := guess_encoding(damaged)):
        return UndeclaredError(f"{problem}; {describe_guess(encoding, damaged)}", encoding=encoding)
    return UserError(f"{problem}{advice}")


def _find_utf16(head: bytes) -> str | None:
    """UTF-16 of text that is mostly ASCII: every other byte is NUL."""
    for encoding, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if len(head) >= 4 and zeros.count(0) > 0.6 * len(zeros):
            return encoding
    return None


def guess_encoding(text: bytes) -> str | None:
    """The encoding that text in another encoding than UTF-8 probably has, or None.

    None means that most of the text is UTF-8, which is damaged, or that the text is too short to guess its encoding.
    Windows-1252 is preferred if both encodings give the same text.

    Args:
        text: Some lines. If they are not all in the same encoding, the first one counts.
    """
    as_utf8 = text.decode(errors="replace")
    if len(_OTHER_THAN_ASCII.findall(as_utf8)) >= 2 * as_utf8.count("\ufffd"):
        return None
    return _guess(text.rstrip(_PADDING)) or _guess(text.partition(b"\n")[0])


def _guess(text: bytes) -> str | None:
    import chardet

    has_enough = sum(byte > 127 for byte in text) >= _ENOUGH_BYTES
    eras = ~chardet.EncodingEra.MAINFRAME if has_enough else chardet.EncodingEra.MODERN_WEB
    found = chardet.detect(text, encoding_era=eras)["encoding"]
    decoded = _decode_as(found, text) if found and not found.startswith("UTF") else None
    if decoded is None or decoded.isascii() or _CONTROL.search(decoded):
        return None
    if decoded == _decode_as("cp1252", text):
        return None if _ACCENTED_WORD.search(decoded) else "cp1252"
    return found if has_enough else None


def _decode_as(encoding: str, text: bytes) -> str | None:
    """The text, without an incomplete character at its end; None if it is not in this encoding."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(text)
    except UnicodeDecodeError:
        return None


def describe_guess(encoding: str, text: bytes) -> str:
    """What `guess_encoding` returned for a text, in words."""
    if encoding != "cp1252":
        return f"the file looks like {encoding}"
    central = text.decode("cp1250", "replace")
    doubtful = sum(byte > 127 for byte in text) < _ENOUGH_BYTES and central != text.decode("cp1252", "replace")
    hint = " (cp1252, or cp1250 if it is in a language of Central Europe)" if doubtful else ""
    return f"the file looks like Windows-1252{hint}"


def check_declared(encoding: str, head: bytes, name: str) -> None:
    """Check that a declared encoding exists and that the first bytes of the file do not contradict it.

    Raises:
        UserError: It is unknown, or the file is UTF-8 or has a byte order mark of another encoding.
    """
    try:
        codec = codecs.lookup(encoding).name
        "".encode(codec)
        if codec.replace("_", "-") in _NO_TEXT:
            raise LookupError
    except (LookupError, UnicodeError):
        raise UserError(f"{name}: unknown encoding {encoding!r}; use a name such as 'cp1252' or 'utf-16'") from None
    mark = find_byte_order_mark(head)
    wide = codec.startswith(("utf-16", "utf-32"))
    if mark not in (None, codec) and not head.decode(codec, "replace").startswith("\ufeff"):
        shown = str(mark).removesuffix("-sig").upper()
        raise UserError(f"{name}: encoding = {encoding!r}, but the file starts with the byte order mark of {shown}")
    if not codec.startswith("utf") and not head.isascii() and _is_utf8(head):
        raise UserError(f"{name}: encoding = {encoding!r}, but the file is UTF-8; set it to 'utf-8'")
    if wide and head and not mark and b"\0" not in head:
        raise UserError(f"{name}: encoding = {encoding!r}, but the file is not; remove or correct the encoding")
    if codec in ("utf-16", "utf-32") and head and not mark:  # Python reads only one of the two orders, or none
        advice = f"declare '{codec}-le' or '{codec}-be'"
        raise UserError(f"{name}: encoding = {encoding!r}, but there is no byte order mark; {advice}")


def _is_utf8(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last character may be incomplete
    except UnicodeDecodeError:
        return False
    return True
