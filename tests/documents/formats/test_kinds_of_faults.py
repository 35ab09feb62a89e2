"""Files and texts of the kinds that people report, in many formats and scripts.

In most tables, ¦ is where a segment begins: the file is written without it, and each segment is translated by itself
with a ¦ before its first word. So the tables show what is one segment, and that all else stays as it is. What is in ⟦⟧
is in no segment.
"""

from __future__ import annotations

import gzip
import io
import re
import warnings
import zipfile
from pathlib import Path

import pytest
from office_files import HEAD, W, docx, epub, field, odt, package, pptx, relationships, run

from dragoman.corpus.corpus import read_corpus
from dragoman.documents.formats import open_document
from dragoman.documents.segment import Segment
from dragoman.documents.sentences import split_sentences
from dragoman.errors import UserError
from dragoman.settings import FilePair
from dragoman.text.link import Link
from dragoman.text.translation import Translation

START = "¦"


def mark_start(segment: Segment) -> Translation:
    """The same text, with ¦ before its first word."""
    words = [match.span() for match in re.finditer(r"\S+", segment.text)]
    links = tuple(Link(start, end, start + (start > 0), end + 1) for start, end in words)
    return Translation(START + segment.text, links=links if segment.aligned else ())


def marked(data: bytes, name: str, languages: tuple[str, str]) -> tuple[list[str], bytes]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        document = open_document(data, name, languages)
    texts = [segment.text for segment in document.segments]
    return texts, document.assemble(list(map(mark_start, document.segments)))


def xliff(unit: str, languages: tuple[str, str] = ("de", "en")) -> str:
    source, target = languages
    return f'<xliff version="1.2"><file source-language="{source}" target-language="{target}">{unit}</file></xliff>'


def xliff_2(unit: str) -> str:
    return f'<xliff version="2.0" srcLang="de" trgLang="en"><file id="f">{unit}</file></xliff>'


def srt(*cues: str) -> str:
    return "".join(
        f"{number}\n00:00:{number:02},000 --> 00:00:{number:02},900\n{cue}\n\n" for number, cue in enumerate(cues, 1)
    )


def po(messages: str, header: str = "Language: en\\n") -> str:
    return f'msgid ""\nmsgstr "{header}"\n\n{messages}'


DE = ("de", "en")

