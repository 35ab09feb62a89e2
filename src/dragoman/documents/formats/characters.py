"""The characters of a text file, and back to bytes in the same encoding."""

from __future__ import annotations

import codecs
import io
import re
from dataclasses import dataclass

from dragoman.corpus.encodings import SAMPLE_BYTES, explain_damage, find_byte_order_mark
from dragoman.corpus.references import UndeclaredError
from dragoman.corpus.xml_encoding import decode_xml, find_xml_encoding
from dragoman.documents.formats.file import DocumentFile
from dragoman.errors import UserError
from dragoman.markup.xml import TreeParser, XmlElement, refuse_huge_xml

_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_ONLY_IN_WINDOWS = re.compile(rb"[\x80-\x9f]")


@dataclass(frozen=True)
class Characters:
    """The text of a file, without its byte order mark, and its encoding."""

    text: str
    encoding: str
    mark: bytes = b""
    errors: str = "strict"

    def encode(self, text: str) -> bytes:
        """The bytes of another text in the same encoding.

        Raises:
            UnicodeEncodeError: It lacks a character, which `errors` does not replace.
        """
        return self.mark + text.encode(self.encoding, self.errors)


def read_characters(file: DocumentFile) -> Characters:
    """The text of a file in UTF-8, or in UTF-16 or UTF-32 with a byte order mark.

    Raises:
        UserError: It is in another encoding, or not text.
    """
    mark, encoding = find_mark(file.data)
    try:
        text = file.data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = file.data[: error.start + len(mark)].count(b"\n") + 1
        damaged = file.data[max(0, error.start - 100) : error.start + SAMPLE_BYTES]
        cause = explain_damage(f"{file.name} line {line}: not valid {encoding.upper()}", file.data[:4096], damaged)
        or_ = "or " if isinstance(cause, UndeclaredError) else ""  # which names another way
        raise UserError(f"{cause}; {or_}save it as UTF-8") from None
    if control := _CONTROL.search(text):
        line = text.count("\n", 0, control.start()) + 1
        problem = f"{file.name} line {line}: contains a control character, so it is probably not text"
        raise UserError(f"{explain_damage(problem, file.data[:4096], file.data[:200])}; expected text in UTF-8")
    return Characters(text, encoding, mark)


def read_xml(file: DocumentFile) -> tuple[XmlElement, Characters]:
    """The tree of an XML file, see `TreeParser.parse`, and its text, in the encoding that it declares.

    Raises:
        UserError: The file is not well-formed XML, is huge or deeply nested, or declares entities.
    """
    characters = _read_xml_characters(file)
    elements = characters.text.count("<") - characters.text.count("</")
    refuse_huge_xml(file.name, len(characters.text), elements)
    parser = TreeParser(file.name)
    return parser.parse(characters.text), characters


def _read_xml_characters(file: DocumentFile) -> Characters:
    encoding = find_xml_encoding(file.data[:65536])
    text = "".join(decode_xml(io.BytesIO(file.data), file.name, None))
    mark, marked = find_mark(file.data)
    if mark:
        encoding = marked
    elif encoding == "cp1252":
        encoding = latin_or_windows(file.data)
    return Characters(text, encoding, mark, "xmlcharrefreplace")


def latin_or_windows(data: bytes) -> str:
    """The encoding to write a file in that states Latin-1, for programs that then read only Latin-1."""
    return "cp1252" if _ONLY_IN_WINDOWS.search(data) else "latin-1"


def find_mark(data: bytes) -> tuple[bytes, str]:
    """The byte order mark of a file, and the encoding of the data after it: UTF-8 if it has none."""
    marks = (codecs.BOM_UTF8, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    mark = next((mark for mark in marks if data.startswith(mark)), b"")
    encoding = find_byte_order_mark(data) or "utf-8"
    if encoding in ("utf-16", "utf-32"):  # Python would choose the byte order
        encoding += "-le" if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF32_LE) else "-be"
    return mark, encoding.removesuffix("-sig")
