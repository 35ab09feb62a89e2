"""Messages of programs: the same forms, placeholders and quotes in every format of strings."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable

import pytest
from lxml import etree
from segment_translators import assemble, translate_upper

from dragoman.documents.formats import open_document
from dragoman.documents.segment import SegmentedDocument
from dragoman.text.translation import Translation

LANGUAGES = ("de", "en")
Opened = tuple[SegmentedDocument[bytes], Callable[[bytes], str]]
"""A document that contains a string, and what returns the string of a translated document."""


def in_json(text: str) -> Opened:
    data = json.dumps({"a": text}).encode()
    return open_document(data, "a.json", LANGUAGES), lambda data: str(json.loads(data)["a"])


def in_arb(text: str) -> Opened:
    data = json.dumps({"@@locale": "de", "a": text, "@a": {"placeholders": {}}}).encode()
    return open_document(data, "a.arb", LANGUAGES), lambda data: str(json.loads(data)["a"])


def in_po(text: str) -> Opened:
    start = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    data = f'{start}msgid {json.dumps(text, ensure_ascii=False)}\nmsgstr ""\n'.encode()

    def read(data: bytes) -> str:
        lines = data.decode().partition("\nmsgid")[2].partition("\nmsgstr ")[2].splitlines()
        return "".join(json.loads(line) for line in lines)

    return open_document(data, "a.po", LANGUAGES), read


def in_csv(text: str) -> Opened:
    data = io.StringIO()
    csv.writer(data).writerows([["id", "text"], ["1", text]])
    document = open_document(data.getvalue().encode(), "a.csv", LANGUAGES, ["text"])
    return document, lambda data: list(csv.reader(io.StringIO(data.decode())))[1][1]


def in_tsv(text: str) -> Opened:
    document = open_document(f"id\ttext\n1\t{text}\n".encode(), "a.tsv", LANGUAGES, ["text"])
    return document, lambda data: data.decode().split("\n")[1].split("\t")[1]


def in_xliff(text: str) -> Opened:
    unit = f'<trans-unit id="1"><source>{html.escape(text, quote=False)}</source></trans-unit>'
    data = f'<xliff version="1.2"><file source-language="de" target-language="en">{unit}</file></xliff>'.encode()
    return open_document(data, "a.xlf", LANGUAGES), lambda data: str(etree.fromstring(data).findtext(".//target"))


def in_xliff_2(text: str) -> Opened:
    unit = f'<unit id="1"><segment><source>{html.escape(text, quote=False)}</source></segment></unit>'
    data = f'<xliff version="2.0" srcLang="de" trgLang="en"><file id="f">{unit}</file></xliff>'.encode()
    return open_document(data, "a.xlf", LANGUAGES), lambda data: str(etree.fromstring(data).findtext(".//target"))


def in_tmx(text: str) -> Opened:
    unit = f'<tu><tuv xml:lang="de"><seg>{html.escape(text, quote=False)}</seg></tuv></tu>'
    data = f'<tmx version="1.4"><body>{unit}</body></tmx>'.encode()
    return open_document(data, "a.tmx", LANGUAGES), lambda data: str(etree.fromstring(data).findtext(".//tuv[2]/seg"))


FORMATS = {
    "json": in_json,
    "arb": in_arb,
    "po": in_po,
    "csv": in_csv,
    "tsv": in_tsv,
    "xliff 1.2": in_xliff,
    "xliff 2": in_xliff_2,
    "tmx": in_tmx,
}

MESSAGES = {
    "plural": (
        "{n, plural, =0 {Keine Datei} one {# Datei} other {# Dateien (#) in {folder}}} gefunden",
        ["Keine Datei", "{1} Datei", "{1} Dateien ({2}) in {folder}", "gefunden"],
        "{n, plural, =0 {KEINE DATEI} one {# DATEI} other {# DATEIEN (#) IN {folder}}} GEFUNDEN",
    ),
    "offset": (
        "{n,plural,offset:1 one{Du und # Freund}other{Du und # Freunde}}",
        ["Du und {1} Freund", "Du und {1} Freunde"],
        "{n,plural,offset:1 one{DU UND # FREUND}other{DU UND # FREUNDE}}",
    ),
    "select": (
        "{gender, select, male {Er ist Platz #1.} female {Sie ist da.} other {{name} ist da.}}",
        ["Er ist Platz #1.", "Sie ist da.", "{name} ist da."],
        "{gender, select, male {ER IST PLATZ #1.} female {SIE IST DA.} other {{name} IST DA.}}",
    ),
    "ordinal": (
        "Dies ist die {n, selectordinal, one {#te Datei} other {#te Datei}} hier",
        ["Dies ist die", "{1}te Datei", "{1}te Datei", "hier"],
        "DIES IST DIE {n, selectordinal, one {#TE DATEI} other {#TE DATEI}} HIER",
    ),
    "ordinal with a point": (
        "{n, selectordinal, one {Den #. Hund} other {Den #. Hund}} sah ich am {d, number}. Tag. Er schlief",
        ["Den {1}. Hund", "Den {1}. Hund", "sah ich am {1}. Tag.", "Er schlief"],
        "{n, selectordinal, one {DEN #. HUND} other {DEN #. HUND}} SAH ICH AM {d, number}. TAG. ER SCHLIEF",
    ),
    "nested": (
        "{g, select, male {{n, plural, one {Ein Hund} other {Seine # Hunde}}} other {{n, plural, other {Ihre Hunde}}}}",
        ["Ein Hund", "Seine {1} Hunde", "Ihre Hunde"],
        "{g, select, male {{n, plural, one {EIN HUND} other {SEINE # HUNDE}}} other {{n, plural, other {IHRE HUNDE}}}}",
    ),
    "tags": (
        "{n, plural, one {<b>Eine</b> Datei} other {<b>#</b> Dateien}}",
        ["Eine Datei", "Dateien"],
        "{n, plural, one {<b>EINE</b> DATEI} other {<b>#</b> DATEIEN}}",
    ),
    "quoted braces": (
        "{n, plural, one {Nimm '{x}' für eine Datei} other {Nimm '}' und '#' für # Dateien}}",
        ["Nimm {1} für eine Datei", "Nimm {1} und {2} für {3} Dateien"],
        "{n, plural, one {NIMM '{x}' FÜR EINE DATEI} other {NIMM '}' UND '#' FÜR # DATEIEN}}",
    ),
    "doubled apostrophes": (
        "{n, plural, one {Wie geht''s dem Hund} other {Wie geht''s den Hunden}}",
        ["Wie geht's dem Hund", "Wie geht's den Hunden"],
        "{n, plural, one {WIE GEHT''S DEM HUND} other {WIE GEHT''S DEN HUNDEN}}",
    ),
    "one apostrophe": (
        "{n, plural, one {Wie geht's dem Hund} other {Wie geht's den Hunden}}",
        ["Wie geht's dem Hund", "Wie geht's den Hunden"],
        "{n, plural, one {WIE GEHT'S DEM HUND} other {WIE GEHT'S DEN HUNDEN}}",
    ),
    "apostrophes without forms": (
        "Die Datei '{name}' ist da, wie geht''s",
        ["Die Datei '{name}' ist da, wie geht''s"],
        "DIE DATEI '{name}' IST DA, WIE GEHT''S",
    ),
    "a brace that is not closed": (
        "{n, plural, one {Ein Hund",
        ["{n, plural, one {Ein Hund"],
        "{N, PLURAL, ONE {EIN HUND",
    ),
    "formats": (
        "Am {d, date, short} sind {n, number, ::currency/EUR} da.",
        ["Am {1} sind {2} da."],
        "AM {d, date, short} SIND {n, number, ::currency/EUR} DA.",
    ),
    "references": (
        "Siehe $t(menu.open) und :count mit $NAME$ bei @:common.dog dort",
        ["Siehe {1} und {2} mit {3} bei {4} dort"],
        "SIEHE $t(menu.open) UND :count MIT $NAME$ BEI @:common.dog DORT",
    ),
    "forms between lines": (
        "{0} Keine Datei|{1} Eine Datei | [2,*] :count Dateien|]1,Inf] Viele",
        ["Keine Datei", "Eine Datei", "{1} Dateien", "Viele"],
        "{0} KEINE DATEI|{1} EINE DATEI | [2,*] :count DATEIEN|]1,Inf] VIELE",
    ),
    "lines in addresses": (
        "Nimm <b>https://a.example/?f=A|B</b> jetzt|oder nie",
        ["Nimm https://a.example/?f=A|B jetzt", "oder nie"],
        "NIMM <b>HTTPS://A.EXAMPLE/?F=A|B</b> JETZT|ODER NIE",
    ),
    "lines that divide nothing": (
        "Gut {{ name | upper }} und {0} von {1}|{2} Hunde",
        ["Gut {{ name | upper }} und {0} von {1}", "{2} Hunde"],
        "GUT {{ NAME | UPPER }} UND {0} VON {1}|{2} HUNDE",
    ),
    "lines and apostrophes": (
        "Wie geht's dem Hund|Wie geht's {n} Hunden",
        ["Wie geht's dem Hund", "Wie geht's {n} Hunden"],
        "WIE GEHT'S DEM HUND|WIE GEHT'S {n} HUNDEN",
    ),
    "escapes": (
        r"Ein Mann schläft.\nEine Frau liest.\tDort",
        ["Ein Mann schläft.", "Eine Frau liest.", "Dort"],
        r"EIN MANN SCHLÄFT.\nEINE FRAU LIEST.\tDORT",
    ),
}
"""Messages, the texts of their segments, and the same in upper case."""


@pytest.mark.parametrize("kind", MESSAGES)
@pytest.mark.parametrize("name", FORMATS)
def test_messages_have_the_same_segments_in_every_format(name: str, kind: str) -> None:
    text, segments, upper = MESSAGES[kind]
    document, read = FORMATS[name](text)
    assert [re.sub(r"\s+", " ", each.text) for each in document.segments] == segments
    assert read(assemble(document, translate_upper)) == upper
    assert read(assemble(document)) == text


@pytest.mark.parametrize("name", FORMATS)
def test_apostrophes_of_translations_quote_nothing(name: str) -> None:
    """Before a brace, an apostrophe would make a placeholder text."""
    for text, written in (
        ("{n, plural, other {Von {name}}}", "{n, plural, other {d''{name} l'x}}"),
        ("{n, plural, other {Geht''s von {name}}}", "{n, plural, other {d''{name} l''x}}"),
        ("Von {name}", "d'{name} l'x"),
    ):
        document, read = FORMATS[name](text)
        assert read(assemble(document, lambda segment: Translation("d'{name} l'x"))) == written


def test_forms_may_contain_elements_of_translation_files() -> None:
    source = '{n, plural, one {<ph id="1"/>Ein <g id="2">Hund</g>} other {# <g id="2">Hunde</g>}} da'
    expected = '{n, plural, one {<ph id="1"/>EIN <g id="2">HUND</g>} other {# <g id="2">HUNDE</g>}} DA'
    unit = f'<trans-unit id="1"><source>{source}</source></trans-unit>'
    data = f'<xliff version="1.2"><file source-language="de" target-language="en">{unit}</file></xliff>'.encode()
    document = open_document(data, "a.xlf", LANGUAGES)
    assert [each.text for each in document.segments] == ["Ein Hund", "{1} Hunde", "da"]
    assert f">{expected}</target>" in assemble(document, translate_upper).decode()
