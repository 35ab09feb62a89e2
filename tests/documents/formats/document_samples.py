"""Documents in every format, as programs write them."""

from __future__ import annotations

from office_files import HEAD, W, docx, epub, odt, pptx, run

TEXT = (
    "Ein Hund läuft. Er bellt laut!\n\n- erster Punkt\n  * zweiter Punkt\n\tTabulator 12 %\n\n\n1234\nEnde ohne Umbruch"
)
MARKDOWN = """---
title: Der Hund
tags: [hund, tier]
description: "Ein \\"kurzer\\" Text"
---

# Der große *Hund* {#hund}

Ein **sehr _großer_ Hund** läuft mit `dem_code()` nach
Hause, siehe [Unsere Seite](https://a.de/x_(y) "Titel") und ![Bild vom Hund](hund_1.png).
Harter Umbruch\\
Nächste Zeile &amp; \\*Stern\\* mit <kbd>Strg</kbd><br> Und <https://b.de>.

> Ein Zitat
> auf zwei Zeilen

1. Erster Punkt
   mit Fortsetzung
   - [ ] innen
2. Zweiter Punkt[^1]

| Spalte | Wert |
|:-------|-----:|
| Menge \\| Zahl | **viel** |

```python
print("bleibt")  # Kommentar
```

    eingerückter Code

<div class="x">
HTML hier
</div>

Siehe \\_\\_lt\\_\\_ und snake_case, [Verweis][ref] und [ref], Formel $a_1 + b$ und {{ variable }}.

Überschrift
===========

[^1]: Eine Fußnote.
[^2]: Noch eine.
[ref]: https://c.de "Titel"
"""
SRT = """1
00:00:01,000 --> 00:00:02,500
<i>Ein Hund läuft
nach Hause</i> und bellt.

2
00:00:03,000 --> 00:00:04,000 X1:10 X2:20
- Wer ist da?
- {\\an8}Ich!

3
00:00:05,000 --> 00:00:06,000
1984

4
00:00:07,000 --> 00:00:08,000

"""
VTT = """WEBVTT - Titel
Kind: captions

NOTE
Eine Notiz bleibt

STYLE
::cue { color: red }

eins
00:01.000 --> 00:02.000 align:start position:10%
<v Anna>Hunde &amp; Katzen
laufen <c.gelb>sehr</c> <00:01.500>schnell

00:03.000 --> 00:04.000
Ein Satz.
"""
PO = """# Übersetzer
msgid ""
msgstr ""
"Project-Id-Version: x\\n"
"Language: en\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

#. Hinweis
#: src/a.c:10
#, c-format
msgid "Hund %s läuft"
msgstr ""

#, fuzzy
#| msgid "Alt"
msgid "Neu"
msgstr "New"

msgctxt "menu"
msgid "%d Datei"
msgid_plural "%d Dateien"
msgstr[0] ""
msgstr[1] ""

msgid ""
"Erste Zeile\\n"
"zweite \\"Zeile\\""
msgstr ""

msgid "fertig"
msgstr "done"

#~ msgid "veraltet"
#~ msgstr "obsolete"
"""
XLIFF_1 = """<?xml version="1.0" encoding="UTF-8"?>
<!-- Kommentar -->
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file original="a.html" source-language="de-DE" datatype="html">
    <header><note>Bleibt</note></header>
    <body>
      <group id="g">
        <trans-unit id="1" xml:space="preserve">
          <source>Klicken Sie <g id="1" ctype="x-b">bitte <x id="2"/> hier</g> &amp; <bpt id="3">&lt;i></bpt>dort<ept id="3">&lt;/i></ept>.</source>
          <note>Hinweis bleibt</note>
        </trans-unit>
        <trans-unit id="2" approved="yes"><source>Fertig</source><target state="final">Done</target></trans-unit>
        <trans-unit id="3"><source>Neu hier</source><target state="new">Neu hier</target></trans-unit>
        <trans-unit id="4" translate="no"><source>Bleibt so</source></trans-unit>
        <trans-unit id="5"><source>Ein Satz. Noch einer.</source><seg-source><mrk mtype="seg" mid="0">Ein Satz.</mrk> <mrk mtype="seg" mid="1">Noch einer.</mrk></seg-source><target/></trans-unit>
      </group>
    </body>
  </file>
</xliff>
"""  # noqa: E501 - as programs write it
SDLXLIFF = """<?xml version="1.0" encoding="utf-8"?><xliff xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0" xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><file original="a.docx" datatype="x-sdlfilterframework2" source-language="de-DE" target-language="en-US"><body><group><trans-unit id="a-1"><source>Ein Satz. Noch einer.</source><seg-source><g id="1"><mrk mtype="seg" mid="1">Ein Satz.</mrk> <mrk mtype="seg" mid="2">Noch <g id="2">einer</g>.</mrk></g></seg-source><sdl:seg-defs><sdl:seg id="1"/><sdl:seg id="2"><sdl:value key="x">y</sdl:value></sdl:seg></sdl:seg-defs></trans-unit><trans-unit id="a-2"><source>Fertig.</source><seg-source><mrk mtype="seg" mid="3">Fertig.</mrk></seg-source><target><mrk mtype="seg" mid="3">Done.</mrk></target><sdl:seg-defs><sdl:seg id="3" conf="Translated"/></sdl:seg-defs></trans-unit></group></body></file></xliff>
"""  # noqa: E501
XLIFF_2 = """<?xml version="1.0"?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="de" trgLang="en-US">
  <file id="f1">
    <unit id="u1">
      <originalData><data id="d1">&lt;b></data></originalData>
      <segment id="s1">
        <source>Ein <pc id="1" dataRefStart="d1">großer</pc> Hund<ph id="2"/> und <sc id="3"/>mehr<ec startRef="3"/>.</source>
      </segment>
      <ignorable><source> </source></ignorable>
      <segment state="final"><source>Fertig</source><target>Done</target></segment>
    </unit>
    <unit id="u2" translate="no"><segment><source>Bleibt</source></segment></unit>
  </file>
</xliff>
"""  # noqa: E501
TMX = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
  <header srclang="de" segtype="sentence" datatype="x"/>
  <body>
    <tu tuid="1">
      <prop type="x">Bleibt</prop>
      <tuv xml:lang="de-DE"><seg>Ein <bpt i="1">&lt;b></bpt>Hund<ept i="1">&lt;/b></ept> läuft<ph x="1"/>.</seg></tuv>
      <tuv xml:lang="fr"><seg>Un chien.</seg></tuv>
    </tu>
    <tu><tuv xml:lang="de"><seg>Fertig</seg></tuv><tuv xml:lang="EN"><seg>Done</seg></tuv></tu>
  </body>
