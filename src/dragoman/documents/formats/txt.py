"""Plain text files."""

from __future__ import annotations

import warnings

from dragoman.documents.formats.characters import read_characters
from dragoman.documents.formats.file import DocumentFile, EncodedDocument
from dragoman.documents.hard_wrap import WrappedText
from dragoman.errors import counted
from dragoman.markup.file_kinds import find_similar_kind


def open_txt(file: DocumentFile) -> EncodedDocument:
    """A text with lines, paragraphs and lists; lines that were broken at a certain width are joined."""
    characters = read_characters(file)
    if kind := find_similar_kind(characters.text):
        warnings.warn(
            f"{file.name}: is translated as text, but looks like {kind.content}; {kind.document}", stacklevel=2
        )
    text = WrappedText(characters.text, file.languages[0], file.whole_lines)
    if text.breaks:
        warnings.warn(
            f"{file.name}: the lines are broken at {text.width} characters, so {counted(text.breaks, 'line break')} "
            "inside of paragraphs are read as spaces; if each line is a text by itself, translate it with --input",
            stacklevel=2,
        )
    return EncodedDocument(text, characters.encode)
