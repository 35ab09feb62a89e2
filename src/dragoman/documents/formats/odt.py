"""Text documents of LibreOffice (ODT)."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from functools import partial

from dragoman.documents.formats.file import DocumentFile
from dragoman.documents.formats.markup import ElementNames, names, open_markup
from dragoman.documents.formats.package import OpenMember, PackagedDocument, require_member
from dragoman.errors import UserError

_CONTENT, _STYLES, _MANIFEST = "content.xml", "styles.xml", "META-INF/manifest.xml"
_VOCABULARY = ElementNames(
    inline=names("span a meta meta-field ruby ruby-base"),
    kept=names(
        "annotation annotation-end bookmark bookmark-start bookmark-end bookmark-ref change change-start "
        "change-end reference-mark reference-mark-start reference-mark-end reference-ref note-ref sequence "
        "sequence-ref ruby-text soft-page-break page-number page-count date time chapter file-name "
        "author-name author-initials title subject variable-set variable-get variable-input user-field-get "
        "user-field-input expression text-input placeholder conditional-text hidden-text creator "
        "creation-date modification-date print-date word-count character-count alphabetical-index-mark "
        "alphabetical-index-mark-start alphabetical-index-mark-end toc-mark toc-mark-start toc-mark-end "
        "user-index-mark bibliography-mark control number note-citation"
    ),
    anchors=names("note frame custom-shape text-box rect g"),
    spaces=names("s"),
    kept_blocks=names(
        "automatic-styles font-face-decls scripts styles tracked-changes sequence-decls variable-decls "
        "user-field-decls forms event-listeners table-of-content-source illustration-index-source "
        "table-index-source object-ole alphabetical-index-source bibliography-source user-index-source "
        "object-index-source math settings"
    ),
)


def open_odt(file: DocumentFile) -> PackagedDocument:
    """The body, the footnotes, the headers and the footers of a document."""
    return PackagedDocument(file, partial(_find_members, file))


def _find_members(file: DocumentFile, archive: zipfile.ZipFile) -> Mapping[str, OpenMember]:
    require_member(archive, _CONTENT, file, "an ODT document")
    members = archive.namelist()
    if _MANIFEST in members and b"encryption-data" in archive.read(_MANIFEST):
        raise UserError(f"{file.name}: is encrypted; open it in LibreOffice, remove the password, and save it again")
    opener = partial(open_markup, vocabulary=_VOCABULARY)
    return {name: opener for name in (_CONTENT, _STYLES) if name in members}
