"""Opening a document in any format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from dragoman.corpus.encodings import describe_content
from dragoman.corpus.pair import Languages
from dragoman.corpus.xliff import SUFFIXES as XLIFF_SUFFIXES
from dragoman.corpus.xml_encoding import find_xml_encoding
from dragoman.documents.formats.epub import open_epub
from dragoman.documents.formats.file import DocumentFile, OpenDocument
from dragoman.documents.formats.html import open_html
from dragoman.documents.formats.json_values import open_json
from dragoman.documents.formats.language_labels import LabeledDocument
from dragoman.documents.formats.markdown import open_markdown
from dragoman.documents.formats.odt import open_odt
from dragoman.documents.formats.office import open_docx, open_pptx
from dragoman.documents.formats.po import PoDocument
from dragoman.documents.formats.subtitles import open_srt, open_webvtt
from dragoman.documents.formats.table import open_csv, open_tsv
from dragoman.documents.formats.tmx import open_tmx
from dragoman.documents.formats.txt import open_txt
from dragoman.documents.formats.xliff import open_xliff
from dragoman.documents.segment import SegmentedDocument
from dragoman.documents.sentences import WholeLines
from dragoman.errors import UserError, nearest
from dragoman.languages.codes import find_language
from dragoman.markup.file_kinds import find_document_kind

DOCUMENT_FORMATS: dict[str, OpenDocument] = {
    ".txt": open_txt,
    ".md": open_markdown,
    ".markdown": open_markdown,
    ".html": open_html,
    ".htm": open_html,
    ".srt": open_srt,
    ".vtt": open_webvtt,
    ".po": PoDocument,
    ".pot": PoDocument,
    **dict.fromkeys(XLIFF_SUFFIXES, open_xliff),
    ".tmx": open_tmx,
    ".json": open_json,
    ".arb": open_json,
    ".csv": open_csv,
    ".tsv": open_tsv,
    ".docx": open_docx,
    ".pptx": open_pptx,
    ".odt": open_odt,
    ".epub": open_epub,
}
"""What opens a document, by suffix."""

MAX_DOCUMENT_BYTES = 200_000_000

_HEAD_BYTES = 65_536
_ARCHIVES = (".docx", ".pptx", ".odt", ".epub")
_BILINGUAL = (*XLIFF_SUFFIXES, ".tmx", ".po", ".pot")
_NO_LANGUAGE = "zxx"
_LETTERS = 20  # of a sentence, by which a language can be recognized
_STATED = re.compile(r"""\s(?:source-language|srcLang|srclang)\s*=\s*["']([^"']+)""")


def find_source(
    data: bytes, name: str, sources: Sequence[str], target: str, columns: Sequence[str] = ()
) -> tuple[str | None, list[str]]:
    """What says in which language a document is: the one that it states as XLIFF and TMX do, and its texts.

    Files in two languages can only be opened in those; a translation memory is in the language that most segments to
    translate have. In other documents, parts with a label of their language count only if there is no other sentence.

    Args:
        data: The content of the file.
        name: Its name.
        sources: The languages that are possible.
        target: The language to translate into.
        columns: See `open_document`.

    Raises:
        UserError: As from `open_document`.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix not in _BILINGUAL:
        texts: list[str] = []
        for source in (_NO_LANGUAGE, ""):  # parts without a label, or all
            document = open_document(data, name, (source, target), columns)
            texts = [segment.text for segment in document.segments]
            if any(sum(map(str.isalpha, text)) >= _LETTERS for text in texts):
                break
        return None, texts
    stated = _find_stated(data, sources) if suffix not in (".po", ".pot") else None
    opened: dict[str, list[str]] = {}
    problems: list[UserError] = []
    for source in [stated] if stated else sources:
        try:
            document = open_document(data, name, (source, target), columns)
        except UserError as problem:
            problems.append(problem)
        else:
            opened[source] = [segment.text for segment in document.segments]
            if suffix != ".tmx":  # which has another text for each language
                break
    if not opened:
        raise problems[0]
    if suffix == ".tmx":
        others = [source for source in opened if source != target]  # it is possible where it is returned unchanged
        stated = max(others or opened, key=lambda source: sum(map(len, opened[source])))
    return stated, next(iter(opened.values()))


def _find_stated(data: bytes, sources: Sequence[str]) -> str | None:
    """The source language that an XML file states, if it is one of these."""
    head = data[:_HEAD_BYTES]
    try:
        found = _STATED.search(head.decode(find_xml_encoding(head), errors="replace"))
    except (LookupError, UnicodeError):  # opening the file explains this
        return None
    return find_language(found[1], tuple(sources)) if found else None


def open_document(
    data: bytes, name: str, languages: Languages, columns: Sequence[str] = (), whole_lines: WholeLines = False
) -> SegmentedDocument[bytes]:
    """The segments of a document, which becomes the document with their translations.

    Args:
        data: The content of the file.
        name: Its name, whose suffix is that of the format.
        languages: Codes of the source and the target.
        columns: The columns of a table to translate, by name or number; all if empty.
        whole_lines: Whether texts are not split into sentences, or which are not, see `TextTranslator.whole_lines`.

    Raises:
        UserError: Its format is not supported, or it is damaged, encrypted, not what its name says, or too large.
    """
    suffix = PurePath(name).suffix.lower()
    kind = find_document_kind(name, data[:_HEAD_BYTES])
    if suffix not in DOCUMENT_FORMATS:
        supported = f"supported are {' '.join(DOCUMENT_FORMATS)}{nearest(suffix, DOCUMENT_FORMATS)}"
        shown = f"{suffix} is" if suffix else "a name without a suffix is"
        raise UserError(f"{name}: {shown} not supported; {kind.document if kind else supported}")
    if suffix == ".txt" and kind:
        raise UserError(f"{name}: is {kind.content}; {kind.document}")
    if columns and suffix not in (".csv", ".tsv"):
        raise UserError(f"{name}: only CSV and TSV files have columns to choose")
    if len(data) > MAX_DOCUMENT_BYTES:
        raise UserError(f"{name}: larger than {MAX_DOCUMENT_BYTES // 1_000_000} MB; divide the document")
    if not data.strip():
        raise UserError(f"{name}: is empty; choose another file")
    if suffix not in _ARCHIVES and (content := describe_content(data[:8])):
        raise UserError(f"{name}: is {content}")
    file = DocumentFile(data, name, languages, columns, whole_lines)
    document = DOCUMENT_FORMATS[suffix](file)
    return document if suffix in _ARCHIVES else LabeledDocument(document, file)
