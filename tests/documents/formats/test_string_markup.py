"""Strings of programs with tags of HTML in JSON, PO, tables, XLIFF and TMX."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from typing import Any

import pytest
from segment_translators import assemble, translate_shuffled, translate_upper

from dragoman.documents.formats import open_document
from dragoman.text.translation import Translation

STRINGS = {
    'Klicken Sie <b class="x">hier</b>, um zu sichern': 'KLICKEN SIE <b class="x">HIER</b>, UM ZU SICHERN',
    "Siehe <0>Seite <icon/></0> und <link>mehr</link>": "SIEHE <0>SEITE <icon/></0> UND <link>MEHR</link>",
    "Zeile eins<br>Zeile zwei": "ZEILE EINS<br>ZEILE ZWEI",
    "<p>Ein Absatz</p><p>Noch einer</p>": "<p>EIN ABSATZ</p><p>NOCH EINER</p>",
    "Taste <kbd>Strg</kbd> und <code>nimm a</code> da": "TASTE <kbd>Strg</kbd> UND <code>nimm a</code> DA",
    "Hunde &amp; <i>Katzen</i> &lt;b&gt;": "HUNDE &amp; <i>KATZEN</i> &lt;B&gt;",
    "Hunde & <i>Katzen</i>": "HUNDE & <i>KATZEN</i>",
    "Fertig <!-- bleibt --> jetzt": "FERTIG <!-- bleibt --> JETZT",
    '<a href="%s" translate="no">bleibt</a> neu <b>x <i>y</i></b>': (
        '<a href="%s" translate="no">bleibt</a> NEU <b>X <i>Y</i></b>'
    ),
    "<b>Achtung &amp; Hund": "<b>ACHTUNG &amp; HUND",
    "<a href='x'>Hund &nbsp;jetzt": "<a href='x'>HUND &nbsp;JETZT",
    "Ein <!-- <b>x</b> --> Hund &amp; mehr": "EIN <!-- <b>x</b> --> HUND &amp; MEHR",
    "<!-- <b>x</b> -->Hund": "<!-- <b>x</b> -->HUND",
    "cp <quelle> <ziel> &quot;so&quot;": "CP <quelle> <ziel> &quot;SO&quot;",
    "a < b &quot;c&quot; & d": "A < B &quot;C&quot; & D",
    "Sag &quot;Hallo&quot; &#39;da&#39;&nbsp;bitte &#x20AC;": "SAG &quot;HALLO&quot; &#39;DA&#39;&nbsp;BITTE &#x20AC;",
    "a < b und b > a": "A < B UND B > A",
    "{n} <b>von</b> {m}": "{n} <b>VON</b> {m}",
}
"""Strings, and the same in upper case."""

TAG = re.compile(r"<[\w/!][^<>]*>")


def in_json(text: str, translate: Any) -> str:
    data = json.dumps({"a": text}).encode()
    return str(json.loads(assemble(open_document(data, "a.json", ("de", "en")), translate))["a"])


def in_csv(text: str, translate: Any) -> str:
    data = io.StringIO()
    csv.writer(data).writerows([["id", "text"], ["1", text]])
    document = open_document(data.getvalue().encode(), "a.csv", ("de", "en"), ["text"])
    return list(csv.reader(io.StringIO(assemble(document, translate).decode())))[1][1]


def in_po(text: str, translate: Any) -> str:
    data = f'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid {json.dumps(text)}\nmsgstr ""\n'
    translated = assemble(open_document(data.encode(), "a.po", ("de", "en")), translate).decode()
    return "".join(
        json.loads(line) for line in translated.partition("\nmsgid")[2].partition("\nmsgstr ")[2].splitlines()
    )


FORMATS = {"json": in_json, "csv": in_csv, "po": in_po}


@pytest.mark.parametrize("text", STRINGS)
@pytest.mark.parametrize("name", FORMATS)
def test_tags_stay_around_their_words(name: str, text: str) -> None:
    assert FORMATS[name](text, translate_upper) == STRINGS[text]
    assert FORMATS[name](text, None) == text


@pytest.mark.parametrize("text", STRINGS)
@pytest.mark.parametrize("name", FORMATS)
def test_shuffled_words_lose_no_tag(name: str, text: str) -> None:
    assert sorted(TAG.findall(FORMATS[name](text, translate_shuffled))) == sorted(TAG.findall(text))


def test_placeholders_that_look_like_tags_are_text() -> None:
    document = open_document(b'["cp <quelle> <ziel>"]', "a.json", ("de", "en"))
    assert [segment.text for segment in document.segments] == ["cp <quelle> <ziel>"]


def test_forms_of_messages_may_contain_tags() -> None:
    text = "{n, plural, one {<b>#</b> Datei} other {<b>#</b> Dateien}}"
    assert in_json(text, translate_upper) == "{n, plural, one {<b>#</b> DATEI} other {<b>#</b> DATEIEN}}"


def test_escapes_of_json_stay() -> None:
    data = rb'["Klick \u003cb\u003ehier\u003c\/b\u003e\u00a0an \"jetzt\"\n"]'
    assert assemble(open_document(data, "a.json", ("de", "en")), translate_upper) == (
        rb'["KLICK \u003cb\u003eHIER\u003c\/b\u003e\u00a0AN \"JETZT\"\n"]'
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (rb"Hund\/Katze \u002f u\u002f\u0022x\"\\u002f", rb"HUND\/KATZE \/ U\/\u0022X\u0022\\U002F"),
        (
            "Ä Hund \\ud83d\\ude00 \\uD83D\\uDC36 \\n\\t".encode(),
            "Ä HUND \\ud83d\\ude00 \\uD83D\\uDC36 \\n\\t".encode(),
        ),
        ("ä Hund \\u0061 \\u20ac".encode(), "Ä HUND A \\u20ac".encode()),
    ],
)
def test_each_character_keeps_its_first_escape(before: bytes, after: bytes) -> None:
    assert assemble(open_document(b'["%s"]' % before, "a.json", ("de", "en")), translate_upper) == b'["%s"]' % after


@pytest.mark.parametrize("source", ["Klick &lt;b>hier&lt;/b> &amp; da", "<![CDATA[Klick <b>hier</b> & da]]>"])
def test_escaped_tags_in_translation_files(source: str) -> None:
    from lxml import etree

    xliff = (
        '<xliff version="1.2"><file source-language="de" target-language="en"><body><trans-unit id="1">'
        f"<source>{source}</source></trans-unit></body></file></xliff>"
    )
    tmx = f'<tmx version="1.4"><body><tu><tuv xml:lang="de"><seg>{source}</seg></tuv></tu></body></tmx>'
    for name, data, path in (("a.xlf", xliff, ".//target"), ("a.tmx", tmx, ".//tuv[2]/seg")):
        document = open_document(data.encode(), name, ("de", "en"))
        found = etree.fromstring(assemble(document, translate_upper)).find(path)
        assert found.text == "KLICK <b>HIER</b> & DA"
        assert document.segments[0].text.startswith("Klick hier")


def test_new_characters_of_html_become_no_tags() -> None:
    for text in ("Hund &nbsp;x", "Hund &amp; x"):
        translated = in_json(text, lambda segment: Translation("<b> &lt; < 'x"))
        assert html.unescape(translated) == "<b> &lt; < 'x"
        assert "<b" not in translated


@pytest.mark.parametrize("tag", ["<b/im<img src=x onerror=alert(1)>", "<b <img src=x>", "<a title='<b>"])
def test_a_tag_that_contains_another_stays_whole(tag: str) -> None:
    """A browser reads one tag; its end alone would be another one."""
    for text in (f"Ein Hund {tag} bellt.", f"Ein Hund &amp; {tag} bellt."):
        translated = in_json(text, lambda segment: Translation("Wau"))
        assert translated.count("<") == translated.count(tag) * tag.count("<")


@pytest.mark.parametrize(
    "kept",
    [
        "{n, number}",
        "{d, date, short}",
        "$t(menu.open)",
        "@:common.dog",
        "@.lower:a.b",
        "@:{'a.b'}",
        ":count",
        ":Name",
        "{n,number,::currency/EUR}",
    ],
)
def test_references_and_formats_of_messages_are_kept(kept: str) -> None:
    assert in_json(f"Ein {kept} Hund um 10:30.", translate_upper) == f"EIN {kept} HUND UM 10:30."
