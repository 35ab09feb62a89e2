"""Word documents."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from functools import partial

from dragoman.documents.formats.file import DocumentFile
from dragoman.documents.formats.office_text import open_office_xml
from dragoman.documents.formats.package import OpenMember, PackagedDocument, require_member

_BODY = "word/document.xml"
_OTHER = re.compile(r"word/(?:footnotes|endnotes|header\d*|footer\d*)\.xml")


def open_docx(file: DocumentFile) -> PackagedDocument:
    """The body, the notes, the headers and the footers of a document."""
    return PackagedDocument(file, partial(_find_members, file))


def _find_members(file: DocumentFile, archive: zipfile.ZipFile) -> Mapping[str, OpenMember]:
    require_member(archive, _BODY, file, "a Word document")
    names = [_BODY, *sorted(filter(_OTHER.fullmatch, archive.namelist()))]
    return dict.fromkeys(names, open_office_xml)
