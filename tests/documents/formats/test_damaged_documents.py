"""Damaged documents, and files that are not what their name says: a message with a remedy, and quickly."""

from __future__ import annotations

import io
import time
import zipfile

import pytest
from document_samples import FILLED_SAMPLES, PO, SAMPLES, XLIFF_1
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from office_files import HEAD, W, docx, odt, package
from segment_translators import assemble, translate_shuffled, translate_without_letters

from dragoman.documents.formats import DOCUMENT_FORMATS, open_document
from dragoman.errors import UserError
from dragoman.text.translation import Translation

LANGUAGES = ("de", "en")
EVERY_SAMPLE = SAMPLES + FILLED_SAMPLES
ARCHIVES = [".docx", ".pptx", ".odt", ".epub"]
XML = [".xlf", ".xliff", ".tmx"]
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4000)
PROGRAM = b"MZ\x90\x00\x03" + bytes(range(256)) * 10


def refusal(data: bytes, name: str) -> str:
    started = time.process_time()
    with pytest.raises(UserError) as caught:
        open_document(data, name, LANGUAGES)
    assert time.process_time() - started < 5
    message = str(caught.value)
    assert message.startswith(name)
    assert len(message) < 600
    return message


@pytest.mark.parametrize("suffix", DOCUMENT_FORMATS)
def test_programs_pictures_and_random_bytes_are_refused(suffix: str) -> None:
    assert "program" in refusal(PROGRAM, f"a{suffix}") or suffix in ARCHIVES
    refusal(b"\x89PNG\r\n\x1a\n" + bytes(range(256)), f"a{suffix}")
    refusal(bytes(range(256)) * 20, f"a{suffix}")
    refusal(b"\x00" * 1000, f"a{suffix}")
    assert "is empty" in refusal(b"", f"a{suffix}")
    assert "is empty" in refusal(b" \r\n", f"a{suffix}")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("a.doc", "save it as .docx"),
        ("a.pdf", "convert it to .docx"),
        ("a.xlsx", "save it as .csv"),
        ("a.properties", "prop2po"),
        ("a.yml", "yaml2po"),
        ("a.exe", "supported are .txt .md"),
        ("a.docs", "did you mean '.docx'?"),
        ("letter", "a name without a suffix is not supported"),
    ],
)
def test_other_formats_are_refused_with_a_remedy(name: str, remedy: str) -> None:
    assert remedy in refusal(b"x", name)


def test_encrypted_documents_are_refused() -> None:
    assert "remove the password, and save it as .docx" in refusal(OLE, "a.docx")
    encrypted = odt("<manifest><file-entry><encryption-data/></file-entry></manifest>")
    assert "is encrypted; open it in LibreOffice" in refusal(encrypted, "a.odt")
    data = bytearray(docx())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    assert "is encrypted" in refusal(bytes(data), "a.docx")


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_other_archives_are_refused(suffix: str) -> None:
    assert "because it contains no" in refusal(package({"x.txt": "x"}), f"a{suffix}")
    assert "unsafe file name" in refusal(package({"../x": "x"}), f"a{suffix}")


def test_zip_bombs_are_refused() -> None:
    output = io.BytesIO()
    with (
        zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("word/document.xml", "w", force_zip64=True) as member,
    ):
        member.write(bytes(101_000_000))
    assert "are refused" in refusal(output.getvalue(), "a.docx")
    many = package({f"{number}": "" for number in range(10_001)})
    assert "contains 10,001 files" in refusal(many, "a.docx")
    spaces = f"{HEAD}<w:document {W}>" + " " * 20_000_000
    assert "more than 20,000,000 characters of XML" in refusal(docx(spaces), "a.docx")
    nodes = f"{HEAD}<w:document {W}>" + "<w:p/>" * 400_000 + "</w:document>"
    assert "more than 400,000 elements of XML" in refusal(docx(nodes), "a.docx")


@pytest.mark.parametrize(("chapter", "problem"), [(" " * 3_000_000, "characters"), ("<b/>" * 60_000, "elements")])
def test_members_together_have_limits(chapter: str, problem: str) -> None:
    members = {f"{number}.xhtml": f"<p>{chapter}</p>" for number in range(7)}
    book = package({"mimetype": "application/epub+zip", "META-INF/container.xml": "<a/>", **members})
    assert f"{problem} of XML" in refusal(book, "a.epub")


def test_entities_and_deep_nesting_are_refused() -> None:
    for suffix in XML:
        assert "declares the entity &a;" in refusal(f"{BOMB}<xliff>&b;</xliff>".encode(), f"a{suffix}")
        assert "nested more than" in refusal(b"<a>" * 10_000, f"a{suffix}")
        external = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><xliff>&a;</xliff>'
        assert "declares the entity" in refusal(external, f"a{suffix}")
    assert "declares the entity" in refusal(docx(f"{BOMB}<w:document {W}>&b;</w:document>"), "a.docx")
    assert "nested too deeply" in refusal(b"[" * 100_000, "a.json")
    deep = b">" * 5_000 + b" x\n" + b"- " * 5_000 + b"y\n" + b"[" * 5_000 + b"*" * 5_000 + b"a"
    started = time.process_time()
    assemble(open_document(deep, "a.md", LANGUAGES))
    assert time.process_time() - started < 5


