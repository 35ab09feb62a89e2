"""Text documents of LibreOffice (ODT)."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from functools import partial

from dragoman.documents.formats.file import DocumentFile
from dragoman.documents.formats.package import OpenMember, PackagedDocument, open_properties, warn_of_comments
from dragoman.documents.formats.xml_text import open_xml
from dragoman.errors import UserError
from dragoman.markup.elements import ODT

_CONTENT, _STYLES, _META, _MANIFEST = "content.xml", "styles.xml", "meta.xml", "META-INF/manifest.xml"
"""The format prescribes these names (OpenDocument 1.3, part 2, 2.2.1 and 3.2)."""


def open_odt(file: DocumentFile) -> PackagedDocument:
    """The body, the footnotes, the headers and the footers of a document, and its title and description."""
    return PackagedDocument(file, partial(_find_members, file))


def _find_members(file: DocumentFile, archive: zipfile.ZipFile) -> Mapping[str, OpenMember]:
    members = archive.namelist()
    if _CONTENT not in members:
        raise UserError(
            f"{file.name}: is not an ODT document, because it contains no {_CONTENT}; save it again in its program"
        )
    if _MANIFEST in members and b"encryption-data" in archive.read(_MANIFEST):
        raise UserError(f"{file.name}: is encrypted; open it in LibreOffice, remove the password, and save it again")
    if b"<office:annotation" in archive.read(_CONTENT):
        warn_of_comments(file)
    opener = partial(open_xml, elements=ODT)
    openers: Mapping[str, OpenMember] = {_CONTENT: opener, _STYLES: opener, _META: open_properties}
    return {name: each for name, each in openers.items() if name in members}