</tmx>
"""
JSON = """{
    "title" : "Der Hund",
  "menu": { "open": "Datei öffnen …", "key": "ctrl.open", "color": "#ffaa00" },
  "list": ["Erster \\"Eintrag\\"", 12, true, null, 1.50e3, ""],
  "plural": "{count, plural, =0 {Keine Datei} one {# Datei} other {# Dateien in {folder}}} gefunden",
  "next": "Siehe $t(menu.open), {{name}}", "url": "https://a.de/b", "title" : "doppelt",
  "@title": {"description": "Notiz bleibt"}
}
"""
EXTENSION = (
    '{"hello": {"message": "Hallo $NAME$, Welt", "description": "Notiz", "placeholders": {"name": {"content": "$1"}}}}'
)
CSV = 'id;name;beschreibung\r\n1;"Hund; groß";"Er sagt ""Wau"". Dann\nläuft er."\r\n2;Katze;https://a.de\r\n3;;A-12\r\n'
TSV = 'key\ttext\na.b\tEin Hund läuft\nc.d\t5 "Zoll" lang\n'
HTML = (
    "<!DOCTYPE html>\n<html><head><title>Hund</title><style>p{}</style></head><body class=x><h1>Ein <b>großer</b> Hund"
    "</h1><p>Er läuft&nbsp;<code>run()</code> schnell.<p translate=no>Bleibt</p><img alt='Bild' src=a.png>"
    "</body></html>"
)
PLAIN_DOCX = docx(f"{HEAD}<w:document {W}><w:body><w:p>{run('Nur ein Satz.')}</w:p></w:body></w:document>")

SAMPLES: list[tuple[str, bytes]] = [
    ("text.txt", TEXT.encode()),
    ("windows.txt", TEXT.replace("\n", "\r\n").encode("utf-8-sig")),
    ("utf16.txt", TEXT.encode("utf-16")),
    ("page.md", MARKDOWN.encode()),
    ("windows.md", MARKDOWN.replace("\n", "\r\n").encode()),
    ("plain.markdown", b"Nur ein Absatz\nmit zwei Zeilen"),
    ("page.html", HTML.encode()),
    ("latin.htm", HTML.replace("<title>", '<meta charset="iso-8859-1"><title>').encode("latin-1")),
    ("film.srt", SRT.encode()),
    ("windows.srt", SRT.replace("\n", "\r\n").encode("utf-8-sig")),
    ("film.vtt", VTT.encode()),
    ("a.json", JSON.encode()),
    ("app.arb", b'{"@@locale": "de", "a": "Hallo {name}", "@a": {"description": "x y"}}'),
    ("messages.json", EXTENSION.encode()),
    ("ascii.json", b'["\\u00dcber uns", "Hund\\nKatze"]'),
    ("table.csv", CSV.encode()),
    ("comma.csv", b'"Ein Hund","A dog"\n"Zwei Hunde","Two, dogs"\n'),
    ("table.tsv", TSV.encode()),
    ("letter.docx", docx()),
    ("plain.docx", PLAIN_DOCX),
    ("slides.pptx", pptx()),
    ("text.odt", odt()),
    ("book.epub", epub()),
]
"""Documents whose texts are replaced."""

FILLED_SAMPLES: list[tuple[str, bytes]] = [
    ("de.po", PO.encode()),
    ("latin.po", PO.replace("UTF-8", "ISO-8859-1").encode("latin-1")),
    ("windows.pot", PO.replace("\n", "\r\n").encode()),
    ("a.xlf", XLIFF_1.encode()),
    ("utf16.xlf", XLIFF_1.replace("UTF-8", "UTF-16").encode("utf-16")),
    ("a.xliff", XLIFF_2.encode()),
    ("a.mqxliff", XLIFF_1.encode()),
    ("a.mxliff", XLIFF_1.encode()),
    ("a.sdlxliff", SDLXLIFF.encode()),
    ("memory.tmx", TMX.encode()),
    ("latin.tmx", TMX.replace("utf-8", "iso-8859-1").encode("latin-1")),
]
"""Documents with sources and translations, of which some are missing."""
