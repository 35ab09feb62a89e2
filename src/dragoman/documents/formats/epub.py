"""Electronic books (EPUB): their chapters and tables of contents."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from urllib.parse import unquote

from dragoman.documents.formats.file import DocumentFile
from dragoman.documents.formats.package import OpenMember, PackagedDocument, open_properties, read_member
from dragoman.documents.formats.xml_text import open_xml
from dragoman.errors import UserError
from dragoman.markup.elements import HTML, NCX, Elements
from dragoman.markup.xml import XmlElement

_CONTAINER = "META-INF/container.xml"  # the only name that the format prescribes
_BY_MEDIA_TYPE = {
    "application/xhtml+xml": HTML,
    "text/html": HTML,
    "text/x-oeb1-document": HTML,
    "application/x-dtbncx+xml": NCX,
}
_SUFFIXES = {".xhtml": HTML, ".html": HTML, ".htm": HTML, ".ncx": NCX}


def open_epub(file: DocumentFile) -> PackagedDocument:
    """The title and the description of a book, its chapters, its title pages and its tables of contents."""
    return PackagedDocument(file, partial(_find_members, file))


def _find_members(file: DocumentFile, archive: zipfile.ZipFile) -> Mapping[str, OpenMember]:
    members = set(archive.namelist())
    if _CONTAINER not in members:
        raise UserError(
            f"{file.name}: is not an EPUB book, because it contains no {_CONTAINER}; save it again in its program"
        )
    found: dict[str, Elements] = {}
    packages = [
        root.attributes.get("full-path", "") for root in read_member(file, archive, _CONTAINER).find_all("rootfile")
    ]
    packages = [package for package in packages if package in members]
    for package in packages:
        found.update(_listed(package, read_member(file, archive, package)))
    known = {name: elements for name, elements in found.items() if name in members}
    if not known:  # a book that lists no chapters
        suffixes = {name: posixpath.splitext(name)[1].lower() for name in archive.namelist()}
        known = {name: _SUFFIXES[suffix] for name, suffix in suffixes.items() if suffix in _SUFFIXES}
    language = file.languages[0]
    chapters = {name: partial(open_xml, elements=replace(each, language=language)) for name, each in known.items()}
    return {**dict.fromkeys(packages, open_properties), **chapters}


def _listed(package: str, root: XmlElement) -> Mapping[str, Elements]:
    """The members with text that a package document lists: the chapters in reading order, and then all others."""
    directory = posixpath.dirname(package)
    listed = {each.attributes.get("id", ""): each.attributes for each in root.find_all("item")}
    order = dict.fromkeys([each.attributes.get("idref", "") for each in root.find_all("itemref")])
    return {
        posixpath.normpath(posixpath.join(directory, unquote(listed[key].get("href", "")))): elements
        for key in [*order, *(key for key in listed if key not in order)]
        if key in listed and (elements := _BY_MEDIA_TYPE.get(listed[key].get("media-type", "").lower()))
    }
