"""PowerPoint presentations."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from functools import partial

from dragoman.documents.formats.file import DocumentFile
from dragoman.documents.formats.office_text import open_office_xml
from dragoman.documents.formats.package import OpenMember, PackagedDocument, require_member

_SLIDES = re.compile(r"ppt/(?:slides/slide|notesSlides/notesSlide)(\d+)\.xml")


def open_pptx(file: DocumentFile) -> PackagedDocument:
    """The slides and notes of a presentation."""
    return PackagedDocument(file, partial(_find_members, file))


def _find_members(file: DocumentFile, archive: zipfile.ZipFile) -> Mapping[str, OpenMember]:
    require_member(archive, "ppt/presentation.xml", file, "a presentation")
    matches = filter(None, map(_SLIDES.fullmatch, archive.namelist()))
    names = [match[0] for match in sorted(matches, key=lambda match: (int(match[1]), match[0]))]
    return dict.fromkeys(names, open_office_xml)
