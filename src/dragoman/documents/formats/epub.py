"""Electronic books (EPUB): their chapters and tables of contents."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from functools import partial

from dragoman.documents.formats.file import DocumentFile
from dragoman.documents.formats.markup import ElementNames, names, open_markup
from dragoman.documents.formats.package import OpenMember, PackagedDocument, require_member

_CHAPTERS = (".xhtml", ".html", ".htm")
_XHTML = ElementNames(
    inline=names(
        "a abbr acronym b bdi bdo big cite del dfn em font i ins mark q rb rbc ruby s small span strike "
        "strong sub sup tt u"
    ),
    kept=names("code kbd samp var img wbr math svg script style rp rt object audio video canvas data time"),
    kept_blocks=names("pre textarea"),
)
_CONTENTS = ElementNames(inline=names(""), kept=names("head"))


def open_epub(file: DocumentFile) -> PackagedDocument:
    """The chapters of a book, its title pages and its tables of contents."""
    return PackagedDocument(file, partial(_find_members, file))


def _find_members(file: DocumentFile, archive: zipfile.ZipFile) -> Mapping[str, OpenMember]:
    require_member(archive, "META-INF/container.xml", file, "an EPUB book")
    members: dict[str, OpenMember] = {}
    for name in archive.namelist():
        if name.lower().endswith(_CHAPTERS):
            members[name] = partial(open_markup, vocabulary=_XHTML)
        elif name.lower().endswith(".ncx"):
            members[name] = partial(open_markup, vocabulary=_CONTENTS)
    return members