TEXT_FILES: dict[str, tuple[str, tuple[str, str], str]] = {
    # a unit is taken whole: what is written into the file is marked
    "unit: note of Xcode": (
        "a.xliff",
        DE,
        xliff(
            '<trans-unit id="a">\n<source>Ein Hund</source>\n<target state="needs-review-translation">¦Ein Hund'
            "</target>\n<note>Nicht Katze</note></trans-unit>"
        ),
    ),
    "unit: other proposals": (
        "a.xlf",
        DE,
        xliff(
            '<trans-unit id="a"><source>Ein Hund</source><target state="needs-review-translation">¦Ein Hund</target>'
            "<alt-trans><source>Ein Hut</source><target>A hat</target></alt-trans></trans-unit>"
        ),
    ),
    "unit: codes of Angular": (
        "a.xlf",
        DE,
        xliff(
            '<trans-unit id="a"><source>Hallo <x id="START_TAG_B" ctype="x-b"/>Tom<x id="CLOSE_TAG_B" ctype="x-b"/>,'
            ' du hast <x id="INTERPOLATION" equiv-text="{{n}}"/> Hunde.</source><target '
            'state="needs-review-translation">¦Hallo <x id="START_TAG_B" ctype="x-b"/>Tom<x id="CLOSE_TAG_B" '
            'ctype="x-b"/>, du hast <x id="INTERPOLATION" equiv-text="{{n}}"/> Hunde.</target></trans-unit>'
        ),
    ),
    "unit: ignorable of XLIFF 2": (
        "a.xlf",
        DE,
        xliff_2(
            '<unit id="u"><originalData><data id="d1">&lt;b></data></originalData>'
            '<segment id="1" state="final"><source>Ein Hund.</source><target>A dog.</target></segment>'
            "<ignorable><source> </source><target> </target></ignorable>"
            '<segment id="2" state="translated"><source>Eine <ph id="1" dataRef="d1"/>Katze.</source>'
            '<target>¦Eine <ph id="1" dataRef="d1"/>Katze.</target></segment></unit>'
        ),
    ),
    "unit: locked segment of SDLXLIFF": (
        "a.sdlxliff",
        DE,
        xliff(
            '<trans-unit id="a"><source>Acme. Ein Hund.</source><seg-source><mrk mtype="seg" mid="1">Acme.</mrk> '
            '<mrk mtype="seg" mid="2">Ein Hund.</mrk></seg-source><target state="needs-review-translation"><mrk '
            'mtype="seg" mid="1"/> <mrk mtype="seg" mid="2">¦Ein Hund.</mrk></target><sdl:seg-defs><sdl:seg id="1" '
            'locked="true"/><sdl:seg id="2" conf="Draft"/></sdl:seg-defs></trans-unit>'
        ),
    ),
    "unit: locked unit of Phrase": (
        "a.mxliff",
        DE,
        xliff(
            '<trans-unit id="a" m:locked="true"><source>Acme</source><target/></trans-unit>'
            '<trans-unit id="b" m:locked="false"><source>Ein Hund</source><target state="needs-review-translation">'
            "¦Ein Hund</target></trans-unit>"
        ),
    ),
    "unit: locked unit of memoQ": (
        "a.mqxliff",
        DE,
        xliff(
            '<trans-unit id="a" mq:locked="locked"><source>Acme</source><target/></trans-unit>'
            '<trans-unit id="b" mq:status="NotStarted"><source>Ein Hund</source><target '
            'state="needs-review-translation">¦Ein Hund</target></trans-unit>'
        ),
    ),
    "unit: forms of Polish": (
        "pl.po",
        ("en", "pl"),
        po(
            '#, fuzzy\nmsgid "%d dog"\nmsgid_plural "%d dogs"\nmsgstr[0] "¦%d dog"\nmsgstr[1] "¦%d dogs"\n'
            'msgstr[2] "¦%d dogs"\n',
            "Language: pl\\nPlural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) "
            "? 1 : 2);\\n",
        ),
    ),
    "unit: forms of Slovenian": (
        "sl.po",
        ("de", "sl"),
        po(
            '#, fuzzy\nmsgid "%d Hund"\nmsgid_plural "%d Hunde"\nmsgstr[0] "¦%d Hunde"\nmsgstr[1] "¦%d Hund"\n'
            'msgstr[2] "¦%d Hunde"\nmsgstr[3] "¦%d Hunde"\n',
            "Language: sl\\nPlural-Forms: nplurals=4; plural=(n%100==1 ? 1 : n%100==2 ? 2 : n%100==3 || n%100==4 ? 3 : "
            "0);\\n",
        ),
    ),
    "unit: a form of Russian for 1 and 21": (
        "ru.po",
        ("en", "ru"),
        po(
            '#, fuzzy\n#| msgid "one god"\n#| msgid_plural ""\n#| "gods"\nmsgid "one dog"\nmsgid_plural "%d dogs"\n'
            'msgstr[0] "¦%d dogs"\nmsgstr[1] "¦%d dogs"\nmsgstr[2] "¦%d dogs"\n',
            "Language: ru\\nPlural-Forms: nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<"
            "10 || n%100>=20) ? 1 : 2);\\n",
        ),
    ),
    "unit: gender in contexts": (
        "en.po",
        DE,
        po(
            '#, fuzzy\nmsgctxt "male"\nmsgid "Freund"\nmsgstr "¦Freund"\n\n#, fuzzy\nmsgctxt "female"\nmsgid "Freund"\n'
            'msgstr "¦Freund"\n\nmsgctxt "plural"\nmsgid "Freund"\nmsgstr "friends"\n'
        ),
    ),
    # structure from blank lines and fixed names
    "lines: coordinates after times": (
        "a.srt",
        DE,
        "1\n0:00:01,000 --> 0:00:02,000  X1:100 X2:200 Y1:50 Y2:60\n¦Ein Hund.\n2\n100:00:01,000 --> 100:00:02,000\n"
        "¦Eine Katze.\n",
    ),
    "lines: numbers in other digits": (
        "a.srt",
        ("fa", "en"),
        "۱\n00:00:01,000 --> 00:00:02,000\n¦سگ می‌دود.\n۲\n00:00:03,000 --> 00:00:04,000\n¦گربه خوابیده است.\n",
    ),
    "lines: WebVTT with another name": (
        "a.srt",
        DE,
        "WEBVTT\n\n00:01.000 --> 00:02.000\n¦Ein Hund.\n\nNOTE Nicht fertig\n\n00:03.000 --> 00:04.000\n¦Eine Katze.\n",
    ),
    "lines: header of WebVTT": (
        "a.vtt",
        DE,
        "WEBVTT - Ein Film\nKind: captions\n\nSTYLE\n::cue { color: red }\n\nREGION\nid:unten\n\n"
        "Szene 1\n00:01.000 --> 00:02.000 align:start position:10%\n¦Ein Hund.\n00:03.000 --> 00:04.000\n¦Eine Katze.",
    ),
    "lines: PO without blank lines": (
        "en.po",
        DE,
        po(
            '#, fuzzy\nmsgid "Hund"\nmsgstr "¦Hund"\nmsgid "Katze"\nmsgstr "cat"\n#: a.c:1\n#, fuzzy\n#| msgid "Haus"\n'
            'msgid "Maus"\nmsgstr "¦Maus"\n'
        ),
    ),
    "lines: Markdown without blank lines": (
        "a.md",
        DE,
        "¦Ein Hund läuft.\n# ¦Ein Titel\n¦Text danach:\n- ¦ein Punkt\n- ¦noch ein Punkt\n~~~\nCode\n~~~\n"
        "> ¦Ein Zitat\n\n¦Titel\n---\n| ¦Kopf | ¦Menge |\n|---|---|\n| ¦Hund | 3 |\n",
    ),
    "lines: prefix of XLIFF": (
        "a.xlf",
        DE,
        '<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><x:file source-language="de" '
        'target-language="en"><x:body><x:trans-unit id="1"><x:source>Ein Hund</x:source><x:target '
        'state="needs-review-translation">¦Ein Hund</x:target></x:trans-unit></x:body></x:file></x:xliff>',
    ),
    "lines: other ends of lines": ("a.txt", DE, "¦Ein Hund\u2028¦Eine Katze\x85¦Ein Haus\u2029¦Eine Maus\n"),
    # character classes of ASCII and German
    "classes: Khmer speaker": ("a.srt", ("km", "en"), srt("បុរស៖ ¦ខ្ញុំហត់\nនារី៖ ¦ទៅគេង")),
    "classes: Amharic speaker": ("a.srt", ("am", "en"), srt("ሰውየው፦ ¦ደክሞኛል\nሴትየዋ፦ ¦ተኛ")),
    "classes: Burmese speaker": ("a.srt", ("my", "en"), srt("အမျိုးသား: ¦ပင်ပန်းတယ်\nအမျိုးသမီး: ¦အိပ်ပါ")),
    "classes: Tibetan speaker": ("a.srt", ("bo", "en"), srt("སྐྱེས་པ: ¦ང་ཐང་ཆད་སོང\nབུད་མེད: ¦གཉིད་ཉོལ")),
    "classes: Armenian speaker": ("a.srt", ("hy", "en"), srt("ԱՐԱՄ: ¦Ես հոգնած եմ\nԱՆՆԱ: ¦Քնիր")),
    "classes: next speaker in Urdu": ("a.srt", ("ur", "en"), srt("- ¦کتا آ گیا۔ - ¦ہاں۔")),
    "classes: next speaker in Amharic": ("a.srt", ("am", "en"), srt("- ¦ውሻው መጣ። - ¦አዎ።")),
    "classes: next speaker in Khmer": ("a.srt", ("km", "en"), srt("- ¦ឆ្កែមកហើយ។ - ¦បាទ។")),
    "classes: lines in Georgian": ("a.html", ("ka", "en"), "<p>¦ძაღლი დარბის.<br>¦კატა ზის.</p>"),
    "classes: Cyrillic list": ("a.txt", ("ru", "en"), "а) ¦Собака бежит.\nб) ¦Кошка спит.\n"),
    "classes: Hebrew list": ("a.txt", ("he", "en"), "א. ¦הכלב רץ.\nב. ¦החתול ישן.\n"),
    "classes: Persian list": ("a.txt", ("fa", "en"), "الف) ¦سگ می\u200cدود.\nب) ¦گربه خوابیده.\n"),
    "classes: list of laws": ("a.txt", DE, "z) ¦Ein Hund\naa) ¦Eine Katze\nbb) ¦Ein Haus\n"),
    "classes: Roman list": ("a.txt", DE, "I. ¦Ein Hund läuft.\n\nII. ¦Eine Katze.\nIII. ¦Ein Haus.\n"),
    "classes: small Roman list": ("a.txt", DE, "i. ¦Ein Hund läuft.\nii. ¦Eine Katze.\niii. ¦Ein Haus.\n"),
    "classes: Roman ordinals are no list": ("a.txt", DE, "¦Wilhelm\n¦II. Teil des Buches\n¦V. Teil des Buches\n"),
    "classes: initials are no Roman list": ("a.txt", DE, "¦I. Kant schrieb.\n¦V. Hugo auch.\n"),
    "classes: Roman outline": ("a.txt", DE, "I. ¦Ein Hund\nA. ¦Ja\nB. ¦Nein\nC. ¦Rot\nD. ¦Blau\nII. ¦Eine Katze\n"),
    "classes: words are no list": ("a.txt", DE, "¦(Ja) das stimmt\n¦Ja) das stimmt\n¦EU) Hund\n"),
    "classes: Korean words are no list": ("a.txt", ("ko", "en"), "¦참고) 개가 달린다.\n¦문제) 고양이가 잔다.\n"),
    "classes: Hindi header": ("a.csv", ("hi", "en"), "कुंजी,पाठ\n1,¦कुत्ता दौड़ता है\n2,¦बिल्ली सोती है\n"),
    "classes: Hindi list": ("a.txt", ("hi", "en"), "१. ¦कुत्ता दौड़ता है।\n२. ¦बिल्ली सोती है।\n"),
    "classes: Chinese list": ("a.txt", ("zh", "en"), "一、¦狗在跑。\n二、¦猫在睡。\n"),
    "classes: round bullets": (
        "a.txt",
        DE,
        "● ¦Ein Hund\n○ ¦Eine Katze\n■ ¦Ein Haus\n► ¦Eine Maus\n✓ ¦Ein Tier\n⁃ ¦Ein Kind\n",
    ),
    "classes: Japanese bullets": ("a.txt", ("ja", "en"), "・¦犬が走る。\n・¦猫が寝る。\n"),
    "classes: Cyrillic identifier": ("a.json", ("ru", "en"), '{"a": "АБ-12", "b": "¦Собака", "c": "ГОСТ-Ж7"}'),
    "classes: Japanese table": (
        "a.csv",
        ("ja", "en"),
        "名前,説明\nA-1,¦小さな犬が走っています。\nA-2,¦猫が寝ています。\n",
    ),
    "classes: only digits": ("a.html", ("ar", "en"), "<p>٢٠٢٤</p><p>¦كلب</p><p>۱۲٫۵</p>"),
    "classes: Hindi note": ("a.html", ("hi", "en"), "<p>¦यह कुत्ता है। <sup>१</sup> ¦वह दौड़ता है।</p>"),
    "classes: Burmese note": ("a.html", ("my", "en"), "<p>¦ဒါကခွေးပါ။ <sup>*</sup> ¦သူပြေးတယ်။</p>"),
    "classes: menu in Japanese": ("a.po", ("ja", "en"), po('#, fuzzy\nmsgid "ファイル(&F)"\nmsgstr "¦ファイル(&F)"\n')),
    # fixed elements have no properties
    "fixed: code after a point, XLIFF": (
        "a.xlf",
        DE,
        xliff(
            '<trans-unit id="a"><source>Ich bin müde. <x id="1" equiv-text="{n}"/> liest ein Buch.</source><target '
            'state="needs-review-translation">¦Ich bin müde. ¦<x id="1" equiv-text="{n}"/> liest ein Buch.</target>'
            "</trans-unit>"
        ),
    ),
    "fixed: code after a point, TMX": (
        "a.tmx",
        DE,
        '<tmx version="1.4"><header srclang="de"/><body><tu><tuv xml:lang="de"><seg>Ich bin müde. <ph x="1">{n}</ph> '
        'liest.</seg></tuv><tuv xml:lang="en"><seg>¦Ich bin müde. ¦<ph x="1">{n}</ph> liest.</seg></tuv></tu></body>'
        "</tmx>",
    ),
    "fixed: code after a point, Markdown": ("a.md", DE, "¦Ich bin müde. ¦`tom` liest ein Buch."),
    "fixed: note of Markdown": ("a.md", DE, "¦Tom liest ein Buch.[^1] ¦Er ist da.\n\n[^1]: ¦Ein gutes Buch.\n"),
    "fixed: small number in text": ("a.txt", DE, "¦Tom liest ein Buch.¹ ¦Er ist da.²\n"),
    "fixed: number in brackets in text": ("a.txt", DE, "¦Tom liest ein Buch.[1] ¦Er ist da.[2]\n"),
    "fixed: keys in Markdown": ("a.md", DE, "¦Drücke <kbd>Strg</kbd>+<kbd>Alt</kbd>-<kbd>S</kbd> jetzt."),
    "fixed: formula in Markdown": ("a.md", DE, "¦Der Wert $x_1$ ist riesig. ¦$y$ auch."),
    "fixed: field of a form": ("a.html", DE, "<p>¦Nimm<input name=n>Hunde und <input> Katzen.</p>"),
    "fixed: protected words of XLIFF 2": (
        "a.xlf",
        DE,
        xliff_2(
            '<unit id="u"><segment state="translated"><source>Kauf <mrk id="m" translate="no">⟦Acme Hund⟧</mrk> '
            'jetzt.</source><target>¦Kauf <mrk id="m" translate="no">⟦Acme Hund⟧</mrk> jetzt.</target></segment>'
            "</unit>"
        ),
    ),
    "fixed: picture in a line of Markdown": ("a.md", DE, "¦Ein ![¦Bild](a.png) hängt ![](b.png) da. ¦Ja."),
    "fixed: time in a cue": ("a.vtt", DE, "WEBVTT\n\n00:01.000 --> 00:02.000\n¦Ein <00:01.500>Hund <c.x>läuft</c>."),
    "fixed: style in a cue": ("a.srt", DE, srt(r"{\an8}¦Ein Hund läuft. {\i1}¦Eine Katze{\i0} auch.")),
    "marks: wrapped lines in Arabic": (
        "a.txt",
        ("ar", "en"),
        "¦ذهب الرجل العجوز الذي يرتدي قبعة\nرمادية مع كلبه الصغير عبر الحديقة\nالكبيرة وكان يقرأ كتابا سميكا جدا طوال\n"
        "الوقت. ¦جلست امرأة شابة على مقعد ونظرت\nإليهما معا.\n\n¦الكلب ينبح.\n",
    ),
    # one format only
    "format: buttons": (
        "a.html",
        DE,
        '<input type="submit" value="¦Senden"><input type=button value="¦Mehr lesen">'
        '<input type="text" value="tom1"><input type="hidden" value="Geheimes Wort">',
    ),
    "format: groups of options": (
        "a.html",
        DE,
        '<select><optgroup label="¦Tiere"><option label="¦Hund" value="Hund">¦Ein Hund</select>',
    ),
    "format: description for other sites": (
        "a.html",
        DE,
        '<head><meta property="og:title" content="¦Ein Hund"><meta name="twitter:description" content="¦Er läuft.">'
        '<meta property="og:type" content="article"><meta name=description content="¦Tiere"></head>',
    ),
    "format: attributes of elements that stay": (
        "a.html",
        DE,
        '<p>¦Ein <svg aria-label="¦Bild von Tom"><path/></svg> Hund.</p><textarea placeholder="¦Ihr Text">x</textarea>'
        '<iframe title="¦Karte der Stadt" src="a"></iframe>',
    ),
    "format: titles in Markdown": (
        "a.md",
        DE,
        '¦Ein [Hund](a.html "¦Sein Name") und ![¦Bild](a.png "¦Noch ein Bild").\n',
    ),
    "format: HTML in Markdown": (
        "a.md",
        DE,
        "¦Text.\n\n<details>\n<summary>¦Mehr lesen</summary>\n\n¦Ein *Hund*.\n\n</details>\n\n"
        '<p align="center">\n  <b>¦Ein Hund</b> läuft.\n</p>\n\n<!-- kein Text -->\n\n<pre>x = 1</pre>\n',
    ),
    "format: other language in Markdown": ("a.md", DE, '¦Er sagt <i lang="fr">⟦bonjour Tom⟧</i> zu ihr.'),
    "format: other language in WebVTT": (
        "a.vtt",
        DE,
        "WEBVTT\n\n00:01.000 --> 00:02.000\n¦Er sagt <lang fr>⟦bonjour Tom⟧</lang> zu ihr.\n",
    ),
    "format: names in WebVTT": ("a.vtt", DE, "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Frau Müller>¦Ein Hund.</v>\n"),
    "format: shortcodes of Hugo": (
        "a.md",
        DE,
        '¦Ein {{< name "tom" >}} läuft.\n\n{{% hinweis %}}\n¦Achtung\n{{% /hinweis %}}\n',
    ),
    "format: templates in HTML": ("a.html", DE, "<p>¦Hallo {{ user.name }}, {% if a %}du{% endif %} bist da.</p>"),
    "format: templates in PO": (
        "en.po",
        DE,
        po('#, fuzzy\nmsgid "Hallo {% if a %}Tom{% endif %}!"\nmsgstr "¦Hallo {% if a %}Tom{% endif %}!"\n'),
    ),
    "format: code of templates in HTML": (
        "a.html",
        DE,
        "<p>¦Hallo <%= a %>, ⟦<% if b -> c && d %>⟧du<?php end; ?> {{ a && b }} {% if a < b %}.</p>\n"
        '<?php if (a > b): ?>\n<ul <%= a %>><% b do |c| %><li title="¦Ein ⟦<%= d %>⟧ Bild">¦Ein <a href="<%= a(1) %>">'
        "Hund</a></li><% end %></ul>",
    ),
    "format: code of templates in JSON": (
        "a.json",
        DE,
        '{"a": "¦Hallo ⟦<%= a %>⟧, ein <a href=\\"<%= b %>\\">Hund</a> &amp; {{ a && b }} {% if a <b %}Tom"}',
    ),
    "format: code of templates in Markdown": (
        "a.md",
        DE,
        '¦Hallo <%= a["b"] * c * d %>, ein [Hund](a) ⟦<?= $a->b ?>⟧ <a href="<%= b %>">läuft</a>.\n',
    ),
    "format: citations and spans of Pandoc": (
        "a.md",
        DE,
        "¦Das sagt ⟦[@doe99, S. 5; see @a]⟧ auch ⟦[-@b]⟧. ¦Ein [kleiner *Hund*]{.red #x} und [Haus]{lang=de}.\n",
    ),
    "format: shortcodes of WordPress": ("a.html", DE, '<p>[gallery ids="1,2"]</p><p>¦Ein Hund.</p>'),
    "format: class notranslate in PO": (
        "en.po",
        DE,
        po(
            '#, fuzzy\nmsgid "Kauf <b class=\\"notranslate\\">⟦Acme Hund⟧</b>."\n'
            'msgstr "¦Kauf <b class=\\"notranslate\\">⟦Acme Hund⟧</b>."\n'
        ),
    ),
    # marks of sentences: lists
    "marks: numbers of a list": (
        "a.txt",
        DE,
        "1. ¦Ein Hund. ¦Er läuft.\n2. ¦Eine Katze.\n\na) ¦Haus\nb) ¦Maus\n(1) ¦Baum\n1.1. ¦Einleitung\n",
    ),
    "marks: lines that were wrapped": (
        "a.txt",
        DE,
        "¦Ein alter Mann mit einem grauen Hut geht mit\nseinem kleinen Hund durch den großen Park und\nliest dabei ein "
        "dickes Buch. ¦Eine junge Frau\nsitzt auf einer Bank und sieht den beiden zu.\n\n¦Der Hund bellt laut.\n",
    ),
    "unit: protected unit of XLIFF 2": (
        "a.xlf",
        DE,
        xliff_2(
            '<unit id="a" translate="no"><segment><source>Acme</source></segment></unit>'
            '<unit id="b"><segment state="translated"><source>Hund</source><target>¦Hund</target></segment></unit>'
        ),
    ),
    "unit: protected group": (
        "a.xlf",
        DE,
        xliff(
            '<group translate="no"><trans-unit id="a"><source>Acme</source></trans-unit></group>'
            '<trans-unit id="b"><source>Hund</source>'
            '<target state="needs-review-translation">¦Hund</target></trans-unit>'
        ),
    ),
    "unit: CDATA": (
        "a.xlf",
        DE,
        xliff(
            '<trans-unit id="b"><source><![CDATA[Ein <b>Hund</b>]]></source>'
            '<target state="needs-review-translation">¦Ein &lt;b&gt;Hund&lt;/b&gt;</target></trans-unit>'
        ),
    ),
    "unit: message on two lines": (
        "en.po",
        DE,
        po('#, fuzzy\nmsgid ""\n"Ein Hund. "\n"Eine Katze."\nmsgstr "¦Ein Hund. ¦Eine Katze."\n'),
    ),
    "unit: obsolete message": (
        "en.po",
        DE,
        po('#, fuzzy\nmsgid "Hund"\nmsgstr "¦Hund"\n\n#~ msgid "Katze"\n#~ msgstr ""\n'),
    ),
    "lines: cues without numbers": (
        "a.srt",
        DE,
        "00:00:01,000 --> 00:00:02,000\r\n¦Ja.\r\n00:00:03,000 --> 00:00:04,000\r\n¦Nein.\r\n",
    ),
    "lines: names of cues": (
        "a.vtt",
        DE,
        "WEBVTT\n\nintro-1\n00:01.000 --> 00:02.000\n¦Hund.\n\n\noutro\n00:03.000 --> 00:04.000\n¦Katze.",
    ),
    "lines: comment in Markdown": ("a.md", DE, "¦Hund.\n<!-- Ein Kommentar -->\n¦Katze."),
    "lines: definition in Markdown": ("a.md", DE, "¦Hund\n: ¦Ein Tier\n\n*[HTML]: ¦Eine Sprache\n"),
    "lines: indented code in Markdown": ("a.md", DE, "¦Text:\n\n    x = Ein Hund\n\n¦Mehr.\n"),
    "lines: line breaks in a table": ("a.csv", DE, 'id,text\n1,"¦Ein Hund.\n¦Eine Katze."\n2,¦Maus hier\n'),
    "lines: nested values of JSON": ("a.json", DE, '{"a": ["¦Ein Hund", {"b": "¦Katze"}], "c": 1, "d": null}'),
    "lines: lines of HTML": ("a.html", DE, "<pre>¦Ein Hund\n  ¦Eine Katze</pre>"),
    "classes: Thai speaker with a number": ("a.srt", ("th", "en"), srt("ชาย 2: ¦ฉันเหนื่อย\nหญิง: ¦ไปนอน")),
    "classes: Hebrew speaker after a mark of direction": (
        "a.srt",
        ("he", "en"),
        srt("\u200fאיש: ¦אני עייף\n\u200fאישה: ¦לך לישון"),
    ),
    "classes: Tamil speaker": ("a.srt", ("ta", "en"), srt("ஆண்: ¦நான் சோர்வாக\nபெண்: ¦தூங்கு")),
    "classes: Greek list": ("a.txt", ("el", "en"), "α) ¦Ο σκύλος τρέχει.\nβ) ¦Η γάτα κοιμάται.\n"),
    "classes: Thai list": ("a.txt", ("th", "en"), "ก. ¦สุนัขวิ่ง\nข. ¦แมวนอน\n"),
    "classes: Arabic list": ("a.txt", ("ar", "en"), "١. ¦الكلب يجري.\n٢. ¦القط نائم.\n"),
    "classes: Korean list": ("a.txt", ("ko", "en"), "가. ¦개가 달린다.\n나. ¦고양이가 잔다.\n"),
    "classes: numbers in circles": ("a.txt", ("ja", "en"), "①¦犬が走る。\n②¦猫が寝る。\n"),
    "classes: wide numbers": ("a.txt", ("ja", "en"), "１．¦犬が走る。\n２．¦猫が寝る。\n"),
    "classes: Urdu note": ("a.html", ("ur", "en"), "<p>¦یہ کتا ہے۔ <sup>۱</sup> ¦وہ دوڑا۔</p>"),
    "classes: Chinese note": ("a.html", ("zh", "en"), "<p>¦这是狗。<a href='#n'>［1］</a>¦它跑。</p>"),
    "fixed: placeholder after a point, JSON": ("a.json", DE, '{"a": "¦Ich bin müde. ¦{name} liest ein Buch."}'),
    "fixed: placeholder after a point, table": ("a.csv", DE, "id,text\n1,¦Ich bin müde! ¦%s liest.\n2,¦Hund hier\n"),
    "fixed: keys in HTML": ("a.html", DE, "<p>¦Drücke <kbd>F5</kbd>, dann <kbd>Strg</kbd>+<kbd>R</kbd>.</p>"),
    "fixed: formula in HTML": ("a.html", DE, "<p>¦Sei <math><mi>x</mi></math> groß.</p>"),
    # text inside of codes, in both translation files
    "fixed: text inside of a code of TMX": (
        "a.tmx",
        DE,
        '<tmx version="1.4"><header srclang="de"/><body><tu><tuv xml:lang="de"><seg>Ein Mann<ph x="1">&lt;fn&gt;<sub>'
        'Eine Frau</sub></ph> liest.</seg></tuv><tuv xml:lang="en"><seg>¦Ein Mann<ph x="1">&lt;fn&gt;<sub>¦Eine Frau'
        "</sub></ph> liest.</seg></tuv></tu></body></tmx>",
    ),
    "fixed: text inside of a code of XLIFF": (
        "a.xlf",
        DE,
        xliff(
            '<trans-unit id="a"><source>Ein <bpt id="1">&lt;a title="<sub>Ein Hund</sub>"></bpt>Mann<ept id="1">'
            '&lt;/a></ept> liest.</source><target state="needs-review-translation">¦Ein <bpt id="1">&lt;a title="<sub>'
            '¦Ein Hund</sub>"></bpt>Mann<ept id="1">&lt;/a></ept> liest.</target></trans-unit>'
        ),
    ),
    "format: placeholders of Boost": ("en.po", DE, po('#, fuzzy\nmsgid "Von %1% nach"\nmsgstr "¦Von %1% nach"\n')),
    "format: template": ("a.html", DE, "<template><p>¦Ein Hund</p></template><p>¦Eine Katze</p>"),
    "fixed: numbers of pages": (
        "a.html",
        DE,
        '<p>¦Ein Ma<span role="doc-pagebreak" aria-label="xii"></span>nn liest.</p>'
        '<nav role="doc-pagelist"><h2>⟦Liste der Seiten⟧</h2></nav>',
    ),
    "fixed: options of a form": (
        "a.html",
        DE,
        "<label>¦Name <input name='a'></label><select><option>¦Hund<option>¦Katze</select>",
    ),
    "format: label of a button": (
        "a.html",
        DE,
        '<button aria-label="¦Fenster schließen"><svg><title>¦Kreuz</title></svg></button>',
    ),
    "format: protected words in Markdown": ("a.md", DE, '¦Kauf <span translate="no">⟦Acme Hund⟧</span> jetzt.'),
    "format: paragraph in another language in Markdown": ("a.md", DE, '<p lang="fr">⟦Bonjour Tom⟧</p>\n\n¦Ein Hund.\n'),
    "format: other language in PO": (
        "en.po",
        DE,
        po(
            '#, fuzzy\nmsgid "Er sagt <i lang=\\"fr\\">⟦bonjour Tom⟧</i>."\n'
            'msgstr "¦Er sagt <i lang=\\"fr\\">⟦bonjour Tom⟧</i>."\n'
        ),
    ),
    "format: other language in JSON": ("a.json", DE, '{"a": "¦Er sagt <i lang=\'fr\'>⟦bonjour Tom⟧</i>."}'),
    "format: same language in ARB": ("a.arb", DE, '{"a": "¦Er sagt <i lang=\'de-AT\'>servus Tom</i>."}'),
    "format: other language in a form of ARB": (
        "a.arb",
        DE,
        '{"a": "{n, plural, one {¦Er sagt <i xml:lang=\\"fr\\">⟦oui Tom⟧</i>} other {¦Er sagt nichts}}", "@a": {}}',
    ),
    "format: other language in a table": (
        "a.csv",
        DE,
        "id,text\n1,¦Er sagt <i lang=fr>⟦oui Tom⟧</i> dazu\n2,¦Maus hier\n",
    ),
    "format: other language in XLIFF": (
        "a.xlf",
        DE,
        xliff(
            '<trans-unit id="a"><source>Er sagt &lt;i lang="fr"&gt;⟦oui Tom⟧&lt;/i&gt; und <g id="1" xml:lang="fr">'
            '⟦non Tom⟧</g>.</source><target state="needs-review-translation">¦Er sagt &lt;i lang="fr"&gt;⟦oui Tom⟧'
            '&lt;/i&gt; und <g id="1" xml:lang="fr">⟦non Tom⟧</g>.</target></trans-unit>'
        ),
    ),
    "format: other language in TMX": (
        "a.tmx",
        DE,
        '<tmx version="1.4"><header srclang="de"/><body><tu><tuv xml:lang="de"><seg>Er sagt &lt;i lang="fr">⟦oui '
        'Tom⟧&lt;/i> dazu.</seg></tuv><tuv xml:lang="en"><seg>¦Er sagt &lt;i lang="fr"&gt;⟦oui Tom⟧&lt;/i&gt; dazu.'
        "</seg></tuv></tu></body></tmx>",
    ),
    "format: labels of a video": (
        "a.html",
        DE,
        '<p>¦Der Film <video src="a"><track label="¦Mit Untertiteln" src="b"></video> läuft.</p>'
        '<table><tr><th abbr="¦Menge">¦Menge der Hunde</th></tr></table>',
    ),
    "format: labels of a video in Markdown": (
        "a.md",
        DE,
        '¦Der Film <video src="a"><track label="¦Mit Untertiteln" src="b"></video> läuft.\n',
    ),
    "format: text in a drawing": (
        "a.html",
        DE,
        '<p>¦Ein <svg><title>¦Ein Hund</title><g><text x="1">¦Hund läuft</text><text>¦Er ist da</text></g></svg> Bild.'
        '</p><object data="a"><p>¦Laden Sie das <a href="b">Bild</a>.</p></object>',
    ),
    "format: text in a drawing in Markdown": ("a.md", DE, "¦Ein <svg><text>¦Ein Hund</text></svg> Bild.\n"),
    "format: voices of one cue": (
        "a.vtt",
        ("th", "en"),
        "WEBVTT\n\n00:01.000 --> 00:02.000\n<v.loud หญิง>¦แมวนอน</v> <v ชาย>¦ใช่</v>\n",
    ),
    "format: protected labels": ("a.html", DE, '<p translate="no"><img alt="⟦Katze⟧" src="a"></p><p>¦Ein Hund.</p>'),
    "format: picture in a link": ("a.html", DE, '<a href="x" title="¦Zum Hund"><img alt="¦Ein Hund" src="a"></a>'),
    # labels of lists, names in programs, header of a table
    "classes: Ethiopic list": ("a.txt", ("am", "en"), "፩. ¦ውሻው ይሮጣል።\n፲፩. ¦ድመቷ ትተኛለች።\n"),
    "classes: Burmese list": ("a.txt", ("my", "en"), "၁။ ¦ခွေးပြေးတယ်။\n၂။ ¦ကြောင်အိပ်တယ်။\n"),
    "classes: Arabic list with dashes": ("a.txt", ("ar", "en"), "أ- ¦الكلب يجري.\nب- ¦القط نائم.\n"),
    "classes: Turkish list with dashes": ("a.txt", ("tr", "en"), "1- ¦Bir köpek.\n2- ¦Bir kedi.\n"),
    "classes: a range is no list": ("a.txt", DE, "¦5 - 7 Tage dauert es.\n¦Ein Hund läuft.\n"),
    "classes: a timetable is no list": ("a.txt", DE, "¦8 - 9 Uhr: Frühstück\n¦9 - 10 Uhr: Ein Hund läuft\n"),
    "classes: Korean syllables in circles": ("a.txt", ("ko", "en"), "㉠ ¦개가 달린다.\n㉡ ¦고양이가 잔다.\n"),
    "classes: boxes to check": ("a.txt", DE, "☐ ¦Ein Hund\n☑ ¦Eine Katze\n☒ ¦Ein Haus\n→ ¦Eine Maus\n"),
    "classes: mark of a company": ("a.txt", ("ja", "en"), "¦㈱山田は大きい。\n"),
    "format: names of a table": (
        "a.csv",
        DE,
        "key,text\nmenu.open,¦Bitte Datei öffnen\n\nmenuSave,¦Datei speichern\nmenu_end,¦Alles fertig\n",
    ),
    "format: alternatives in a table": (
        "a.csv",
        DE,
        "id,text,answers\n1,¦Läuft ein Hund?,¦ja/nein\n2,¦Wo ist die Katze?,¦links/mitte/rechts\n",
    ),
    "lines: blank line in a table": ("a.csv", DE, "id,text\n1,¦Ein Hund läuft\n\n2,¦Eine Katze schläft\n"),
    "format: class in WebVTT": (
        "a.vtt",
        DE,
        "WEBVTT\n\n00:01.000 --> 00:02.000\n¦Das ist <c.notranslate>Acme</c> hier.\n",
    ),
}
"""A name, the languages, and the content of files; the first word of the key is the kind."""


