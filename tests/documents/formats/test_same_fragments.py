"""The same fragment gives the same segments and keeps its marks at the same places in every format."""

from __future__ import annotations

import html
import io
import json
import re
import zipfile
from collections.abc import Callable, Sequence
from xml.etree.ElementTree import Element, fromstring

import pytest
from office_files import HEAD, W, docx, epub, odt, pptx, run
from segment_translators import translate_shuffled, translate_upper

from dragoman.documents.formats import open_document
from dragoman.documents.formats.html import HtmlText
from dragoman.documents.formats.xml_text import XmlFragment, parse_fragment, structural_elements
from dragoman.documents.passage import Writing
from dragoman.documents.segment import Segment, SegmentedDocument
from dragoman.markup.xml import encode_xml
from dragoman.text.translation import Translation

FRAGMENTS = {
    # parts of the sentence, also nested and empty
    "Der <b>rote</b> Hund bellt.": ["Der rote Hund bellt."],
    "Der <b>rote <i>alte</i></b> Hund bellt.": ["Der rote alte Hund bellt."],
    "<b>Der Hund</b> bellt.": ["Der Hund bellt."],
    "Der <a href='x'>Hund</a>, der <b>bellt</b>.": ["Der Hund, der bellt."],
    "Der <b>Hund. Er</b> bellt.": ["Der Hund.", "Er bellt."],
    "Der <b></b> Hund bellt.": ["Der Hund bellt."],
    "Der <b> rote</b> Hund bellt.": ["Der rote Hund bellt."],
    "Der <b>rote </b> Hund bellt.": ["Der rote Hund bellt."],
    "Der <b>rote <i>alte</b> Hund</i> bellt.": ["Der rote alte Hund bellt."],
    "Ein <span>kleiner</span> Ha<b>se</b> &amp; ein Hund.": ["Ein kleiner Hase & ein Hund."],
    "Ein Hund <!-- kein Text --> bellt.": ["Ein Hund bellt."],
    # lines
    "Ein Hund.<br/>Eine Katze.": ["Ein Hund.", "Eine Katze."],
    "Ein Hund<br/>bellt laut.": ["Ein Hund bellt laut."],
    "Der <b>Hund.<br/>Er</b> bellt.": ["Der Hund.", "Er bellt."],
    "Der <b>Hund<br/>da</b> bellt.": ["Der Hund da bellt."],
    "<p>Ein Hund</p><p>Eine <b>Katze</b></p>": ["Ein Hund", "Eine Katze"],
    # elements that are kept
    "Nimm <code>rm -r</code> dafür.": ["Nimm {1} dafür."],
    "Nimm <code>rm</code>s und <var>x</var>.": ["Nimm {1}s und {2}."],
    "Die <span translate='no'>Acme Hund</span> ist da.": ["Die {1} ist da."],
    "Die <span class='notranslate'></span> Firma ist da.": ["Die Firma ist da."],
    "Der Hund <svg></svg> ist da.": ["Der Hund ist da."],
    "Der Hund <img src='a.png'/> ist da.": ["Der Hund ist da."],
    "Der Hund <b><img src='a.png'/></b> ist da.": ["Der Hund ist da."],
    "Der Hund<img src='a.png'/>ist da.": ["Der Hund ist da."],
    "Der Wert <math>x=1</math> ist da.": ["Der Wert {1} ist da."],
    # keys
    "Drücke <kbd>Strg</kbd>+<kbd>C</kbd> jetzt.": ["Drücke {1} jetzt."],
    "Drücke <kbd>Strg</kbd> + <kbd>Alt</kbd> + <kbd>C</kbd> jetzt.": ["Drücke {1} jetzt."],
    "Nimm <code>a</code>/<code>b</code> oder <code>c</code>.": ["Nimm {1} oder {2}."],
    "Nimm <code>a</code>, <code>b</code> (<code>c</code>).": ["Nimm {1}, {2} ({3})."],
    # ruby
    "Mein <ruby>Buch<rp>(</rp><rt>buuch</rt><rp>)</rp></ruby> ist da.": ["Mein Buch ist da."],
    "Mein <ruby>Buch<rt>buuch</rt></ruby> ist da.": ["Mein Buch ist da."],
    # notes
    "Tom liest ein Buch.<sup>55</sup> Er ist da.": ["Tom liest ein Buch.", "Er ist da."],
    "Tom liest ein Buch.<a href='#n'><sup>55</sup></a> Er ist da.": ["Tom liest ein Buch.", "Er ist da."],
    "Tom liest ein Buch.<sup><a href='#n'>[1]</a></sup> Er ist da.": ["Tom liest ein Buch.", "Er ist da."],
    "Tom liest ein Buch.<a href='#n'>[1]</a> Er ist da.": ["Tom liest ein Buch.", "Er ist da."],
    "Tom<sup>*</sup> liest die 10 m<sup>2</sup> große Seite.": ["Tom liest die 10 m große Seite."],
    "Tom liest ein Buch. <sup>1</sup> Er ist da.": ["Tom liest ein Buch.", "Er ist da."],
    "Tom liest 1 <sup>1</sup>/<sub>2</sub> Bücher.": ["Tom liest 1 1/2 Bücher."],
    "Siehe (<a href='#n'>5</a>) und 1.<a href='#n'>2</a> im Buch.": ["Siehe (5) und 1.2 im Buch."],
    "Siehe Seite <a href='#n'>5</a> im Buch.": ["Siehe Seite 5 im Buch."],
    "Der 1<sup>er</sup> Hund bellt.": ["Der 1er Hund bellt."],
}
"""Fragments and the texts of their segments."""

