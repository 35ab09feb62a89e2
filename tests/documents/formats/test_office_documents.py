"""Word, PowerPoint, ODT and EPUB documents after translation, read with zipfile and lxml."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from typing import Any

import pytest
from lxml import etree
from office_files import HEAD, W, docx, epub, field, odt, package, pptx, relationships, run
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


RENAMED = {
    "a.docx": (docx(), docx(main="word/document22.xml", notes_name="notes/a.xml"), docx(main="a/b/c.xml")),
    "a.pptx": (pptx(), pptx(main="p/main.xml", slides=("z", "y", "x"))),
    "a.epub": (epub(), epub(name="c%201.xml", book="OEBPS/b"), epub(name="x/c", book="OEBPS/package.xml")),
}
"""The same document with other names of its parts."""


@pytest.mark.parametrize("name", RENAMED)
def test_parts_are_found_by_relationships(name: str) -> None:
    expected, *others = (
        [each.text for each in open_document(data, name, LANGUAGES).segments] for data in RENAMED[name]
    )
    assert len(expected) > 3
    for texts in others:
        assert texts == expected


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.epub"])
def test_parts_of_documents_without_relationships_are_found_by_what_they_are(name: str) -> None:
    with zipfile.ZipFile(io.BytesIO(DOCUMENTS[name])) as archive:
        members = {each: archive.read(each) for each in archive.namelist() if not each.endswith((".rels", ".opf"))}
    texts = Counter(each.text for each in open_document(package(members), name, LANGUAGES).segments)
    assert texts == Counter(each.text for each in open_document(DOCUMENTS[name], name, LANGUAGES).segments)


def test_a_member_that_no_part_refers_to_is_kept() -> None:
    with zipfile.ZipFile(io.BytesIO(docx())) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    members["word/footnotes2.xml"] = members["word/document.xml"]
    written = assemble(open_document(package(members), "a.docx", LANGUAGES), translate_upper)
    assert read_text(written, "word/footnotes2.xml") == members["word/footnotes2.xml"].decode()


VISIBLE = {
    "formula": '<m:oMath xmlns:m="m"><m:r><m:t>x</m:t></m:r></m:oMath>',
    "simple field": f'<w:fldSimple w:instr=" PAGE ">{run("3")}</w:fldSimple>',
    "complex field": field("PAGE", "3"),
    "symbol": '<w:r><w:sym w:font="Wingdings" w:char="F04A"/></w:r>',
    "picture": "<w:r><w:drawing><wp:inline xmlns:wp='wp'/></w:drawing></w:r>",
    "note": '<w:r><w:footnoteReference w:id="2"/></w:r>',
}


@pytest.mark.parametrize("kind", VISIBLE)
@pytest.mark.parametrize("runs_around", [("Tom ", " ist hier."), ("Tom", " ist hier."), ("Tom ", "", " ist hier.")])
def test_spaces_around_what_is_visible_stay(kind: str, runs_around: tuple[str, ...]) -> None:
    """Also if the space is in a run of another style."""
    first, *rest = runs_around
    content = run(first) + VISIBLE[kind] + "".join(run(text, "<w:i/>" if len(rest) > 1 else "") for text in rest)
    data = docx(f"{HEAD}<w:document {W}><w:body><w:p>{content}</w:p></w:body></w:document>")
    text = read_text(assemble(open_document(data, "a.docx", LANGUAGES), translate_upper), "word/document.xml")
    assert "".join(re.findall(r"<w:t [^>]*>([^<]*)<", text.replace(VISIBLE[kind], '<w:t x="">#</w:t>'))) == (
        f"{first}#{''.join(rest)}".upper()
    )


def test_a_simple_field_with_a_link_is_translated() -> None:
    link = f'<w:fldSimple w:instr=" HYPERLINK x ">{run("mehr dazu")}</w:fldSimple>'
    data = docx(f"{HEAD}<w:document {W}><w:body><w:p>{run('Hier ist ')}{link}</w:p></w:body></w:document>")
    assert open_document(data, "a.docx", LANGUAGES).segments[0].text == "Hier ist mehr dazu"


def test_descriptions_of_pictures_in_books_are_translated() -> None:
    chapter = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>Da <img src="a" alt="Ein Hund"/> ja</p></body></html>'
    )
    document = open_document(epub(chapter), "a.epub", LANGUAGES)
    assert [each.text for each in document.segments] == ["Da ja", "Ein Hund", "Ein Hund"]
    assert 'alt="EIN HUND"/> JA' in read_text(assemble(document, translate_upper), "OEBPS/chapter.xhtml")


A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
DRAWN = {
    "diagramData": f"{HEAD}<dgm:dataModel {A} xmlns:dgm='g'><dgm:t><a:p><a:r><a:t>Ein Hund</a:t></a:r></a:p></dgm:t>"
    "</dgm:dataModel>",
    "diagramDrawing": f"{HEAD}<dsp:drawing {A} xmlns:dsp='p'><a:p><a:r><a:t>Ein Hund</a:t></a:r></a:p></dsp:drawing>",
    "chart": f"{HEAD}<c:chartSpace {A} xmlns:c='c'><c:title><c:rich><a:p><a:r><a:t>Eine Katze</a:t></a:r></a:p>"
    "</c:rich></c:title><c:cat><c:v>bleibt so</c:v></c:cat></c:chartSpace>",
    "comments": f"{HEAD}<w:comments {W}>{run('Ein Kommentar')}</w:comments>",
}
DESCRIBED = '<wp:docPr xmlns:wp="w" id="1" name="Picture 1" descr="Ein Bild &amp; mehr"/>'


def with_drawings(name: str) -> bytes:
    """A document with a diagram, a chart, a comment, and a picture with a description."""
    first = {"a.docx": "word/document.xml", "a.pptx": "ppt/slides/slide1.xml"}[name]
    directory, _, part = first.rpartition("/")
    members = {}
    with zipfile.ZipFile(io.BytesIO(DOCUMENTS[name])) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    end = {"a.docx": b"<w:sectPr/>", "a.pptx": b"</p:spTree>"}[name]
    picture = f"<w:p {W}><w:r><w:drawing>{DESCRIBED}</w:drawing></w:r></w:p>" if name == "a.docx" else DESCRIBED
    members[first] = members[first].replace(end, picture.encode() + end)
    related = f"{directory}/_rels/{part}.rels"
    listed = relationships({f"../drawn/{kind}.xml": kind for kind in DRAWN}).replace("rId", "rIdDrawn")
    known = re.findall("<Relationship .*?/>", members.get(related, b"").decode())
    members[related] = listed.replace("</Relationships>", "".join(known) + "</Relationships>").encode()
    return package(
        {**members, **{f"{directory.rpartition('/')[0]}/drawn/{kind}.xml".lstrip("/"): DRAWN[kind] for kind in DRAWN}}
    )


@pytest.mark.parametrize("name", ["a.docx", "a.pptx"])
def test_texts_of_drawings_are_translated(name: str) -> None:
    data = with_drawings(name)
    with pytest.warns(UserWarning, match=f"{name}: its comments are not translated"):
        document = open_document(data, name, LANGUAGES)
    assert Counter(segment.text for segment in document.segments) >= Counter(
        ["Ein Hund", "Ein Hund", "Eine Katze", "Ein Bild & mehr"]
    )
    assert assemble(document) == data
    before, after = read(data), read(assemble(document, translate_upper))
    drawn = [next(each for each in after if each.endswith(f"{kind}.xml")) for kind in DRAWN]
    texts = ["".join(after[member].itertext()) for member in drawn]
    assert texts == ["EIN HUND", "EIN HUND", "EINE KATZEbleibt so", "Ein Kommentar"]
    assert [elements(before[member]) for member in drawn] == [elements(after[member]) for member in drawn]
    assert any(each.get("descr") == "EIN BILD & MEHR" for root in after.values() for each in root.iter("{w}docPr"))
