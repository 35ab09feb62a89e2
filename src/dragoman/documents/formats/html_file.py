"""HTML files."""

from __future__ import annotations

import codecs
import re
from dataclasses import replace

from dragoman.corpus.encodings import find_byte_order_mark
from dragoman.documents.formats.characters import Characters, latin_or_windows, read_characters
from dragoman.documents.formats.file import DocumentFile, EncodedDocument
from dragoman.documents.html_text import HtmlText

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)


def open_html(file: DocumentFile) -> EncodedDocument:
    """The texts of a page, and its descriptions of pictures and links."""
    characters = _read(file)
    return EncodedDocument(
        HtmlText(characters.text, file.languages[0], file.whole_lines, keeps_others=True), characters.encode
    )


def _read(file: DocumentFile) -> Characters:
    """The characters of a file, in the encoding of its byte order mark, or else the one that it declares."""
    declared = None if find_byte_order_mark(file.data) else _CHARSET.search(file.data[:4096])
    try:
        encoding = codecs.lookup(declared[1].decode()).name if declared else "utf-8"
        if encoding.startswith(("utf-16", "utf-32")):  # then the declaration would not have been found as bytes
            encoding = "utf-8"
        if encoding in ("iso8859-1", "ascii"):  # which browsers read as Windows-1252
            encoding = latin_or_windows(file.data)
        if encoding != "utf-8":
            return replace(Characters(file.data.decode(encoding), encoding), errors="xmlcharrefreplace")
    except (LookupError, UnicodeError):  # the error for a file that is not UTF-8 says more
        pass
    return read_characters(file)