NOT_WELL_FORMED = {"Der <b>rote <i>alte</b> Hund</i> bellt."}
"""What XML has not."""

LANGUAGES = ("de", "en")
Opened = tuple[SegmentedDocument[bytes], Callable[[bytes], str]]
"""A document that contains a fragment, and what returns the fragment of a translated document."""


class _Encoded:
    """A text as a document of bytes."""

    def __init__(self, document: SegmentedDocument[str]) -> None:
        self._document, self.segments = document, document.segments

    def assemble(self, translations: Sequence[Translation]) -> bytes:
        return self._document.assemble(translations).encode()


class _WithoutLast:
    """A document whose last segment does not change."""

    def __init__(self, document: SegmentedDocument[bytes]) -> None:
        self._document, self._last, self.segments = document, document.segments[-1], document.segments[:-1]

    def assemble(self, translations: Sequence[Translation]) -> bytes:
        return self._document.assemble([*translations, Translation(self._last.text)])


def in_html(fragment: str) -> Opened:
    return open_document(f"<p>{fragment}</p>".encode(), "a.html", LANGUAGES), lambda data: data.decode()[3:-4]


def in_epub(fragment: str) -> Opened:
    chapter = f'<html xmlns="http://www.w3.org/1999/xhtml"><body><div>{fragment}</div></body></html>'
    data = epub(chapter)

    def read(data: bytes) -> str:
        return _member(data, "OEBPS/chapter.xhtml").partition("<div>")[2].partition("</div>")[0]

    document = open_document(data, "a.epub", LANGUAGES)
    assert document.segments[-1].text == "Ein Hund", "the table of contents"
    return _WithoutLast(document), read


def _member(data: bytes, name: str) -> str:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(name).decode()


def in_json(fragment: str) -> Opened:
    return open_document(json.dumps({"a": fragment}).encode(), "a.json", LANGUAGES), lambda data: str(
        json.loads(data)["a"]
    )


def in_csv(fragment: str) -> Opened:
    data = f'id,text\n1,"{fragment}"\n'.encode()
    return open_document(data, "a.csv", LANGUAGES, ["text"]), lambda data: data.decode().partition('1,"')[2][:-2]


def in_xliff(fragment: str) -> Opened:
    unit = f'<trans-unit id="1"><source>{html.escape(fragment, quote=False)}</source></trans-unit>'
    data = f'<xliff><file source-language="de" target-language="en">{unit}</file></xliff>'.encode()

    def read(data: bytes) -> str:
        return html.unescape(re.findall(r"<target[^>]*>(.*)</target>", data.decode())[0])

    return open_document(data, "a.xlf", LANGUAGES), read


def in_markdown(fragment: str) -> Opened:
    return open_document(fragment.encode(), "a.md", LANGUAGES), bytes.decode


def in_xml(fragment: str) -> Opened:
    nodes = parse_fragment(fragment)
    fragment_of = XmlFragment(nodes, Writing("de", encode_xml), frozenset(), structural_elements(nodes))
    return _Encoded(fragment_of), bytes.decode