def test_wrong_encodings_are_explained() -> None:
    latin = "Größe und Übermut\n".encode("latin-1")
    assert "looks like Windows-1252" in refusal(latin, "a.txt")
    assert "UTF-8" in refusal(latin, "a.md")
    assert "UTF-16 without a byte order mark" in refusal("Ein Hund läuft".encode("utf-16-le"), "a.txt")
    assert "is not klingon, which its header declares" in refusal(PO.replace("UTF-8", "klingon").encode(), "a.po")
    for charset in ("punycode", "idna", "base64", "utf-7", "unicode_escape", "zlib", "../x"):
        assert "header" in refusal(PO.replace("UTF-8", charset).encode(), "a.po")
    assert "utf" in refusal(XLIFF_1.replace("Neu", "Größe").encode("latin-1"), "a.xlf").lower()


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.json", b'{"a": "b"', "not valid JSON"),
        ("a.csv", b'a;b\n"c;d\n', "line 2: a quotation mark is opened and not closed"),
        ("a.csv", b"id;text\n1;Rot &amp; blau\n2;Gelb, rot\n", "line 2: 3 columns, where most rows have 2"),
        ("a.csv", b'id,text\n1,"Rot,\nblau"\n2,Gelb, rot\n3,Blau\n', "line 4: 3 columns, where most rows have 2"),
        ("a.po", b'msgid "a"\n', "a message without msgid or msgstr"),
        ("a.po", b"Hallo", "not a line of a PO file"),
        (
            "a.po",
            b'msgid ""\nmsgstr "Language: fr_CA\\n"\n\nmsgid "a"\nmsgstr ""\n',
            "are in fr_CA, but the translator is from de",
        ),
        ("a.srt", b"Nur Text", "has no line such as 00:00:01,000"),
        ("a.vtt", b"1\n00:01.000 --> 00:02.000\nx\n", "its first line is not WEBVTT"),
        ("a.xlf", b"<html/>", "contains no <xliff>"),
        ("a.tmx", b"<html/>", "contains no <tmx>"),
    ],
)
def test_invalid_content_is_explained(name: str, data: bytes, message: str) -> None:
    assert message in refusal(data, name)


@pytest.mark.parametrize(("name", "data"), EVERY_SAMPLE, ids=[name for name, _ in EVERY_SAMPLE])
def test_truncated_files_are_refused_or_translated(name: str, data: bytes) -> None:
    for length in {len(data) * part // 13 for part in range(1, 13)} | {len(data) - 1}:
        open_and_translate(data[:length], name)


def open_and_translate(data: bytes, name: str) -> None:
    """Any error other than UserError fails."""
    try:
        document = open_document(data, name, LANGUAGES)
    except UserError:
        return
    for translate in (None, translate_shuffled, translate_without_letters):
        assemble(document, translate)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, bytes]:
    """A sample, or its members if it is an archive, with bytes that are changed, removed, repeated or inserted."""
    name, data = draw(st.sampled_from(EVERY_SAMPLE))
    if data.startswith(b"PK") and draw(st.booleans()):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {each: archive.read(each) for each in archive.namelist()}
        chosen = draw(st.sampled_from(sorted(each for each in members if each.endswith(("ml", "ncx")))))
        members[chosen] = draw(_changed(members[chosen]))
        return name, package(members)
    return name, draw(_changed(data))


@st.composite
def _changed(draw: st.DrawFn, data: bytes) -> bytes:
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 30)))
        special = st.sampled_from(
            [b"", b"<", b">", b"&", b'"', b"\n\n", b"\x00", b"\xff", b"{", b"}", b"*", b"`", b"[", b"<w:t>"]
        )
        data = data[:start] + draw(special | st.binary(max_size=4) | st.just(data[start:end] * 2)) + data[end:]
    return data


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(mutated())
def test_mutated_files_are_refused_or_translated(case: tuple[str, bytes]) -> None:
    open_and_translate(case[1], case[0])


@pytest.mark.parametrize(
    ("target", "stated", "accepted"),
    [
        ("en", "en_GB", True),
        ("pt-BR", "pt_PT", True),
        ("zh", "zh_TW", True),
        ("zh-Hans", "zh_CN", True),
        ("zh-Hans", "zh_TW", False),
        ("zh-Hant", "zh_HK", True),
        ("sr", "sr@latin", True),
        ("sr-Cyrl", "sr@latin", False),
        ("en", "fr", False),
        ("en", "de", True),  # a template in the language of the messages
        ("en", "LANGUAGE", True),
    ],
)
def test_a_catalog_states_the_target_in_any_region_and_in_its_script(target: str, stated: str, accepted: bool) -> None:
    data = PO.replace("Language: en", f"Language: {stated}").encode()
    if accepted:
        assert open_document(data, "a.po", ("de", target)).segments
    else:
        with pytest.raises(UserError, match=f"its translations are in {stated}"):
            open_document(data, "a.po", ("de", target))


@pytest.mark.parametrize("charset", ["US-ASCII", "CHARSET", "ANSI_X3.4-1968", "UTF-8", "utf8"])
def test_a_catalog_declares_the_encoding_of_its_translations(charset: str) -> None:
    data = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "Hund"\nmsgstr ""\n'
    document = open_document(data.replace("UTF-8", charset).encode(), "a.po", ("de", "cs"))
    for translation, expected in (
        ("pes", charset),
        ("štěně", charset if charset.lower().startswith("utf") else "UTF-8"),
    ):
        content = document.assemble([Translation(translation)]).decode()
        assert f"charset={expected}" in content
        assert translation in content