@pytest.mark.parametrize("case", TEXT_FILES)
def test_segments_of_text_files(case: str) -> None:
    name, languages, content = TEXT_FILES[case]
    kept = re.findall("⟦(.*?)⟧", content)
    content = re.sub("[⟦⟧]", "", content)
    before = content.replace(START, "")
    if name.endswith((".po", ".xlf", ".xliff", "sdlxliff", "mxliff", ".mqxliff", ".tmx")):
        before = emptied(content)
    segments, after = marked(before.encode(), name, languages)
    assert after.decode() == content
    assert not [text for text in kept if any(text in segment for segment in segments)]


def emptied(content: str) -> str:
    """A translation file without the translations that are marked."""
    content = re.sub(r"#, fuzzy\n(?=(?:#\| .*\n|msg\w+ .*\n)*msgstr(?:\[0\])? \"¦)", "", content)
    content = re.sub(r'(msgstr(?:\[\d\])?) "¦.*"', r'\1 ""', content)
    content = re.sub(r'<tuv xml:lang="en"><seg>¦.*?</tuv>', "", content)
    content = re.sub(r'\n?(<(?:x:)?target)(?: state="[^"]*")?>¦(?s:.*?)</(?:x:)?target>', "", content)
    content = re.sub(r'<target state="needs-review-translation">(?=<mrk)', "<target>", content)
    content = re.sub(r'(<mrk mtype="seg" mid="\d")>¦[^<]*</mrk>', r"\1/>", content)
    content = content.replace(' state="translated"', "").replace(' conf="Draft"', "")
    return content.replace(START, "")


