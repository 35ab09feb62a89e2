"""Documents that are ZIP archives: some members are translated, and all others are kept byte for byte."""

from __future__ import annotations

import copy
import io
import posixpath
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from urllib.parse import unquote

from dragoman.corpus.archive import read_archive
from dragoman.documents.formats.characters import read_xml
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.formats.inline_codes import code_parts
from dragoman.documents.formats.language_labels import set_language
from dragoman.documents.passage import Part
from dragoman.documents.segment import Segment, SegmentedDocument
from dragoman.errors import UserError
from dragoman.markup.elements import STRINGS
from dragoman.markup.xml import XmlElement, encode_xml, refuse_huge_xml, replace_elements
from dragoman.text.translation import Translation

MAX_BYTES = 300_000_000  # of the content
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # old Office documents, and encrypted new ones

_ROOT = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z][\w.-]*)")
_NUMBERED = re.compile(r"(\D*)(\d*)")
_VALUE = re.compile(r"=\s*[\"']([^\"'<>]*)[\"']")

OpenMember = Callable[[DocumentFile], SegmentedDocument[bytes]]


class PackagedDocument:
    """A document in a ZIP archive.

    Args:
        file: The archive.
        find_members: How to open each member that is translated, in reading order, given the archive.

    Raises:
        UserError: It is damaged, encrypted or too large.
    """

    def __init__(self, file: DocumentFile, find_members: Callable[[zipfile.ZipFile], Mapping[str, OpenMember]]) -> None:
        _refuse_encrypted(file)
        self._file = file
        with read_archive(io.BytesIO(file.data), file.name, MAX_BYTES) as archive:
            openers = find_members(archive)
            if damaged := archive.testzip():  # before anything is translated
                raise UserError(f"{file.name}: its member {damaged} is damaged; save it again in its program")
            refuse_huge_xml(file.name, sum(archive.getinfo(name).file_size for name in openers), 0)
            contents = {name: archive.read(name) for name in openers}
        elements = sum(content.count(b"<") - content.count(b"</") for content in contents.values())
        refuse_huge_xml(file.name, 0, elements)
        self._documents = {
            name: opener(replace(file, data=contents[name], name=f"{file.name}:{name}"))
            for name, opener in openers.items()
        }
        self.segments: Sequence[Segment] = [
            segment for document in self._documents.values() for segment in document.segments
        ]

    def assemble(self, translations: Sequence[Translation]) -> bytes:
        """The archive with the translation of each segment."""
        if [each.text for each in translations] == [segment.text for segment in self.segments]:
            return self._file.data
        remaining = iter(translations)
        changed = {
            name: document.assemble(list(islice(remaining, len(document.segments))))
            for name, document in self._documents.items()
        }
        output = io.BytesIO()
        with (
            read_archive(io.BytesIO(self._file.data), self._file.name, MAX_BYTES) as source,
            zipfile.ZipFile(output, "w") as target,
        ):
            target.comment = source.comment
            for entry in source.infolist():
                content = changed[entry.filename] if entry.filename in changed else source.read(entry)
                content = set_language(entry.filename, content, self._file.languages)
                target.writestr(copy.copy(entry), content, entry.compress_type)
        return output.getvalue()


class Relationships:
    """Which parts of an Office document belong to which, as its members .rels state; names of members vary.

    Args:
        file: The document.
        archive: Its members.
    """

    def __init__(self, file: DocumentFile, archive: zipfile.ZipFile) -> None:
        self._file, self._archive = file, archive
        self._names = {name.lower(): name for name in archive.namelist()}

    def targets(self, part: str, kind: str) -> list[str]:
        """The members that a part refers to as parts of a kind, such as "slide", in the order of their use.

        Args:
            part: The name of a member; empty for the document itself.
            kind: The last word of the type of the relationship.
        """
        directory, name = posixpath.split(part)
        stated = self._names.get(posixpath.join(directory, "_rels", f"{name}.rels").lower())
        if stated is None:
            return []
        found: dict[str, str] = {}
        for each in read_member(self._file, self._archive, stated).find_all("Relationship"):
            target = posixpath.normpath(posixpath.join("/", directory, unquote(each.attributes.get("Target", ""))))
            member = self._names.get(target[1:].lower())
            if member and each.attributes.get("Type", "").endswith(f"/{kind}"):
                found[each.attributes.get("Id", "")] = member
        used = self._places(part) if part and len(found) > 1 else {}
        return list(dict.fromkeys(found[key] for key in sorted(found, key=lambda key: used.get(key, len(used)))))

    def _places(self, part: str) -> dict[str, int]:
        """The places of the values of attributes in a part, among them the keys of relationships."""
        values = _VALUE.findall(self._archive.read(part).decode("utf-8", "replace"))
        return {value: place for place, value in enumerate(dict.fromkeys(values))}


_PROPERTIES = ("title", "description")


def open_properties(file: DocumentFile) -> PassageDocument:
    """The title and the description of a document (Dublin Core); books have HTML in them. Damaged ones are kept."""
    try:
        root, characters = read_xml(file)
    except UserError as error:
        warnings.warn(f"{error}; the title and the description stay as they are", stacklevel=2)
        return PassageDocument([file.data.decode("latin-1")], partial(str.encode, encoding="latin-1"))
    elements = replace(STRINGS, language=file.languages[0])
    writing = file.writing(encode_xml)

    def read(node: XmlElement) -> Iterable[Part] | None:
        if node.name.lower() not in _PROPERTIES or elements.is_excluded(node.name, node.attributes):
            return None
        return (node.start, *code_parts(node.children, writing), node.end)

    return PassageDocument(list(replace_elements(root.children, read)), characters.encode)


def read_member(file: DocumentFile, archive: zipfile.ZipFile, name: str) -> XmlElement:
    """The tree of a member that says where others are.

    Raises:
        UserError: It is not well-formed.
    """
    return read_xml(replace(file, data=archive.read(name), name=f"{file.name}:{name}"))[0]


def find_by_root(archive: zipfile.ZipFile, roots: Sequence[str]) -> list[str]:
    """The XML members with one of these roots, in the order of the roots and of the numbers in the names.

    For documents without relationships, as some programs write them.
    """
    found: list[tuple[int, list[tuple[int, str]], str]] = []
    for name in archive.namelist():
        if name.lower().endswith(".xml"):
            with archive.open(name) as member:
                root = _ROOT.search(member.read(4096))
            if root and root[1].decode() in roots:
                numbered = [(int(number or 0), letters) for letters, number in _NUMBERED.findall(name)]
                found.append((roots.index(root[1].decode()), numbered, name))
    return [name for _, _, name in sorted(found)]


def _refuse_encrypted(file: DocumentFile) -> None:
    if file.data.startswith(_OLE):
        suffix = file.name[file.name.rfind(".") :]
        raise UserError(
            f"{file.name}: is encrypted, or an old Office document; open it in its program, remove the password, and "
            f"save it as {suffix}"
        )


def warn_of_comments(file: DocumentFile) -> None:
    """Say that the comments of a document stay as they are."""
    warnings.warn(f"{file.name}: its comments are not translated", stacklevel=2)
