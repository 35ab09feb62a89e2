"""Documents that are ZIP archives: some members are translated, and all others are kept byte for byte."""

from __future__ import annotations

import copy
import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from dragoman.corpus.archive import read_archive
from dragoman.documents.formats.file import DocumentFile
from dragoman.documents.formats.language_labels import set_language
from dragoman.documents.segment import Segment, SegmentedDocument, TranslatedSegment
from dragoman.errors import UserError
from dragoman.markup.xml import refuse_huge_xml

MAX_BYTES = 300_000_000  # of the content
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # old Office documents, and encrypted new ones

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

    def assemble(self, translations: Sequence[TranslatedSegment]) -> bytes:
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


def require_member(archive: zipfile.ZipFile, member: str, file: DocumentFile, kind: str) -> None:
    """Check that an archive contains what all documents of its kind contain.

    Raises:
        UserError: It does not.
    """
    if member not in archive.namelist():
        raise UserError(f"{file.name}: is not {kind}, because it contains no {member}; save it again in its program")


def _refuse_encrypted(file: DocumentFile) -> None:
    if file.data.startswith(_OLE):
        suffix = file.name[file.name.rfind(".") :]
        raise UserError(
            f"{file.name}: is encrypted, or an old Office document; open it in its program, remove the password, and "
            f"save it as {suffix}"
        )
