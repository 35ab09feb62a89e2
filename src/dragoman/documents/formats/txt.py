"""Plain text files."""

from __future__ import annotations

from dragoman.documents.formats.characters import read_characters
from dragoman.documents.formats.file import DocumentFile, EncodedDocument
from dragoman.documents.sentences import PlainText


def open_txt(file: DocumentFile) -> EncodedDocument:
    """A text with lines, paragraphs and lists."""
    characters = read_characters(file)
    return EncodedDocument(PlainText(characters.text, file.languages[0], file.whole_lines), characters.encode)
