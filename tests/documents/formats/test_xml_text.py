"""XML of any vocabulary: some elements end sentences, and some are kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from segment_translators import translate_upper

from dragoman.documents.formats.xml_text import XmlFragment, parse_fragment, structural_elements
from dragoman.documents.passage import Writing
from dragoman.documents.segment import Segment
from dragoman.errors import UserError
from dragoman.markup.xml import NotWellFormedError, encode_xml
from dragoman.text.translation import Translation


def read(xml: str, kept: str = "", blocks: str = "") -> XmlFragment:
    nodes = parse_fragment(xml)
    found = structural_elements(nodes)
    return XmlFragment(nodes, Writing("de", encode_xml), frozenset(kept.split()), found | frozenset(blocks.split()))


def translate(document: XmlFragment, translator: Callable[[Segment], Translation] = translate_upper) -> str:
    return document.assemble([translator(segment) for segment in document.segments])


@pytest.mark.parametrize(
    ("xml", "segments", "expected"),
    [
        ("<t>Das <param>Ding</param> geht</t>", ["Das {1} geht"], "<t>DAS <param>Ding</param> GEHT</t>"),
        ("<t>Das <param/> geht</t>", ["Das {1} geht"], "<t>DAS <param/> GEHT</t>"),
        ("Das <größe>Ding</größe> <_x>geht</_x>", ["Das {1} geht"], "DAS <größe>Ding</größe> <_x>GEHT</_x>"),
        ("<w:t>Das <w:param/> geht</w:t>", ["Das geht"], "<w:t>DAS <w:param/> GEHT</w:t>"),
        ("<title>Ein <source>Hund</source></title>", ["Ein Hund"], "<title>EIN <source>HUND</source></title>"),
        ("<text>Ein <script/> Hund</text>", ["Ein Hund"], "<text>EIN <script/> HUND</text>"),
        ("<d><code>Ein Hund</code><style>so</style></d>", ["Ein Hund", "so"], None),
        (
            "<d>Ein <![CDATA[<Hund> & Co]]> bellt</d>",
            ["Ein <Hund> & Co bellt"],
            "<d>EIN &lt;HUND&gt; &amp; CO BELLT</d>",
        ),
        ("Das &produkt; f&uuml;r <!-- nie --> alle", ["Das {1} für alle"], "DAS &produkt; FÜR <!-- nie --> ALLE"),
        (
            "&copyright; <b>ein <i/> Hund <!-- --> da</b>",
            ["{1} ein Hund da"],
            "&copyright; <b>EIN <i/> HUND <!-- --> DA</b>",
        ),
        ("<p>Ein Hund<br/>Eine Katze</p>", ["Ein Hund", "Eine Katze"], "<p>EIN HUND<br/>EINE KATZE</p>"),
        ("<pre>Ein Hund\n  bellt\n</pre>", ["Ein Hund", "bellt"], "<pre>EIN HUND\n  BELLT\n</pre>"),
        ('<v xml:space="preserve">Ja\n\nNein</v>', ["Ja", "Nein"], '<v xml:space="preserve">JA\n\nNEIN</v>'),
        ("Ein <0>kleiner</0><1/> Hund", ["Ein kleiner Hund"], "EIN <0>KLEINER</0><1/> HUND"),
        ("<t>Der <Param>Hund</Param></t>", ["Der Hund"], "<t>DER <Param>HUND</Param></t>"),
        ('<t alt="Ein Hund">Eine <b translate="no">Katze</b></t>', ["Eine {1}"], None),
    ],
)
def test_names_of_html_have_no_rules_for_their_content_in_xml(
    xml: str, segments: list[str], expected: str | None
) -> None:
    document = read(xml, kept="param größe")
    assert [segment.text for segment in document.segments] == segments
    assert translate(document, lambda segment: Translation(segment.text)) == xml
    assert expected in (None, translate(document))


@pytest.mark.parametrize(
    ("xml", "count"),
    [
        ("<doc><name>Ein Hund</name><note>Der <x>Hund</x> läuft</note></doc>", 2),
        ("<name>Ein Hund</name><note>Eine Katze</note>", 2),
        ("<name>Ein Hund</name> und <note>eine Katze</note>", 1),
        ("<doc><b>Ein</b> <hi>Hund</hi></doc>", 1),
        ("<doc><pic/><b>Ein</b><pic></pic> Hund</doc>", 1),
        ("<row><q>Ein Hund</q><q>Eine Katze</q></row>", 2),
        ("<row>\n <i>Ein Hund</i>\n <i>Eine Katze</i>\n</row>", 2),
    ],
)
def test_elements_without_text_around_them_end_sentences(xml: str, count: int) -> None:
    assert len(read(xml).segments) == count


def test_named_elements_end_sentences() -> None:
    assert translate(read("Ein Hund <Y>Eine Katze</Y> da", blocks="Y")) == "EIN HUND <Y>EINE KATZE</Y> DA"
    assert len(read("Ein Hund <Y>Eine Katze</Y> da", blocks="Y").segments) == 3


@pytest.mark.parametrize("xml", ["<a>", "a & b", "<a></b>", "&#0;", "\ud800", "a < b"])
def test_xml_with_mistakes_is_not_well_formed(xml: str) -> None:
    with pytest.raises(NotWellFormedError):
        parse_fragment(xml)


@pytest.mark.parametrize("xml", ["<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>", "<a>" * 300 + "</a>" * 300])
def test_declared_entities_and_deep_elements_are_refused(xml: str) -> None:
    with pytest.raises(UserError, match=r"entity|deep") as raised:
        parse_fragment(xml)
    assert not isinstance(raised.value, NotWellFormedError)
