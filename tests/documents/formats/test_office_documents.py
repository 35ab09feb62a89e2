"""Word, PowerPoint, ODT and EPUB documents after translation, read with zipfile and lxml."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from typing import Any

import pytest
from lxml import etree
from office_files import HEAD, W, docx, epub, odt, pptx, run
from segment_translators import assemble, translate_shuffled, translate_upper, translate_without_letters

from dragoman.documents.formats import open_document

LANGUAGES = ("de", "en")
DOCUMENTS = {"a.docx": docx(), "a.pptx": pptx(), "a.odt": odt(), "a.epub": epub()}
TRANSLATORS = [translate_upper, translate_shuffled, translate_without_letters]
RESTYLED = {"r", "rPr", "t", "b", "i", "u", "s"}
"""Elements of runs, which are divided and joined when words move, and ODT's spaces."""


def read(data: bytes) -> dict[str, Any]:
    """The XML members of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if name.endswith(("xml", "rels", ".ncx", ".opf"))]
        return {name: etree.fromstring(archive.read(name)) for name in names}


def elements(root: Any) -> Counter[tuple[str, ...]]:
    """The elements that no translation may lose or add, with their attributes, of which `lang` may change."""
    return Counter(
        (each.tag, *map(str, sorted((name, value) for name, value in each.attrib.items() if name != "lang")))
        for each in root.iter("*")
        if etree.QName(each).localname not in RESTYLED
    )


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("translate", TRANSLATORS)
def test_no_element_is_lost(name: str, translate: Any) -> None:
    data = DOCUMENTS[name]
    if name == "a.docx":  # Word numbers revisions, and marks words for the spelling checker
        data = docx(re.sub(r"<w:proofErr[^>]*>", "", read_text(data, "word/document.xml")))
    before, after = read(data), read(assemble(open_document(data, name, LANGUAGES), translate))
    assert before.keys() == after.keys()
    for member in before:
        assert elements(before[member]) == elements(after[member]), member


def read_text(data: bytes, member: str) -> str:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(member).decode()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_all_visible_text_is_translated(name: str) -> None:
    roots = read(assemble(open_document(DOCUMENTS[name], name, LANGUAGES), translate_upper))
    kept = {
        "delText",
        "instrText",
        "creator",
        "code",
        "pre",
        "style",
        "tracked-changes",
        "annotation",
        "y",
        "x",
        "title",
    }
    for member, root in roots.items():
        for each in root.iter("*"):
            path = {etree.QName(parent).localname for parent in (each, *each.iterancestors())}
            if not path & kept and each.get("translate") != "no" and not member.endswith("opf"):
                assert (each.text or "").upper() == (each.text or ""), f"{member}: {each.text}"
            assert not any(map(str.islower, each.tail or "")) or path & {"tracked-changes"}


def runs(paragraph: Any) -> list[tuple[str, str]]:
    """The style and the text of each run of a Word paragraph."""
    found = []
    for each_run in paragraph.iter("{*}r"):
        style = "".join(etree.QName(each).localname for each in each_run.findall("{*}rPr/*"))
        found.append((style, "".join(each.text or "" for each in each_run.iter("{*}t"))))
    return [each for each in found if each[1]]


def paragraphs(data: bytes) -> list[Any]:
    return list(read(data)["word/document.xml"].iter("{*}p"))


def test_styles_follow_their_words() -> None:
    document = open_document(docx(), "a.docx", LANGUAGES)
    first, second, third, *_ = paragraphs(assemble(document, translate_upper))
    assert runs(first) == [("", "SEHR GEEHRTE FRAU "), ("b", "MÜLLER")]
    assert runs(second)[:2] == [("", "DER HUND LÄUFT "), ("i", "SCHNELL")]
    assert [etree.QName(each).localname for each in third] == ["hyperlink", *["r"] * 13]
    assert "".join(third[0].itertext()) == "UNSERE SEITE"
    shuffled = paragraphs(assemble(document, translate_shuffled))
    assert ("b", "MÜLLER") in [(style, text.strip()) for style, text in runs(shuffled[0])]
    assert "SCHNELL" in [text.strip() for style, text in runs(shuffled[1]) if style == "i"]


def test_fields_keep_their_order_in_any_translation() -> None:
    for translate in TRANSLATORS:
        root = read(assemble(open_document(docx(), "a.docx", LANGUAGES), translate))["word/document.xml"]
        kinds = [each.get(each.keys()[0]) for each in root.iter("{*}fldChar")]
        assert kinds == ["begin", "separate", "end"] * 2


def test_runs_of_equal_style_are_one_text() -> None:
    segments = [each.text for each in open_document(docx(), "a.docx", LANGUAGES).segments]
    assert "Der Hund läuft schnell nach Hause." in segments, "the spelling checker and revisions divide no sentence"
    assert {"links", "Neue Zeile", "Text im Kasten", "Eine Anmerkung zum Hund.", "Kopfzeile"} <= set(segments)
    assert not any("alter" in each for each in segments), "deleted text is not translated"


def test_slides_are_in_the_order_of_their_numbers() -> None:
    texts = [each.text for each in open_document(pptx(), "a.pptx", LANGUAGES).segments]
    assert [each for each in texts if each.startswith("Folie")] == [f"Folie {n} über Hunde" for n in (1, 2, 10)]


def test_chapters_remain_well_formed_with_entities() -> None:
    document = open_document(epub(), "a.epub", LANGUAGES)
    assert "Er läuft\xa0sehr schnell {1} weg." in [each.text for each in document.segments]
    text = read_text(assemble(document, translate_upper), "OEBPS/chapter.xhtml")
    assert text.startswith('<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html PUBLIC')
    assert "SCHNELL <code>run()</code> WEG" in text
    assert "<pre><code>Code bleibt</code></pre>" in text


def test_footnote_stays_at_its_word() -> None:
    text = read_text(assemble(open_document(odt(), "a.odt", LANGUAGES), translate_upper), "content.xml")
    assert "ER LÄUFT<text:note" in text
    assert "<text:p>DIE FUSSNOTE.</text:p></text:note-body></text:note> NACH" in text


def test_identifiers_in_cells_of_tables_are_kept() -> None:
    texts_of_row = "".join(
        f"<w:tc><w:p>{run(text)}</w:p></w:tc>" for text in ("Ein Hund", "A-12", "SKU 4711-B", "v2.3")
    )
    table = f"{HEAD}<w:document {W}><w:body><w:tbl><w:tr>{texts_of_row}</w:tr></w:tbl></w:body></w:document>"
    texts = [segment.text for segment in open_document(docx(table), "a.docx", LANGUAGES).segments]
    assert "Ein Hund" in texts
    assert not {"A-12", "SKU 4711-B", "v2.3"} & set(texts)