def word_document(paragraph: str) -> bytes:
    return docx(f"{HEAD}<w:document {W}><w:body><w:p>{paragraph}</w:p></w:body></w:document>")


def strict_document() -> bytes:
    """As Word writes "Strict Open XML": other addresses of the namespaces."""
    strict = "http://purl.oclc.org/ooxml/officeDocument/relationships"
    ordinary = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    strict_words = 'xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"'
    paragraph = f"<w:body><w:p>{run('Ein Hund')}</w:p></w:body>"
    body = f"{HEAD}<w:document {strict_words}>{paragraph}</w:document>"
    return package(
        {
            "_rels/.rels": relationships({"word/document.xml": "officeDocument"}).replace(ordinary, strict),
            "word/document.xml": body,
        }
    )


def with_members(data: bytes, members: dict[str, str]) -> bytes:
    """A document with other members."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    return package({**files, **members})


def slides_with_diagram() -> bytes:
    """SmartArt: its texts are in another part."""
    diagram = (
        f'{HEAD}<dgm:dataModel xmlns:dgm="d" xmlns:a="a">'
        "<dgm:pt><dgm:t><a:bodyPr/><a:p><a:r><a:t>Ein Kasten</a:t></a:r>"
        "</a:p></dgm:t></dgm:pt></dgm:dataModel>"
    )
    return with_members(
        pptx(content="<a:p><a:r><a:t>Ein Hund</a:t></a:r></a:p>"),
        {
            "ppt/slides/_rels/slide1.xml.rels": relationships({"../diagrams/data1.xml": "diagramData"}),
            "ppt/diagrams/data1.xml": diagram,
        },
    )


def stated(root: str, names: str = "", inside: str = "{}") -> str:
    """What documents state about themselves: a reader sees the title and the description."""
    texts = (
        "<dc:title>Ein Buch</dc:title><dc:subject>⟦FICTION / Über Hunde⟧</dc:subject><dc:description>"
        "&lt;p&gt;Ein &lt;b&gt;gutes&lt;/b&gt; Buch&lt;/p&gt;</dc:description>"
        "<dc:creator>⟦Anna Wald⟧</dc:creator><dc:publisher>⟦Wald Verlag⟧"
        '</dc:publisher><dc:title xml:lang="fr">⟦Un livre⟧</dc:title><dc:language>de</dc:language>'
    )
    return f'<{root} xmlns:dc="http://purl.org/dc/elements/1.1/"{names}>{inside.format(texts)}</{root}>'


STATED = ["Ein Buch", "Ein gutes Buch"]


@pytest.mark.parametrize("about", ["", "<a>&</a>", "<a>Ein Hund"])
def test_damaged_titles_are_kept(about: str) -> None:
    """The text is translated nevertheless."""
    member = {"_rels/.rels": relationships({"word/document.xml": "officeDocument", "x.xml": "core-properties"})}
    for name, data in (
        ("a.docx", with_members(docx(), {**member, "x.xml": about})),
        ("a.odt", with_members(odt(), {"meta.xml": about})),
    ):
        with pytest.warns(UserWarning, match="the title and the description stay as they are"):
            document = open_document(data, name, DE)
        changed = document.assemble(list(map(mark_start, document.segments)))
        with zipfile.ZipFile(io.BytesIO(changed)) as archive:
            assert archive.read("x.xml" if name == "a.docx" else "meta.xml") == about.encode()


def chapter(body: str) -> bytes:
    return epub(
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body>'
        f"{body}</body></html>"
    )


DRAWING = (
    '<w:r><w:drawing><wp:inline xmlns:wp="wp"><wp:docPr id="1" name="Bild 1" descr="Ein Hund im Park"/>'
    "</wp:inline></w:drawing></w:r>"
)

PACKAGES: dict[str, tuple[str, tuple[str, str], bytes, list[str]]] = {
    "format: description of a table": (
        "a.docx",
        DE,
        docx(
            f'{HEAD}<w:document {W}><w:body><w:tbl><w:tblPr><w:tblCaption w:val="Hunde"/><w:tblDescription '
            'w:val="Alle &amp; mehr"/></w:tblPr><w:tr><w:tc><w:tcPr><w:vAlign w:val="⟦center⟧"/></w:tcPr><w:p>'
            f"{run('Ein Hund')}</w:p></w:tc></w:tr></w:tbl></w:body></w:document>"
        ),
        ["Hunde", "Alle & mehr", "Ein Hund"],
    ),
    "format: title of a book": (
        "a.epub",
        DE,
        with_members(
            epub(),
            {
                "OEBPS/content.opf": stated(
                    "package",
                    inside="<metadata>{}<meta property='title-type'>⟦main⟧</meta></metadata><manifest><item id='c' "
                    "href='chapter.xhtml' media-type='application/xhtml+xml'/></manifest><spine><itemref idref='c'/>"
                    "</spine>",
                )
            },
        ),
        STATED,
    ),
    "format: title of a Word document": (
        "a.docx",
        DE,
        with_members(
            docx(),
            {
                "_rels/.rels": relationships({"word/document.xml": "officeDocument", "x/y.xml": "core-properties"}),
                "x/y.xml": stated("cp:coreProperties", ' xmlns:cp="cp"'),
            },
        ),
        STATED,
    ),
    "format: title of a presentation": (
        "a.pptx",
        DE,
        with_members(
            pptx(),
            {
                "_rels/.rels": relationships({"ppt/presentation.xml": "officeDocument", "core.xml": "core-properties"}),
                "core.xml": stated("cp:coreProperties", ' xmlns:cp="cp"'),
            },
        ),
        STATED,
    ),
    "format: title of an ODT document": (
        "a.odt",
        DE,
        with_members(
            odt(), {"meta.xml": stated("office:document-meta", ' xmlns:office="o"', "<office:meta>{}</office:meta>")}
        ),
        STATED,
    ),
    "fixed: numbers of pages in a book": (
        "a.epub",
        DE,
        chapter(
            '<p>Ein Ma<span epub:type="pagebreak" title="⟦xii⟧"/>nn liest.</p><nav epub:type="page-list"><ol><li>⟦xii⟧'
            "</li></ol></nav>"
        ),
        ["Ein Mann liest."],
    ),
    "fixed: hidden text in Word": (
        "a.docx",
        DE,
        word_document(
            run("⟦Geheim⟧ ", "<w:vanish/>") + run("Ein Hund ") + run("läuft.", '<w:vanish w:val="0"/><w:b/>')
        ),
        ["Ein Hund läuft."],
    ),
    "lines: strict Word document": ("a.docx", DE, strict_document(), ["Ein Hund"]),
    "formats: choices of a list": (
        "a.docx",
        DE,
        docx(
            f"{HEAD}<w:document {W}><w:body><w:sdt><w:sdtPr><w:dropDownList>"
            '<w:listItem w:displayText="Ein Hund" w:value="1"/></w:dropDownList></w:sdtPr>'
            f"<w:sdtContent><w:p>{run('Ein Tier.')}</w:p></w:sdtContent></w:sdt></w:body></w:document>"
        ),
        ["Ein Hund", "Ein Tier."],
    ),
    "fixed: formula of a slide": (
        "a.pptx",
        DE,
        pptx(
            content="<a:p><a:r><a:t>Der Wert </a:t></a:r><mc:AlternateContent><mc:Choice><a14:m><m:oMath><m:r><m:t>x"
            "</m:t></m:r></m:oMath></a14:m></mc:Choice><mc:Fallback><a:r><a:t>x</a:t></a:r></mc:Fallback>"
            "</mc:AlternateContent><a:r><a:t> ist groß.</a:t></a:r></a:p>"
        ),
        ["Der Wert {1} ist groß."],
    ),
    "lines: diagram of a slide": ("a.pptx", DE, slides_with_diagram(), ["Ein Hund", "Ein Kasten"]),
    "lines: chapter with another suffix": ("a.epub", DE, epub(name="Kapitel%20eins.xml"), ["Ein Hund"]),
    "fixed: field after a point in Word": (
        "a.docx",
        DE,
        word_document(run("Ich bin müde. ") + field("AUTHOR", "Tom") + run(" liest ein Buch.")),
        ["Ich bin müde.", "{1} liest ein Buch."],
    ),
    "fixed: number of a slide": (
        "a.pptx",
        DE,
        pptx(
            content='<a:p><a:r><a:t>Auf Folie </a:t></a:r><a:fld type="slidenum"><a:t>3</a:t></a:fld><a:r><a:t> ist '
            "Tom.</a:t></a:r></a:p>"
        ),
        ["Auf Folie {1} ist Tom."],
    ),
    "fixed: raised number on a slide": (
        "a.pptx",
        DE,
        pptx(
            content='<a:p><a:r><a:t>Tom liest ein Buch.</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>1</a:t></a:r>'
            "<a:r><a:t> Er ist da.</a:t></a:r></a:p>"
        ),
        ["Tom liest ein Buch.", "Er ist da."],
    ),
    "fixed: sender in ODT": (
        "a.odt",
        DE,
        odt(content="<text:p>Lieber <text:sender-firstname>Tom</text:sender-firstname>, komm bitte.</text:p>"),
        ["Lieber {1}, komm bitte."],
    ),
    "fixed: field of a user in ODT": (
        "a.odt",
        DE,
        odt(content='<text:p>Der Betrag <text:user-defined text:name="x">5</text:user-defined> ist da.</text:p>'),
        ["Der Betrag {1} ist da."],
    ),
    "fixed: note of ODT after a point": (
        "a.odt",
        DE,
        odt(
            content="<text:p>Tom liest.<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>"
            "Ein Buch</text:p></text:note-body></text:note> Er ist da.</text:p>"
        ),
        ["Tom liest.", "Er ist da.", "Ein Buch"],
    ),
    "fixed: Japanese ruby in EPUB": (
        "a.epub",
        ("ja", "en"),
        chapter("<p><ruby><rb>犬</rb><rp>（</rp><rt>いぬ</rt><rp>）</rp></ruby>が走る。</p>"),
        ["犬が走る。"],
    ),
    "fixed: star that refers to a note in EPUB": (
        "a.epub",
        DE,
        chapter('<p>Tom liest ein Buch. <a epub:type="noteref" href="#n">*</a> Er ist da.</p>'),
        ["Tom liest ein Buch.", "Er ist da."],
    ),
    "format: description of a picture in Word": (
        "a.docx",
        DE,
        word_document(run("Ein Bild ") + DRAWING + run(" hier.")),
        ["Ein Bild hier.", "Ein Hund im Park"],
    ),
    "format: title of a picture in ODT": (
        "a.odt",
        DE,
        odt(
            content="<text:p>Ein <draw:frame><draw:image/><svg:title xmlns:svg='s'>Hund</svg:title><svg:desc "
            "xmlns:svg='s'>Ein Hund im Park</svg:desc></draw:frame> Bild.</text:p>"
        ),
        ["Ein Bild.", "Hund", "Ein Hund im Park"],
    ),
    "format: label in EPUB": (
        "a.epub",
        DE,
        chapter('<p>Ein <svg aria-label="Bild von Tom"><path/></svg> Hund.</p>'),
        ["Ein Hund.", "Bild von Tom"],
    ),
    "format: labels of a video in EPUB": (
        "a.epub",
        DE,
        chapter('<p>Der Film <video src="a"><track label="Mit Untertiteln" src="b"/></video> läuft.</p>'),
        ["Der Film läuft.", "Mit Untertiteln"],
    ),
    "format: other language in EPUB": (
        "a.epub",
        DE,
        chapter('<p>Er sagt <i xml:lang="fr">⟦bonjour Tom⟧</i>.</p>'),
        ["Er sagt {1}."],
    ),
}
"""A name, the languages, the content, and the first segments, of which those that belong to others come last."""


@pytest.mark.parametrize("case", PACKAGES)
def test_segments_of_packages(case: str) -> None:
    name, languages, data, texts = PACKAGES[case]
    document = open_document(data, name, languages)
    found = [segment.text for segment in document.segments]
    assert list(dict.fromkeys(text for text in found if text in texts)) == texts
    assert "⟦" not in "".join(found), "these texts stay"
    changed = document.assemble(list(map(mark_start, document.segments)))
    again = open_document(changed, name, languages).segments
    assert sum(segment.text.count(START) for segment in again) == len(found)


def test_labels_of_word_in_other_scripts() -> None:
    """Word has a label for Latin, East Asian and right-to-left text each."""
    from dragoman.documents.formats.language_labels import set_language

    label = '<w:lang w:val="{}" w:eastAsia="{}" w:bidi="{}"/>'
    for source, target, before, after in (
        ("de", "ja", ("de-DE", "en-US", "ar-SA"), ("ja", "ja", "ar-SA")),
        ("de", "ar", ("de-DE", "en-US", "he-IL"), ("ar", "en-US", "ar")),
        ("ja", "de", ("en-US", "ja-JP", "ar-SA"), ("de", "ja-JP", "ar-SA")),
        ("ar", "de", ("en-US", "ja-JP", "ar-EG"), ("de", "ja-JP", "ar-EG")),
    ):
        content = label.format(*before).encode()
        assert set_language("word/styles.xml", content, (source, target)) == label.format(*after).encode()


def tmx(*units: str) -> str:
    return f'<tmx version="1.4"><header srclang="*all*"/><body>{"".join(units)}</body></tmx>'


def unit(**texts: str) -> str:
    variants = (f'<tuv xml:lang="{tag.replace("_", "-")}"><seg>{text}</seg></tuv>' for tag, text in texts.items())
    return f"<tu>{''.join(variants)}</tu>"


MEMORY = tmx(
    unit(en="dog", es_ES="perro", zh_Hans_CN="狗", sr="пас", pt_BR="cachorro", de_CH="Hund", fr_CA="chien"),
    unit(en="house", es_419="casa", zh_Hant_TW="房屋", sr_Latn="kuća", pt_PT="casa", de_DE="Haus", fr="maison"),
    unit(en="street", es_419="calle", zh_Hant_HK="街", sr_Cyrl_RS="улица", pt="rua", de_DE="Straße", fr_CA="rue"),
)

PAIRS: dict[str, tuple[str, tuple[str, str], str, list[tuple[str, str]], str]] = {
    "unit: notes and codes of TMX": (
        "a.tmx",
        DE,
        tmx(
            '<tu><note>Nicht übersetzen</note><prop type="x">y</prop><tuv xml:lang="de"><note>Achtung</note><seg>Klick '
            '<bpt i="1">&lt;b&gt;</bpt>hier<ept i="1">&lt;/b&gt;</ept> und <hi type="x">dort</hi>.</seg></tuv><tuv '
            'xml:lang="en"><seg>Click <bpt i="1">&lt;b&gt;</bpt>here<ept i="1">&lt;/b&gt;</ept> and <hi>there</hi>.'
            "</seg></tuv></tu>"
        ),
        [("Klick hier und dort.", "Click here and there.")],
        "",
    ),
    "unit: text inside of a code of TMX": (
        "a.tmx",
        DE,
        tmx(
            "<tu><tuv xml:lang='de'><seg>Tom<ph>&lt;fn&gt;<sub>Ein Mann</sub></ph> liest.</seg></tuv><tuv "
            "xml:lang='en'><seg>Tom<ph>&lt;fn&gt;<sub>A man</sub></ph> reads.</seg></tuv></tu>"
        ),
        [("Tom liest.", "Tom reads.")],
        "",
    ),
    "unit: Spanish of a continent": (
        "a.tmx",
        ("en", "es"),
        MEMORY,
        [("house", "casa"), ("street", "calle")],
        "es stands for es-419",
    ),
    "unit: German of Switzerland": (
        "a.tmx",
        ("en", "de"),
        MEMORY,
        [("house", "Haus"), ("street", "Straße")],
        "de stands for de-DE",
    ),
    "unit: one German was chosen": ("a.tmx", ("en", "de-CH"), MEMORY, [("dog", "Hund")], ""),
    "unit: Chinese by country": ("a.tmx", ("en", "zh-TW"), MEMORY, [("house", "房屋")], ""),
    "unit: Chinese by script": (
        "a.tmx",
        ("en", "zh-Hant"),
        MEMORY,
        [("house", "房屋")],
        "zh-Hant stands for zh-Hant-TW",
    ),
    "unit: simplified Chinese": ("a.tmx", ("en", "zh-CN"), MEMORY, [("dog", "狗")], ""),
    "unit: Serbian": (
        "a.tmx",
        ("en", "sr"),
        MEMORY,
        [("dog", "пас"), ("street", "улица")],
        "sr stands for sr, sr-Cyrl-RS",
    ),
    "unit: Serbian in Latin letters": ("a.tmx", ("en", "sr-Latn"), MEMORY, [("house", "kuća")], ""),
    "unit: Portuguese": ("a.tmx", ("en", "pt-PT"), MEMORY, [("house", "casa"), ("street", "rua")], ""),
    "unit: French of two countries": (
        "a.tmx",
        ("en", "fr"),
        MEMORY,
        [("dog", "chien"), ("house", "maison"), ("street", "rue")],
        "",
    ),
    "unit: pairs of a locked segment": (
        "a.sdlxliff",
        DE,
        xliff(
            '<trans-unit id="a"><source>Ein Hund. Ein Baum.</source><seg-source><mrk mtype="seg" mid="1">Ein Hund.'
            '</mrk> <mrk mtype="seg" mid="2">Ein Baum.</mrk></seg-source><target><mrk mtype="seg" mid="1">A dog.</mrk>'
            ' <mrk mtype="seg" mid="2">A tree</mrk></target><sdl:seg-defs><sdl:seg id="1" conf="ApprovedSignOff" '
            'locked="true"/><sdl:seg id="2" conf="Draft"/></sdl:seg-defs></trans-unit>'
        ),
        [("Ein Hund.", "A dog.")],
        "1 of 2 segments",
    ),
    "unit: Phrase's segments that nobody confirmed": (
        "a.mxliff",
        DE,
        xliff(
            '<trans-unit id="a" m:confirmed="1"><source>Hund</source><target>dog</target></trans-unit>'
            '<trans-unit id="b" m:confirmed="0"><source>Katze</source><target>Katze cat</target></trans-unit>'
        ),
        [("Hund", "dog")],
        "1 of 2 segments",
    ),
    "unit: memoQ's segments that nobody confirmed": (
        "a.mqxliff",
        DE,
        xliff(
            '<trans-unit id="a" mq:status="ManuallyConfirmed"><source>Hund</source><target>dog</target></trans-unit>'
            '<trans-unit id="b" mq:status="MachineTranslated"><source>Katze</source><target>Katze cat</target>'
            "</trans-unit>"
        ),
        [("Hund", "dog")],
        "1 of 2 segments",
    ),
    "unit: reordered segments of XLIFF 2": (
        "a.xlf",
        DE,
        xliff_2(
            '<unit id="u"><segment id="1"><source>Ein Hund.</source><target order="3">A dog.</target></segment>'
            '<ignorable><source> </source></ignorable><segment id="2" state="initial"><source>Ja.</source><target '
            'order="1">Ja.</target></segment></unit>'
        ),
        [("Ein Hund.", "A dog.")],
        "1 of 2 segments",
    ),
    "unit: six forms of Arabic": (
        "ar.po",
        ("en", "ar"),
        po(
            'msgid "%d dog"\nmsgid_plural "%d dogs"\nmsgstr[0] "لا كلاب"\nmsgstr[1] "كلب واحد"\nmsgstr[2] "كلبان"\n'
            'msgstr[3] "%d كلاب"\nmsgstr[4] "%d كلبًا"\nmsgstr[5] "%d كلب"\n',
            "Language: ar\\nPlural-Forms: nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? "
            "3 : n%100>=11 ? 4 : 5;\\n",
        ),
        [
            ("%d dogs", "لا كلاب"),
            ("%d dog", "كلب واحد"),
            ("%d dogs", "كلبان"),
            ("%d dogs", "%d كلاب"),
            ("%d dogs", "%d كلبًا"),
            ("%d dogs", "%d كلب"),
        ],
        "",
    ),
    "unit: gender in contexts of a corpus": (
        "pl.po",
        ("en", "pl"),
        po(
            'msgctxt "male"\nmsgid "tired"\nmsgstr "zmęczony"\n\nmsgctxt "female"\nmsgid "tired"\nmsgstr "zmęczona"\n',
            "Language: pl\\n",
        ),
        [("tired", "zmęczony"), ("tired", "zmęczona")],
        "",
    ),
    "lines: PO without blank lines as a corpus": (
        "en.po",
        DE,
        po('msgid "Hund"\nmsgstr "dog"\nmsgid "Haus"\nmsgstr "house"\n#~ msgid "x"\n#~ msgstr "y"\n'),
        [("Hund", "dog"), ("Haus", "house")],
        "",
    ),
}
"""A name, the languages, the content, the pairs, and what the warning says."""


@pytest.mark.parametrize("case", PAIRS)
def test_pairs_of_translation_files(case: str, tmp_path: Path) -> None:
    name, (source, target), content, pairs, warning = PAIRS[case]
    path = tmp_path / name
    path.write_text(content, "utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = list(read_corpus(str(path), source_language=source, target_language=target))
    assert [(pair.source, pair.target) for pair in found] == pairs
    if warning:
        assert re.search(warning, " ".join(str(each.message) for each in caught))


XML = '<?xml version="1.0" encoding="utf-8"?>\n'
RIGHTS = "<!-- Rights of Acme -> see the page;\n all > 1 -->\n"
REFUSED_PAIRS: dict[str, tuple[str, str, str, str]] = {
    "input: Android with a comment": (
        "txt",
        f'{XML}{RIGHTS}<resources>\n<string name="a">%s</string>\n</resources>\n',
        "Android",
        "a2po",
    ),
    "input: Apple's plurals": (
        "stringsdict",
        f"{XML}<plist><dict><key>a</key><string>%s</string></dict></plist>\n",
        "XML",
        "copy",
    ),
    "input: resources of .NET": ("resx", f'{XML}<root><data name="a"><value>%s</value></data></root>\n', "XML", ""),
    "input: Qt": (
        "ts",
        f"{XML}<!DOCTYPE TS>\n<TS><context><message><source>%s</source></message></context></TS>\n",
        "Qt",
        "lconvert",
    ),
    "input: compiled Qt": ("qm", "\x3c\xb8\x64\x18\xca\xef\x9c\x95 %s\n", "Qt", "lconvert"),
    "input: Fluent": ("txt", "# Menu\nmenu-open = %s\nmenu-close = %s 2\nmenu-exit = %s 3\n", "key", "PO"),
    "input: PHP": ("txt", "<?php\nreturn [\n  'open' => '%s',\n  'close' => '%s 2',\n];\n", "key|PHP", ""),
    "input: TOML": ("txt", '[menu]\nopen = "%s"\nclose = "%s 2"\n', "key", "PO"),
    "input: subtitles of MicroDVD": ("txt", "{0}{25}%s\n{30}{75}%s|2\n{80}{99}%s 3\n", "subtitles", "copy"),
    "input: lyrics with times": ("txt", "[00:12.00]%s\n[00:15.30]%s 2\n[00:17.20]%s 3\n", "subtitles", "copy"),
    "input: subtitles of YouTube": (
        "sbv",
        "0:00:01.000,0:00:02.000\n%s\n\n0:00:03.000,0:00:04.000\n%s\n",
        "subtitles",
        "copy",
    ),
    "input: objects of JSON": ("txt", '{"text": "%s"}\n{"text": "%s 2"}\n', "JSON|key", ""),
    "input: trees of CoNLL": (
        "txt",
        "1\t%s\tx\tNOUN\t_\n2\t.\t.\tPUNCT\t_\n\n1\t%s\tx\tNOUN\t_\n",
        "columns|table",
        "",
    ),
    "input: LaTeX": ("tex", "\\documentclass{article}\n\\begin{document}\n%s\n\\end{document}\n", "LaTeX", "copy"),
    "input: settings of a server": ("yaml", "en:\n  open: %s\n", "YAML", "yaml2po"),
    "input: drawing": ("svg", '<svg xmlns="a"><text>%s</text>\n<text>%s 2</text></svg>\n', "XML", "copy"),
    "input: calendar": ("ics", "BEGIN:VCALENDAR\nSUMMARY:%s\nEND:VCALENDAR\n", "calendar", "copy"),
    "input: tags of HTML": (
        "txt",
        "<ul>\n<li>%s</li>\n<li class='a'>%s 2</li>\n  <li>%s 3</li>\n</ul>\n",
        "tag",
        "copy",
    ),
    "input: keys and tabs": ("txt", "menu.open\t%s\nmenu.close\t%s 2\nmenu.exit\t%s 3\n", "name", "cut -f"),
    "input: numbers and tabs": ("txt", "1\t%s\n2\t%s 2\n3\t%s 3\n", "number", "cut -f"),
    "input: Bible in USFM": ("txt", "\\id GEN\n\\c 1\n\\p\n\\v 1 %s\n\\v 2 %s 2\n", "USFM", "sed"),
    "input: verses and tabs": ("txt", "GEN 1:1\t%s\nGEN 1:2\t%s 2\n1CO 1:3\t%s\n", "verses", "sed"),
    "input: names with spaces and tabs": ("txt", "Gen 1:1\t%s\n1. Mose 1:2\t%s 2\n", "name", "cut -f"),
    "input: subtitles of MPL2": ("txt", "[10][25]%s\n[30][45]%s 2\n", "subtitles", "copy"),
    "input: subtitles of SubViewer": (
        "txt",
        "[INFORMATION]\n[TITLE]x\n[END INFORMATION]\n00:00:01.00,00:00:02.00\n%s\n",
        "subtitles",
        "copy",
    ),
    "input: DocBook without a declaration": (
        "txt",
        "<article>\n<para>\n%s\n%s 2\n</para>\n</article>\n",
        "tag",
        "copy",
    ),
    "input: elements of another vocabulary": ("txt", "<para>%s</para>\n<para n='1'>%s</para>\n<br/>\n", "tag", "copy"),
    "input: strings of Windows": ("txt", 'STRINGTABLE\nBEGIN\n  IDS_A "%s"\nEND\n', "Windows", "rc2po"),
    "input: strings of Windows without a header": ("txt", '  IDS_A, "%s"\n  IDS_B  "%s 2"\n', "key", "PO"),
    "input: strings of C": ("txt", '#define MSG_A "%s"\n#define MSG_B "%s 2"\n', "key", "PO"),
    "input: strings of Lua": (
        "txt",
        'return {\n  ["a"] = "%s",\n  ["b"] = "%s 2",\n  ["c"] = "%s",\n  d = "%s",\n}\n',
        "key",
        "PO",
    ),
    "input: gzip with another name": ("txt", "GZIP", "gzip file", r"\.gz"),
    "input: random bytes": ("txt", "BINARY", "control|not valid|not text", ""),
}
"""The suffix, the content of both files with a text at each %s, and what the message contains."""


@pytest.mark.parametrize("case", REFUSED_PAIRS)
def test_pairs_of_files_that_are_not_text(case: str, tmp_path: Path) -> None:
    suffix, content, problem, remedy = REFUSED_PAIRS[case]
    for language, text in (("de", "Ein Hund."), ("en", "A dog.")):
        data = content.replace("%s", text).encode("latin-1" if suffix == "qm" else "utf-8")
        data = {"GZIP": gzip.compress(text.encode()), "BINARY": bytes(range(256)) * 4}.get(content, data)
        (tmp_path / f"{language}.{suffix}").write_bytes(data)
    files = FilePair(source=f"{tmp_path}/de.{suffix}", target=f"{tmp_path}/en.{suffix}")
    with pytest.raises(UserError) as caught:
        list(read_corpus(files, source_language="de", target_language="en"))
    assert re.search(problem, str(caught.value))
    assert re.search(remedy, str(caught.value))


PO = 'msgid ""\nmsgstr "Language: en\\n"\n\nmsgid "Hund"\nmsgstr "dog"\n'
REFUSED_DOCUMENTS: dict[str, tuple[str, bytes, str]] = {
    "input: PO with another name": ("a.txt", PO.encode(), r"rename it to \.po"),
    "input: XLIFF with another name": ("a.txt", xliff("").encode(), r"rename it to \.xlf"),
    "input: subtitles with another name": ("a.txt", srt("Ein Hund.").encode(), r"rename it to \.srt"),
    "input: subtitles without hours": ("a.txt", b"1\n00:01.000 --> 00:02.000\nEin Hund.\n", r"rename it to \.srt"),
    "input: page with another name": (
        "a.txt",
        b"<!DOCTYPE html>\n<html><p>Ein Hund</p></html>",
        r"rename it to \.html",
    ),
    "input: RTF with another name": ("a.txt", rb"{\rtf1\ansi Ein Hund}", r"save it as \.docx"),
    "input: Android with another name": (
        "a.txt",
        f'{XML}<resources><string name="a">x</string></resources>'.encode(),
        "a2po",
    ),
    "input: TMX as XLIFF": ("a.xlf", tmx(unit(de="Hund")).encode(), r"contains no <xliff>|rename it to \.tmx"),
    "input: document with another name": ("a.html", docx(), "ZIP archive"),
    "input: Apple's strings with another name": (
        "a.txt",
        b'/* Menu */\n"open" = "Hund";\n// x\n"close" = "Katze";\n',
        "--personality=strings",
    ),
    "input: Apple's catalog": ("a.xcstrings", b'{\n  "sourceLanguage" : "de", "strings" : {}}', r"\.xliff"),
    "input: ODT as DOCX": ("a.docx", odt(), "is not a Word document"),
    "input: subtitles of Aegisub": ("a.ass", b"[Script Info]\n", r"save (it|them) as \.srt"),
    "input: TTML": ("a.ttml", b"<tt/>", r"save (it|them) as \.srt"),
    "input: InDesign": ("a.idml", odt(), r"\.idml is not supported; convert it to \.xlf"),
    "input: package of Trados": ("a.sdlppx", odt(), r"\.sdlppx is not supported; extract it"),
    "input: Bible in USFM as a document": ("a.usfm", b"\\id GEN\n", r"NEW\.txt"),
    "input: XHTML": ("a.xhtml", b"<html/>", r"rename it to \.html"),
    "input: slides of LibreOffice": ("a.odp", odt(), r"save it as \.pptx"),
    "input: flat ODT": ("a.fodt", b"<office:document/>", r"save it as \.odt"),
    "input: Word with macros": ("a.docm", docx(), r"save it as \.docx"),
    "input: test set": ("a.sgm", b"<srcset><seg>x</seg></srcset>", "<seg>|text of"),
    "input: term base": ("a.tbx", b"<martif/>", r"\.csv|table"),
    "input: Qt compiled": ("a.qm", b"\x3c\xb8\x64\x18", r"translate the \.ts|lconvert"),
    "input: LaTeX": ("a.tex", b"\\documentclass{a}", "po4a|pandoc"),
    "input: reStructuredText": ("a.rst", b"Hund\n====\n", "po4a|pandoc|sphinx"),
    "input: Fluent": ("a.ftl", b"a = Hund", "moz2po|fluent2po|convert"),
    "input: plurals of Apple": ("a.stringsdict", b"<plist/>", r"\.xliff|\.xcloc|Xcode"),
    "input: DITA": ("a.dita", b"<topic/>", r"\.po"),
    "input: e-mail": ("a.eml", b"From: a@b.de\n\nHund", r"copy .* \.txt"),
    "input: notebook": ("a.ipynb", b"{}", r"\.md"),
    "input: gzip": ("a.txt.gz", gzip.compress(b"Ein Hund"), "decompress|gunzip"),
}
"""A name, the content, and what the message contains."""


@pytest.mark.parametrize("case", REFUSED_DOCUMENTS)
def test_documents_that_are_something_else(case: str) -> None:
    name, data, message = REFUSED_DOCUMENTS[case]
    with pytest.raises(UserError, match=message) as caught:
        open_document(data, name, DE)
    assert "did you mean" not in str(caught.value)


SENTENCES: list[tuple[str, str]] = [
    ("ar", "هذا كلب؟ ¦نعم. ¦إنه يجري!"),
    ("ar", "وصل د. أحمد أمس. ¦ثم جلس."),
    ("he", "זה כלב. ¦הוא רץ! ¦״שלום.״"),
    ("he", "פרופ' כהן בא. ¦הוא ישב."),
    ("th", "สุนัขวิ่งในสวน แมวนอนอยู่ ฯลฯ ที่บ้าน"),
    ("th", "เขาเกิด พ.ศ. 2540 ที่กรุงเทพฯ"),
    ("bo", "ཁྱི་རྒྱུགས། ¦བྱི་ལ་ཉལ།"),
    ("bo", "ཁྱི་རྒྱུགས་སོ།། །།¦བྱི་ལ་ཉལ།"),
    ("km", "តើនេះជាឆ្កែមែនទេ? ¦បាទ! ¦វារត់។"),
    ("am", "ውሻው ይሮጣል። ¦ድመቷ ትተኛለች፧ ¦አዎ።"),
    ("am", "ውሻው ይሮጣል፡፡ ¦ድመቷ ትተኛለች፡፡"),
    ("my", "ခွေးပြေးတယ်။ ¦ကြောင်အိပ်တယ်။"),
    ("hy", "Շունը վազում է։ ¦Ո՞ւր է կատուն։ ¦Քնած է։"),
    ("hy", "Շունը վազում է: ¦Կատուն քնած է:"),
    ("ka", "ძაღლი დარბის. ¦კატა ზის. ¦რატომ?"),
    ("ka", "ეს არის NATO და ძაღლი. ¦კატა ზის."),
    ("el", "Πού είναι ο σκύλος; ¦Τρέχει. ¦Γιατί;"),
    ("el", "Ο κ. Παππάς ήρθε. ¦Κάθισε."),
    ("hi", "कुत्ता दौड़ता है। ¦क्या? ¦हाँ॥ ¦ठीक है।"),
    ("bn", "ডা. রহমান এলেন। ¦তিনি বসলেন।"),
    ("ta", "திரு. ராமன் வந்தார். ¦அவர் அமர்ந்தார்."),
    ("ko", "2024. 5. 3.에 만났다. ¦비가 왔다."),
    ("ko", '그는 갔다. ¦"왜?" ¦나는 울었다.'),
    ("ja", "「行くの？」¦「行くよ。」¦二人は笑った。"),
    ("ja", "えっ！？¦本当…？¦うそ｡¦そうか。"),
    ("zh", "他走了……她哭了！！¦“真的吗？”"),
    ("zh", "他说：“你好！”¦她笑了；他也笑了。"),
    ("ru", "А. С. Пушкин родился в 1799 г. в Москве. ¦Он жил на ул. Ленина."),
    ("ru", "Он купил хлеб, молоко и т. д. ¦Потом он ушёл."),
    ("ru", "Что?.. ¦Не знаю?! ¦Да!"),
    ("uk", "Він живе на вул. Шевченка. ¦Там тихо."),
    ("sr", "Дошао је нпр. Иван. ¦Живи у ул. Краља Петра."),
    ("be", "Ён жыве на вул. Леніна. ¦Там ціха."),
    ("bg", "През 2020 г. Иван дойде. ¦Той седна."),
    ("de", "Er kauft Brot, Milch usw. ¦Dann geht er."),
    ("de", "J. S. Bach lebte in Leipzig. ¦Er komponierte viel."),
    ("de", "Das kostet 1,5 Mio. Euro. ¦Die IP ist 192.168.0.1. ¦Gut."),
    ("de", "Super! ¦😀 Danke! ¦Na ja … gut. ¦Vielleicht morgen."),
    ("de", "Er sagte: „Ich komme.“ ¦Dann ging er. ¦»Warum?« ¦›Darum.‹"),
    ("de", "Er sagte: „Ich komme.“ und ging. ¦Siehe README.md. ¦Danach kommt Node.js."),
    ("en", "We met at 5 p.m. yesterday. ¦He works for Acme Inc. in the U.S. today."),
    ("en", "He has dogs, cats, etc. ¦Then he left."),
    ("en", "Wait... ¦What?! ¦“Yes.” ¦(Maybe.) ¦Fine."),
    ("fr", "Tu viens ? ¦Oui ! ¦« Bonjour. » ¦Il part."),
    ("fr", "« Bonjour ! » dit-il. ¦M. Dupont arrive."),
    ("es", "¿Qué? ¦¡No! ¦El Sr. García y la Dra. Ruiz llegaron. ¦Sí."),
    ("pl", "Kupił chleb, mleko itd. ¦Potem wyszedł. ¦Mieszka przy ul. Długiej."),
    ("cs", "Přišel např. Karel. ¦Bylo 3. května. ¦Pršelo."),
    ("tr", "Ekmek, süt vb. aldı. ¦2. Dünya Savaşı bitti."),
    ("nl", "Dhr. Jansen en mevr. De Vries komen. ¦Dat is bijv. Anna."),
    ("vi", "TP. Hồ Chí Minh rất lớn. ¦Tôi thích nó."),
    ("hu", "Dr. Kovács jött. ¦Május 3. volt."),
    ("sv", "Hon köpte bl.a. Annas bok. ¦Den är bra."),
    ("ur", "کتا دوڑتا ہے۔ ¦کیا؟ ¦ہاں۔"),
    ("fa", "سگ می‌دود. ¦کجا؟ ¦«خانه.» ¦باشه!"),
    ("lo", "ໝາແລ່ນຢູ່ສວນ ແມວນອນ."),
    ("mn", "Нохой гүйж байна. ¦Муур унтаж байна."),
    ("ar", "قال: «نعم.» ¦ثم ذهب."),
    ("he", 'הוא אמר: "כן." ¦אחר כך הלך.'),
    ("hi", 'उसने कहा, "हाँ।" ¦फिर वह गया।'),
    ("ne", "कुकुर दौड्छ । ¦बिरालो सुत्छ ।"),
    ("ja", "彼は2024年5月3日に来た。¦雨だった（大雨）。¦え、本当？！"),
    ("zh", "价格是3.5元。¦他说“好。”¦走吧！"),
    ("zh-TW", "「你好！」¦「再見。」"),
    ("ko", '"안녕하세요." ¦그는 웃었다. ¦3.5km를 달렸다.'),
    ("ru", "Он сказал: «Да.» ¦Потом ушёл. ¦Это стоит 5 тыс. руб. в месяц."),
    ("ru", "См. рис. 3 и табл. 4. ¦Там всё."),
    ("uk", "Це коштує 5 грн. на день. ¦Дорого!"),
    ("el", "Ζει στην οδό Ερμού αρ. 5. ¦Είναι καλά."),
    ("el", "Τι κάνεις; ¦Καλά· εσύ;"),
    ("hy", "Նա ասաց. «Այո»։ ¦Հետո գնաց։"),
    ("ka", "მან თქვა: „დიახ.“ ¦მერე წავიდა."),
    ("am", "«አዎ።» ¦ሄደ።"),
    ("km", "គាត់ថា «បាទ។» ¦គាត់ទៅ។"),
    ("my", 'သူပြောတယ်။ ¦"ဟုတ်ကဲ့။"'),
    ("bo", "ང་ཡིན། ¦ཁྱེད་རང་སུ་ཡིན༎"),
    ("th", "นายสมชาย (อายุ 30 ปี) เดินทาง"),
    ("lo", "ດຣ. ສົມໃຈ ມາແລ້ວ"),
    ("de", "Das ist § 5 Abs. 2 Nr. 3 BGB. ¦Er gilt."),
    ("de", "Am 1.1.2024 um 10.30 Uhr kam er. ¦Gut!"),
    ("de", "Dr. med. Anna Meier, geb. Schulz, kommt. ¦Sie ist da."),
    ("de", "Er fragte: „Warum?“, und ging. ¦„Darum!“, rief sie."),
    ("de", "Das kostet 5,- Euro. ¦Wirklich?"),
    ("en", "It is 3 p.m. ¦Dr. Smith is here."),
    ("en", "He left (at last). ¦She stayed."),
    ("en", "I like U.S. history. ¦It is long."),
    ("en", "“Really?” she asked. ¦“Yes.”"),
    ("en", "Visit example.com. ¦It is free."),
    ("en", "No. 5 is alive. ¦See Fig. 3."),
    ("fr", "L'art. 5 s'applique, p. ex. ici. ¦Bien."),
    ("es", "Vive en la Av. Sol n.º 5. ¦¿Dónde?"),
    ("es", "EE. UU. es grande. ¦Sí."),
    ("it", "Il Sig. Rossi e la Dott.ssa Bianchi arrivano. ¦Ciao!"),
    ("pl", "Dr n. med. Jan Kowalski przyszedł. ¦To było w 2020 r. w Polsce."),
    ("sl", "Npr. Ana je prišla. ¦Bilo je 3. maja."),
    ("hr", "Dr. sc. Ivan Horvat je došao. ¦Npr. jučer."),
    ("hu", "Kb. 5 km-re lakik. ¦Jó."),
    ("fi", "Esim. koira juoksee. ¦Klo 10.30 hän tuli."),
    ("sv", "T.ex. Anna kom kl. 10. ¦Bra!"),
    ("da", "F.eks. Anna kom. ¦Det er bl.a. godt."),
    ("nl", "Hij woont o.a. in Gent. ¦Zie p. 5."),
    ("tr", "Dr. Ayşe Yılmaz geldi. ¦Saat 10.30'da gitti."),
    ("vi", "Ông ấy nói: “Vâng.” ¦Rồi đi."),
    ("id", "Jl. Sudirman No. 5 jauh. ¦Ya."),
    ("ro", "Str. Lungă nr. 5 e aici. ¦Da!"),
]
"""Texts in which ¦ is before each sentence but the first."""


@pytest.mark.parametrize(("language", "text"), SENTENCES)
def test_sentences_in_many_scripts(language: str, text: str) -> None:
    plain = text.replace(START, "")
    spans = split_sentences(plain, language)
    found = plain
    for start, _ in reversed(spans[1:]):
        found = f"{found[:start]}{START}{found[start:]}"
    assert found == text


SIMILAR_TEXTS: dict[str, tuple[str, str]] = {
    "input: YAML as text": ("de:\n  menu:\n    open: Öffnen\n    close: Schließen\n", "key before each text.*yaml2po"),
    "input: properties as text": ("menu.open=Öffnen\nmenu.close=Zu\nmenu.x=Ende\n", "key before each text.*prop2po"),
    "input: settings as text": ("[menu]\nopen = Öffnen\nclose = Zu\nexit = Ende\n", "key before each text"),
    "input: CSV as text": ('nr;text;ort\n1;"Hund; klein";Park\n2;Katze;See\n', r"a table; rename it to \.csv"),
    "input: long CSV as text": ("nr,text,ort\n" + 900 * f"1,{20 * 'Hund '},Park\n", r"a table; rename it to \.csv"),
    "input: TSV as text": ("1\tEin Hund\n2\tEine Katze\n3\tEin Haus\n", r"rename it to \.tsv"),
    "input: verses as text": ("GEN 1:1 Ein Hund\nGEN 1:2 Eine Katze\nGEN 1:3 Ja\n", r"rename it to \.tsv"),
    "input: dialog": ("Tom: Ein Hund!\nAnna: Eine Katze!\nTom: Ein Haus!\n", ""),
    "input: notes": ("注意: 狗在跑。\n参考: 猫在睡。\n说明: 好。\n", ""),
    "input: ingredients": ("mehl: 200 g\nzucker: 100 g\neier: 3\nmilch: 1 l\n", ""),
    "input: contents": ("Einleitung\t3\nKapitel\t5\nEnde\t9\n", ""),
    "input: numbered list with tabs": ("1.\tEin Hund\n2.\tEine Katze\n3.\tEin Haus\n", ""),
    "input: timetable": ("09:00\tEin Hund\n10:00\tEine Katze\n11:00\tEin Haus\n", ""),
    "input: indented ingredients": ("  mehl: 200 g\n  zucker: 100 g\n  eier: 3\n", ""),
    "input: equation": ("Wissen = Macht\n", ""),
    "input: sentences": ("Hund, Katze, Maus und Haus.\nEin Hund, der läuft, bellt.\nNa, ja, gut.\n", ""),
    "input: two lines": ("Hund,Katze,Maus.\nHaus,Baum,Tür.\n", ""),
}
"""The content of a text, and what the warning about it contains, if there is one."""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("case", SIMILAR_TEXTS)
def test_texts_that_look_like_something_else(case: str, encoding: str) -> None:
    content, message = SIMILAR_TEXTS[case]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert open_document(content.encode(encoding), "a.txt", DE).segments
    found = "".join(str(each.message) for each in caught)
    assert re.search(message, found) if message else not found
