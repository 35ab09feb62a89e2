"""A translator that returns its input returns the document."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import PurePath

import pytest
from document_samples import FILLED_SAMPLES, SAMPLES
from segment_translators import assemble, translate_upper

from dragoman.documents.formats import DOCUMENT_FORMATS, open_document
from dragoman.documents.segment import Segment
from dragoman.text.translation import Translation

LANGUAGES = ("de", "en")


def test_every_format_has_a_sample() -> None:
    assert {PurePath(name).suffix for name, _ in SAMPLES + FILLED_SAMPLES} == DOCUMENT_FORMATS.keys()


@pytest.mark.parametrize(("name", "data"), SAMPLES, ids=[name for name, _ in SAMPLES])
def test_unchanged_document_is_identical(name: str, data: bytes) -> None:
    document = open_document(data, name, LANGUAGES)
    assert assemble(document) == data
    assert document.segments
    assert all(any(map(str.isalnum, segment.text)) for segment in document.segments)


@pytest.mark.parametrize(("name", "data"), SAMPLES, ids=[name for name, _ in SAMPLES])
def test_every_segment_can_change_alone(name: str, data: bytes) -> None:
    """The document stays the same up to the changed sentence and its paragraph, and has the same segments otherwise."""
    document = open_document(data, name, LANGUAGES)
    texts = [segment.text for segment in document.segments]
    for changed in range(len(texts)):
        translations = [Translation(text) for text in texts]
        translations[changed] = translate_upper(Segment(texts[changed], aligned=True))
        again = open_document(document.assemble(translations), name, LANGUAGES)
        expected = [*texts[:changed], translations[changed].text, *texts[changed + 1 :]]
        assert [segment.text for segment in again.segments] == expected


@pytest.mark.parametrize(("name", "data"), FILLED_SAMPLES, ids=[name for name, _ in FILLED_SAMPLES])
def test_filled_document_has_its_sources_and_its_translations(name: str, data: bytes) -> None:
    """Without what was added, all that is not white space is the same byte for byte."""
    document = open_document(data, name, LANGUAGES)
    encoding = "utf-16" if name.startswith("utf16") else "latin-1"
    added = (
        r'<target[^>]*state="needs-review-translation"[^>]*>.*?</target>|<target/>|<target state="new">.*?</target>'
        r'|<target>[^<]*<pc.*?</target>| state="translated"| target-language="en"|<tuv xml:lang="(?:en|EN)">.*?</tuv>'
        r'| conf="Draft"'
        r"|, fuzzy|#, fuzzy\r?\n|msgstr.*?(?=\n\n|\r\n\r\n|$)|\s"
    )
    before, after = (re.sub(added, "", each.decode(encoding), flags=re.DOTALL) for each in (data, assemble(document)))
    assert before == after
    assert not open_document(assemble(document), name, LANGUAGES).segments, "nothing is missing any more"


def test_other_members_of_an_archive_are_identical() -> None:
    for name, data in SAMPLES:
        if not data.startswith(b"PK"):
            continue
        translated = assemble(open_document(data, name, LANGUAGES), translate_upper)
        with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(io.BytesIO(translated)) as after:
            keys = [
                (each.filename, each.compress_type, each.date_time, each.external_attr) for each in before.infolist()
            ]
            assert keys == [
                (each.filename, each.compress_type, each.date_time, each.external_attr) for each in after.infolist()
            ]
            changed = {each for each in before.namelist() if before.read(each) != after.read(each)}
            assert changed
            assert not any(each.endswith((".png", ".rels", "mimetype")) for each in changed)
            assert after.testzip() is None