def in_vtt(fragment: str) -> Opened:
    data = f"WEBVTT\n\n00:01.000 --> 00:02.000\n{fragment}".encode()
    return open_document(data, "a.vtt", LANGUAGES), lambda data: data.decode().rpartition("00:02.000\n")[2]


SAME_TAGS = {
    "html": in_html,
    "epub": in_epub,
    "json": in_json,
    "csv": in_csv,
    "xliff": in_xliff,
    "markdown": in_markdown,
    "xml": in_xml,
    "vtt": in_vtt,
}
"""Formats with tags of HTML."""

NOT_IN = {
    "vtt": r"<p>|<br|<!--|&amp;",
}
"""Fragments that a format does not have, or that mean something else in it."""


def has(name: str, fragment: str) -> bool:
    if fragment in NOT_WELL_FORMED and name in ("epub", "xml"):
        return False
    return not (name in NOT_IN and re.search(NOT_IN[name], fragment))


CASES = [(name, fragment) for name in SAME_TAGS for fragment in FRAGMENTS if has(name, fragment)]


@pytest.mark.parametrize(("name", "fragment"), CASES)
def test_formats_with_tags_agree(name: str, fragment: str) -> None:
    document, read = SAME_TAGS[name](fragment)
    expected = HtmlText(fragment, "de")
    assert [each.text for each in document.segments] == FRAGMENTS[fragment]
    assert list(document.segments) == list(expected.segments)
    for translate in (unchanged, translate_upper, translate_shuffled):
        written = read(document.assemble(list(map(translate, document.segments))))
        assert html.unescape(written) == html.unescape(expected.assemble(list(map(translate, expected.segments))))


def unchanged(segment: Segment) -> Translation:
    return Translation(segment.text)


WORD_STYLES = {"b": "<w:b/>", "i": "<w:i/>", "sup": '<w:vertAlign w:val="superscript"/>', "span": ""}
SLIDE_STYLES = {"b": 'b="1"', "i": 'i="1"', "sup": 'baseline="30000"', "span": ""}
MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"


def to_word(node: Element, styles: str = "") -> str:
    """The content of a fragment as Word writes it.

    Raises:
        KeyError: Word has no such element.
    """

    def words(text: str | None) -> str:
        return run(html.escape(text), styles) if text else ""

    parts = [words(node.text)]
    for child in node:
        if child.get("translate") or child.get("class"):
            raise KeyError
        if child.tag in WORD_STYLES:
            parts.append(to_word(child, styles + WORD_STYLES[child.tag]))
        elif child.tag == "ruby":
            base, *_, above = [child.text, *(each.text for each in child if each.tag == "rt")]
            ruby = f"<w:ruby><w:rubyPr/><w:rt>{run(above or '')}</w:rt><w:rubyBase>{words(base)}</w:rubyBase></w:ruby>"
            parts.append(f"<w:r>{ruby}</w:r>")
        else:
            parts.append(WORD_ELEMENTS[child.tag].format(to_word(child, styles)))
        parts.append(words(child.tail))
    return "".join(parts)


WORD_ELEMENTS = {
    "p": "</w:p><w:p>{}</w:p><w:p>",
    "a": '<w:hyperlink w:anchor="n">{}</w:hyperlink>',
    "br": "<w:r><w:br/></w:r>",
    "img": "<w:r><w:drawing><x/></w:drawing></w:r>",
    "svg": '<w:r><w:sym w:font="Wingdings" w:char="F04A"/></w:r>',
    "math": f'<m:oMath xmlns:m="{MATH}"><m:r><m:t>x=1</m:t></m:r></m:oMath>',
}


def to_odt(node: Element) -> str:
    """The content of a fragment as LibreOffice writes it; what is in superscript is only known from styles.

    Raises:
        KeyError: LibreOffice has no such element.
    """
    parts = [html.escape(node.text or "")]
    for child in node:
        if child.get("translate") or child.get("class"):
            raise KeyError
        if child.tag == "ruby":
            above = "".join(each.text or "" for each in child if each.tag == "rt")
            base = f"<text:ruby-base>{child.text}</text:ruby-base>"
            parts.append(f"<text:ruby>{base}<text:ruby-text>{above}</text:ruby-text></text:ruby>")
        else:
            parts.append(ODT_ELEMENTS[child.tag].format(to_odt(child)))
        parts.append(html.escape(child.tail or ""))
    return "".join(parts)


