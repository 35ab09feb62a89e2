"""Opening a document in any format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from dragoman.corpus.encodings import describe_content
from dragoman.corpus.pair import Languages
from dragoman.corpus.xliff import SUFFIXES as XLIFF_SUFFIXES
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


def find_source(
    data: bytes, name: str, sources: Sequence[str], target: str, columns: Sequence[str] = ()
) -> tuple[str | None, list[str]]:
    """What says in which language a document is: the only one that it can be opened in, if it states one, and its text.

    Args:
        data: The content of the file.
        name: Its name.
        sources: The languages that are possible.
        target: The language to translate into.
        columns: See `open_document`.

    Raises:
        UserError: As from `open_document`, for every language.
    """
    found, refused = dict[str, list[str]](), list[str]()
    for source in sources:
        try:
            document = open_document(data, name, (source, target), columns)
        except UserError as error:
            if str(error) in refused:  # it is not about the language
                raise
            refused.append(str(error))
            continue
        found[source] = [segment.text for segment in document.segments]
        if found[source]:
            return (source if refused else None), found[source]
    if not found:
        raise UserError(refused[0])
    return (next(iter(found)) if refused else None), []


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