ODT_ELEMENTS = {
    "p": "</text:p><text:p>{}</text:p><text:p>",
    **dict.fromkeys(("b", "i", "span"), '<text:span text:style-name="T1">{}</text:span>'),
    "a": '<text:a xlink:href="#n">{}</text:a>',
    "br": "<text:line-break/>",
    "img": "<draw:frame><draw:image/></draw:frame>",
    "svg": "<draw:frame><draw:image/></draw:frame>",
}


def to_slide(node: Element, styles: str = "") -> str:
    """The content of a fragment as PowerPoint writes it.

    Raises:
        KeyError: PowerPoint has no such element.
    """

    def words(text: str | None) -> str:
        return f"<a:r><a:rPr {styles}/><a:t>{html.escape(text)}</a:t></a:r>" if text else ""

    parts = [words(node.text)]
    for child in node:
        if child.get("translate") or child.get("class"):
            raise KeyError
        if child.tag == "br":
            parts.append("<a:br/>")
        else:
            parts.append(to_slide(child, f"{styles} {SLIDE_STYLES[child.tag]}"))
        parts.append(words(child.tail))
    return "".join(parts)


def in_word(fragment: Element) -> bytes:
    return docx(f"{HEAD}<w:document {W}><w:body><w:p>{to_word(fragment)}</w:p></w:body></w:document>")


def in_odt(fragment: Element) -> bytes:
    return odt(content=f"<text:p>{to_odt(fragment)}</text:p>")


def in_slide(fragment: Element) -> bytes:
    return pptx(content=f"<a:p>{to_slide(fragment)}</a:p>")


OFFICE = {"a.docx": in_word, "a.odt": in_odt, "a.pptx": in_slide}


@pytest.mark.parametrize("fragment", [each for each in FRAGMENTS if each not in NOT_WELL_FORMED and "<!--" not in each])
@pytest.mark.parametrize("name", OFFICE)
def test_office_documents_agree(name: str, fragment: str) -> None:
    try:
        data = OFFICE[name](fromstring(f"<x>{fragment}</x>"))
    except KeyError:
        pytest.skip("the format has no such element")
    document = open_document(data, name, LANGUAGES)
    count = len(FRAGMENTS[fragment])
    assert [each.text for each in document.segments[:count]] == FRAGMENTS[fragment]
    expected = HtmlText(fragment, "de")
    after = expected.assemble(list(map(translate_upper, expected.segments)))
    written = document.assemble(list(map(translate_upper, document.segments)))
    assert visible_text(after) in visible_text(_member(written, MEMBERS[name]))


MEMBERS = {"a.docx": "word/document.xml", "a.odt": "content.xml", "a.pptx": "ppt/slides/slide1.xml"}


def visible_text(xml: str) -> str:
    """The text of HTML or XML without white space and annotations."""
    xml = re.sub(r"<(rp|rt|text:ruby-text|w:rt)>.*?</\1>", "", xml)
    return re.sub(r"\s", "", html.unescape(re.sub("<[^<>]*>", "", xml)))


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ("Drücke {}+{} jetzt.", "Drücke {1} jetzt."),
        ("Drücke {} + {} oder {}.", "Drücke {1} oder {2}."),
        ("Sieh {}.{} Das {}, {}.", "Sieh {1}.{2} Das {3}, {4}."),
        ("Das ist {}fett{}-{} hier.", "Das ist fett-{1} hier."),
    ],
)
def test_codes_of_translation_files_with_a_sign_that_joins_them_are_one_placeholder(codes: str, text: str) -> None:
    for code, name, start, end in (
        (
            "<ph/>",
            "a.xlf",
            '<xliff version="1.2"><file><trans-unit id="1"><source>',
            "</source></trans-unit></file></xliff>",
        ),
        (
            "<ph>x</ph>",
            "a.tmx",
            '<tmx><header srclang="de"/><body><tu><tuv xml:lang="de"><seg>',
            "</seg></tuv></tu></body></tmx>",
        ),
    ):
        written = codes.replace("{}", code)
        document = open_document(f"{start}{written}{end}".encode(), name, LANGUAGES)
        assert " ".join(segment.text for segment in document.segments) == text
        translations = [Translation(segment.text.replace("D", "d")) for segment in document.segments]
        assert written.replace("D", "d") in document.assemble(translations).decode()
