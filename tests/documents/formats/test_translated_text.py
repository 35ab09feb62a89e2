"""Translated documents, read by other programs: all texts are translated, and everything else is as it was."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from document_samples import CSV, EXTENSION, HTML, JSON, MARKDOWN, PO, SAMPLES, SRT, TMX, TSV, VTT, XLIFF_1, XLIFF_2
from markdown_it import MarkdownIt
from segment_translators import assemble, translate_shuffled, translate_upper

from dragoman.documents.formats import open_document
from dragoman.errors import UserError
from dragoman.text.link import Link
from dragoman.text.translation import Translation

LANGUAGES = ("de", "en")


def translated(data: str, name: str, *columns: str) -> str:
    """The document with all words in upper case."""
    return assemble(open_document(data.encode(), name, LANGUAGES, columns), translate_upper).decode()


def upper(text: str) -> str:
    """The text as the translator writes it."""
    return " ".join(word if re.search(r"\{\w*\}", word) else word.upper() for word in text.split(" "))


def html_of(markdown: str) -> str:
    body = re.sub(r"\A---\n.*?\n---\n", "", markdown, flags=re.DOTALL).replace("\n[ref]:", "\n\n[ref]:")
    return str(MarkdownIt("commonmark").enable("table").render(body))


def test_markdown_keeps_its_structure_and_translates_all_text() -> None:
    text = translated(MARKDOWN, "a.md")
    before, after = (re.sub(r' (?:alt|title)="[^"]*"', "", html_of(each)) for each in (MARKDOWN, text))
    assert re.findall(r"<[^<>]*>", before) == re.findall(r"<[^<>]*>", after)
    kept = r"<code.*?</code>|<kbd.*?</kbd>|\$.*?\$|\{.*?\}|<[^<>]*>|https://b.de|&\w+;"
    assert not re.search(r"[a-zäöü]", re.sub(kept, "", after, flags=re.DOTALL))
    assert "![BILD VOM HUND](hund_1.png)" in text
    for part in (
        "`dem_code()`",
        '(https://a.de/x_(y) "TITEL")',
        "{#hund}",
        "$a_1 + b$",
        "{{ variable }}",
        "\\*STERN\\*",
    ):
        assert part in text
    assert "[REF][ref]" in text, "a link by its text still finds its definition"


def test_front_matter_keeps_its_keys() -> None:
    lines = translated(MARKDOWN, "a.md").splitlines()[:5]
    assert lines == ["---", 'title: "DER HUND"', "tags: [hund, tier]", 'description: "EIN \\"KURZER\\" TEXT"', "---"]


@pytest.mark.parametrize(("text", "name"), [(SRT, "a.srt"), (VTT, "a.vtt")])
def test_subtitles_keep_times_tags_and_number_of_lines(text: str, name: str) -> None:
    after = translated(text, name)
    assert len(text.splitlines()) == len(after.splitlines())
    for before_line, line in zip(text.splitlines(), after.splitlines(), strict=True):
        if "-->" in before_line or "WEBVTT" in before_line or "Notiz" in before_line or "::cue" in before_line:
            assert line == before_line
    assert re.findall(r"<[^<>]*>|\{\\an8\}", text) == re.findall(r"<[^<>]*>|\{\\an8\}", after)
    assert "BELLT" in after or "HUNDE &amp; KATZEN" in after


def test_each_speaker_of_a_cue_is_translated_alone() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,500\n"
    document = open_document(
        f"{cue}- Wer ist da? - Ich!\n<i>- Du?</i>\nAm 3. - 4. Mai ist er da - und sie.\n".encode(), "a.srt", LANGUAGES
    )
    texts = [segment.text for segment in document.segments]
    assert texts == ["Wer ist da?", "Ich!", "Du?", "Am 3. - 4. Mai ist er da - und sie."]


def test_json_keeps_keys_numbers_and_messages() -> None:
    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return (
                [(key, walk(each)) for key, each in value]
                if value and isinstance(value[0], tuple)
                else list(map(walk, value))
            )
        return upper(value) if isinstance(value, str) else value

    before, after = (json.loads(each, object_pairs_hook=list) for each in (JSON, translated(JSON, "a.json")))
    kept = {"key", "color", "url", "@title", "plural", "next"}
    for (key, value), (new_key, new_value) in zip(before, after, strict=True):
        assert key == new_key
        if key == "menu":
            assert new_value == [("open", "DATEI ÖFFNEN …"), *value[1:]]
        else:
            assert new_value == (
                value if key in kept - {"plural", "next"} else new_value if key in kept else walk(value)
            )
    new = dict(after)
    assert new["plural"] == "{count, plural, =0 {KEINE DATEI} one {# DATEI} other {# DATEIEN IN {folder}}} GEFUNDEN"
    assert new["next"] == "SIEHE $t(menu.open), {{name}}"
    assert _without_strings(JSON) == _without_strings(translated(JSON, "a.json")), "the same white space"


def _without_strings(text: str) -> str:
    return re.sub(r'"(?:[^"\\]|\\.)*"', "", text)


def texts_of(data: str | bytes, name: str, source: str = "en") -> list[str]:
    """The texts of a document that are translated."""
    content = data.encode() if isinstance(data, str) else data
    return [segment.text for segment in open_document(content, name, (source, "de")).segments]


CODE = [
    "a.b.c",
    "app:name",
    "snake_case",
    "camelCase",
    "#fff",
    "images/logo.png",
    "/usr/bin",
    "text/html",
    "https://a.b/c",
]
LABELS = ["Name:", "Loading...", "Saved.", "Yes/No", "点击GitHub按钮登录。", "MacBookの設定を開く"]


def test_labels_in_json_are_translated_and_names_in_programs_are_not() -> None:
    for text in CODE + LABELS:
        assert bool(texts_of(json.dumps({"key": text}), "a.json")) == (text in LABELS), text


def test_cells_in_scripts_without_spaces_are_no_identifiers() -> None:
    table = "id,text\n1,这个产品有3种颜色。\n2,欢迎来到我们的商店。\n3,会议将于2024年10月5日举行。\n"
    assert texts_of(table, "a.csv", "zh") == [
        "这个产品有3种颜色。",
        "欢迎来到我们的商店。",
        "会议将于2024年10月5日举行。",
    ]


def test_a_stray_quotation_mark_in_a_small_table_is_refused() -> None:
    with pytest.raises(UserError, match="line 3"):
        texts_of('id,text\n1,Good morning to you\n2,"Six" apples fell down.\n3,Hello there my friend\n', "a.csv")


@pytest.mark.parametrize(
    ("markdown", "texts"),
    [
        ("[Alice]: Hello, how are you?\n\n[Bob]: I am fine.\n", ["[Alice]: Hello, how are you?", "[Bob]: I am fine."]),
        ('[a]: https://b.de "Title"\r\n\r\nA dog.\r\n', ["A dog."]),
        ("---\n\nRead this.\n\n---\n\nThen that.\n", ["Read this.", "Then that."]),
        ("---\ntitle: It's C# time\n---\nA dog.\n", ["It's C# time", "A dog."]),
    ],
)
def test_only_link_definitions_and_settings_are_kept_in_markdown(markdown: str, texts: list[str]) -> None:
    assert texts_of(markdown, "a.md") == texts


@pytest.mark.parametrize(
    ("markdown", "texts"),
    [
        ('!!! note "Ein Titel"\n    Ein Hund.\n\n    Eine Katze.\n', ["Ein Titel", "Ein Hund.", "Eine Katze."]),
        ("Ein Hund.\r\n\r\n??? Note\r\n    Eine Katze.\r\n", ["Ein Hund.", "Eine Katze."]),
        ("!!! note inline end\n\n    Ein Hund.\n", ["Ein Hund."]),
        (
            "!!!Achtung!!!\n\n!!! Ein Hund\n\n??? Was soll das\nheißen\n",
            ["Achtung!!!", "Ein Hund", "Was soll das heißen"],
        ),
        ("> [!WARNING]\n> Ein Hund\n> bellt.\n", ["Ein Hund bellt."]),
        ("> [!note]- Ein Hund\n", ["Ein Hund"]),
        ('!!! tip "tip"\n    Ein Hund.\n', ["tip", "Ein Hund."]),
        (
            '=== "Windows"\n\n    Ein Hund.\n\n=== "Linux"\n\n    Eine Katze.\n',
            ["Windows", "Ein Hund.", "Linux", "Eine Katze."],
        ),
        ("Hund\n: Ein Tier\n:   Es bellt\n", ["Hund", "Ein Tier", "Es bellt"]),
        ("Da[^1].\n\n[^1]: Ein Hund.\n\n    Eine Katze.\n", ["Da.", "Ein Hund.", "Eine Katze."]),
        ("*[HTML]: Ein Hund\n", ["Ein Hund"]),
        ("Vorher.\n::: warning Ein Hund\nbellt.\n:::\n", ["Vorher.", "Ein Hund", "bellt."]),
        (":::tip[Ein Hund]\nbellt.\n:::\n", ["Ein Hund", "bellt."]),
        ("/// note | Ein Hund\nbellt.\n///\n", ["Ein Hund", "bellt."]),
        ('!!!note\n    Ein Hund.\n\n??? "Die "gute" Katze"\n    Da.\n', ["Ein Hund.", 'Die "gute" Katze', "Da."]),
        ("> [!tip] Ein Hund\n> bellt.\n", ["Ein Hund", "bellt."]),
        ("Ein Hund\n$$\nx\n$$\nund\n\n\\[\nx_1\n\\]\nda\n", ["Ein Hund", "und", "da"]),
        ("[TOC]\n\n$$\na \\\\\n\\int_0^1\n$$\n\n\\begin{align}\na\n\\end{align}\n", []),
    ],
)
def test_boxes_and_definitions_in_markdown_are_blocks(markdown: str, texts: list[str]) -> None:
    assert texts_of(markdown, "a.md", "de") == texts
    before, after = (
        [re.match(r"\W*", line) for line in text.splitlines()] for text in (markdown, translated(markdown, "a.md"))
    )
    assert [each and each[0] for each in after] == [each and each[0] for each in before][: len(after)]


@pytest.mark.parametrize("image", ["![Hund]", "![Hund][]", "![Hund][b]", "![Hund](a.png)"])
def test_images_find_their_definitions(image: str) -> None:
    label = {"![Hund]": "][Hund]", "![Hund][]": "][Hund]"}.get(image, image[6:])
    for text in (f"Ein {image} da.", f"[{image}][b]"):
        markdown = f"{text}\n\n[Hund]: a.png\n[b]: b.png\n"
        assert translated(markdown, "a.md").startswith(
            text.upper().replace(image.upper(), f"![HUND{label}").replace("[B]", "[b]")
        )
        assert assemble(open_document(markdown.encode(), "a.md", LANGUAGES)).decode() == markdown


@pytest.mark.parametrize(
    "kept",
    [
        r"$\alpha$",
        r"$\frac{a}{b}$",
        "$a*b*c$",
        r"$$\int_0^1 x\,dx$$",
        ":dog:",
        "++ctrl+s++",
        r"\(x_1\)",
        "[[Seite|Hund]]",
        "![[bild.png]]",
        '{ width="300" }',
        "{.a #b}",
        "[Hund](x){target=_blank rel=x}",
        "![Hund](y.png){ .md-button }",
    ],
)
def test_formulas_and_attributes_in_markdown_are_kept(kept: str) -> None:
    expected = kept if "[[" in kept else kept.replace("Hund", "HUND")
    assert translated(f"Ein {kept} bellt um 10:30:15 für $5 oder $10.", "a.md").startswith(f"EIN {expected} BELLT")


@pytest.mark.parametrize(
    "page",
    [
        b'\xef\xbb\xbf<meta charset="iso-8859-1"><p>Gr\xc3\xb6\xc3\x9fe</p>',
        b'<meta charset="utf-16"><p>Gr\xc3\xb6\xc3\x9fe</p>',
        b'<meta charset="iso-8859-1"><p>Gr\xf6\xdfe</p>',
    ],
)
def test_the_encoding_of_a_page_is_that_of_browsers(page: bytes) -> None:
    assert texts_of(page, "a.html", "de") == ["Größe"]


def test_only_messages_of_extensions_are_translated() -> None:
    before, after = json.loads(EXTENSION), json.loads(translated(EXTENSION, "messages.json"))
    assert after["hello"].pop("message") == "HALLO $NAME$, WELT"
    del before["hello"]["message"]
    assert before == after


def rows(text: str, delimiter: str = ";") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def test_chosen_columns_of_a_table_are_translated() -> None:
    before = rows(CSV)
    for columns in (["beschreibung"], ["3"]):
        after = rows(translated(CSV, "a.csv", *columns))
        assert [row[:2] for row in after] == [row[:2] for row in before]
        assert after[1][2] == 'ER SAGT "WAU". DANN\nLÄUFT ER.'
        assert [row[2] for row in after[2:]] == [row[2] for row in before[2:]], "a URL and an identifier"
        assert after[0] == before[0], "single words above longer texts are a header"
    assert rows(translated(CSV, "a.csv"))[0] == before[0]
    assert rows(translated(CSV, "a.csv"))[1][1] == "HUND; GROSS"


def test_cells_of_a_csv_table_keep_their_quotation_marks() -> None:
    table = '"id";"text"\r\n"A-1";"Ein Hund bellt"\r\nA-2;Eine Katze miaut\r\n'
    expected = table.replace("Ein Hund bellt", "EIN HUND BELLT").replace("Eine Katze miaut", "EINE KATZE MIAUT")
    assert translated(table, "a.csv", "text") == expected


def test_unknown_column_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UserError, match="no column 'beschreibun', only id, name, beschreibung; did you mean"):
        open_document(CSV.encode(), "a.csv", LANGUAGES, ["beschreibun"])
    with pytest.raises(UserError, match="only CSV and TSV"):
        open_document(b"x", "a.txt", LANGUAGES, ["x"])


def test_tsv_keeps_quotation_marks_in_the_text() -> None:
    after = translated(TSV, "a.tsv").splitlines()
    assert after[0] == "key\ttext"
    assert [line.split("\t")[1] for line in after[1:]] == ["EIN HUND LÄUFT", '5 "ZOLL" LANG']


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ('"Hi," she said.\tfoo bar', '"HI," SHE SAID.\tFOO BAR'),
        ('He said\t"Hi," she said', 'HE SAID\t"HI," SHE SAID'),
        ('"Stop it now!"\tbar foo', '"STOP IT NOW!"\tBAR FOO'),
        ('"a ""quoted"" word"\tbar foo', '"A ""QUOTED"" WORD"\tBAR FOO'),
        ('"Yes" or "no"\tbar foo', '"YES" OR "NO"\tBAR FOO'),
        ('5" pipe\tbar "foo', '5" PIPE\tBAR "FOO'),
        ('"\tbar foo', '"\tBAR FOO'),
    ],
)
def test_only_whole_cells_of_tsv_are_quoted(row: str, expected: str) -> None:
    others = ['"Stop it now!"\tbar foo', '"Hi," he said.\tfoo', 'x y\t"No.', 'Yes."\tz']
    for above, below in ((others, []), ([], others), ([], [])):
        text = "".join(f"{line}\n" for line in (*above, row, *below))
        document = open_document(text.encode(), "a.tsv", LANGUAGES)
        assert assemble(document).decode() == text
        assert assemble(document, translate_upper).decode().splitlines()[len(above)] == expected


def test_quoted_cells_of_tsv_may_have_several_lines() -> None:
    text = '"two\nlines"\t"foo ""bar"""\n5 "inch"\tfoo\n'
    assert translated(text, "a.tsv") == text.upper()


def test_html_is_translated() -> None:
    after = translated(HTML, "a.html")
    assert re.findall(r"</?\w+", HTML) == re.findall(r"</?\w+", after)
    assert "run()" in after
    assert "Bleibt" in after
    assert "EIN <b>GROSSER</b> HUND" in after


FILLED = {
    "#, c-format\nmsgid": "#, fuzzy, c-format\nmsgid",
    'msgid "Hund %s läuft"\nmsgstr ""': 'msgid "Hund %s läuft"\nmsgstr "HUND %S LÄUFT"',
    'msgctxt "menu"': '#, fuzzy\nmsgctxt "menu"',
    'msgstr[0] ""\nmsgstr[1] ""': 'msgstr[0] "%D DATEI"\nmsgstr[1] "%D DATEIEN"',
    'msgid ""\n"Erste': '#, fuzzy\nmsgid ""\n"Erste',
    '\\"Zeile\\""\nmsgstr ""': '\\"Zeile\\""\nmsgstr ""\n"ERSTE ZEILE\\n"\n"ZWEITE \\"ZEILE\\""',
}
"""What changes in `PO`: the translations that were missing, and their flags."""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_po_is_filled_and_marked_as_fuzzy_and_else_identical(end: str) -> None:
    expected = PO
    for before, after in FILLED.items():
        assert expected.count(before) == 1
        expected = expected.replace(before, after)
    assert translated(PO.replace("\n", end), "de.po") == expected.replace("\n", end)


@pytest.mark.skipif(not shutil.which("msgfmt"), reason="gettext is not installed")
def test_gettext_accepts_filled_po(tmp_path: Path) -> None:
    path = tmp_path / "en.po"
    path.write_text(translated(PO.replace("%s", "").replace("%d ", ""), "en.po"), "utf-8")
    result = subprocess.run(
        ["msgfmt", "-c", "--statistics", path, "-o", "en.mo"], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode == 0
    assert result.stderr.endswith("1 translated message, 4 fuzzy translations.\n")


@pytest.mark.parametrize(
    ("forms", "filled", "texts"),
    [
        ('msgstr[0] "a"\nmsgstr[1] ""\n', 'msgstr[0] "a"\nmsgstr[1] "%D HUNDE"\n', ["%d Hunde"]),
        ('msgstr[0] ""\nmsgstr[1] "a"\n', 'msgstr[0] "%D HUND"\nmsgstr[1] "a"\n', ["%d Hund"]),
        ('msgstr[0] "a"\n', 'msgstr[0] "a"\nmsgstr[1] "%D HUNDE"\n', ["%d Hunde"]),
        ('msgstr[0] "a"\nmsgstr[1] "b"\n', 'msgstr[0] "a"\nmsgstr[1] "b"\n', []),
    ],
)
def test_only_missing_plural_forms_are_added(forms: str, filled: str, texts: list[str]) -> None:
    start = 'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=n!=1;\\n"\n\nmsgid "%d Hund"\nmsgid_plural "%d Hunde"\n'
    assert texts_of(start + forms, "en.po", "de") == texts
    after = translated(start + forms, "en.po")
    assert after.replace("#, fuzzy\n", "") == start + filled
    assert after.count("#, fuzzy") == bool(texts)


def test_bytes_of_po_stay_also_where_they_are_odd() -> None:
    odd = (
        'msgid  "l\\303\\244uft"  "\\x21" \n# between\n  msgstr\t""\n\nmsgid"b"\nmsgstr"c"\n#~ msgid "d"\n#~ msgstr ""'
    )
    assert texts_of(odd, "en.po", "de") == ["läuft!"]
    assert translated(odd, "en.po") == "#, fuzzy\n" + odd.replace('  msgstr\t""', 'msgstr "LÄUFT!"')


@pytest.mark.parametrize("number", [1, 3])
def test_plural_forms_are_those_of_the_target_language(number: int) -> None:
    after = translated(PO.replace("nplurals=2", f"nplurals={number}"), "de.po")
    forms = re.findall(r'msgstr\[\d\] "(.*)"', after)
    assert forms == {1: ["%D DATEIEN"], 3: ["%D DATEI", "%D DATEIEN", "%D DATEIEN"]}[number]


def test_the_plural_form_for_one_is_stated_in_the_header() -> None:
    header = re.sub(r"nplurals=2; plural=[^;]*;", "nplurals=3; plural=n==0 ? 0 : n==1 ? 1 : 2;", PO)
    forms = re.findall(r'msgstr\[\d\] "(.*)"', translated(header, "de.po"))
    assert forms == ["%D DATEIEN", "%D DATEI", "%D DATEIEN"]


@pytest.mark.parametrize(("text", "name"), [(XLIFF_1, "a.xlf"), (XLIFF_2, "a.xliff")])
def test_xliff_targets_are_filled_with_all_codes(text: str, name: str) -> None:
    from lxml import etree

    for translate in (translate_upper, translate_shuffled):
        document = open_document(text.encode(), name, LANGUAGES)
        root = etree.fromstring(assemble(document, translate))
        for target in root.iter("{*}target"):
            sources = [each for each in target.getparent() if etree.QName(each).localname in ("source", "seg-source")]
            if target.text in ("Done", "Fertig"):
                continue
            codes = [
                sorted((etree.QName(each).localname, *each.attrib.values()) for each in side.iterdescendants())
                for side in (sources[-1], target)
            ]
            assert codes[0] == codes[1]
            if translate is translate_upper:
                assert _visible(target) == upper(_visible(sources[-1]))
        states = [each.get("state") for each in root.iter("{*}target", "{*}segment")]
        assert "final" in states
        assert {"needs-review-translation", "translated"} & set(states)
        assert "Bleibt" in etree.tostring(root, encoding="unicode")


def _visible(element: Any) -> str:
    """The text of a segment without that of codes."""
    inner = (
        ("" if each.tag.endswith(("bpt", "ept", "ph")) else _visible(each)) + (each.tail or "") for each in element
    )
    return (element.text or "") + "".join(inner)


def test_languages_of_xliff_are_checked() -> None:
    with pytest.raises(UserError, match="from de-DE to en, but the translator is from fr to en"):
        open_document(XLIFF_1.encode(), "a.xlf", ("fr", "en"))


@pytest.mark.parametrize(("tag", "label"), [("EN", "EN"), ("en-GB", "en-GB"), ("fr", "en")])
def test_memory_gets_the_missing_language_with_the_tag_of_its_other_texts(tag: str, label: str) -> None:
    from lxml import etree

    root = etree.fromstring(translated(TMX.replace('"EN"', f'"{tag}"'), "a.tmx").encode())
    first, second = root.iter("tu")
    languages = [each.get("{http://www.w3.org/XML/1998/namespace}lang") for each in first.iter("tuv")]
    assert languages == ["de-DE", "fr", label]
    source, _, target = (each.find("seg") for each in first.iter("tuv"))
    assert [each.tag for each in source] == [each.tag for each in target]
    assert len(list(second)) == (3 if tag == "fr" else 2)


def test_an_empty_text_of_a_memory_is_replaced() -> None:
    from lxml import etree

    empty = '<tuv xml:lang="en-GB"><seg></seg></tuv>'
    root = etree.fromstring(translated(TMX.replace("</tuv>\n    </tu>", f"</tuv>{empty}</tu>"), "a.tmx").encode())
    texts = [(each.values(), each.findtext("seg")) for each in next(root.iter("tu")).iter("tuv")]
    assert [language for (language,), _ in texts] == ["de-DE", "fr", "en-GB"]
    assert texts[-1][1]


def test_a_new_translation_in_xliff_is_not_approved() -> None:
    unit = '<trans-unit id="1" approved="yes"><source>Ein Hund</source><target state="needs-translation"/></trans-unit>'
    found = translated(re.sub(r"<trans-unit id=.*?</trans-unit>", unit, XLIFF_1, count=1, flags=re.DOTALL), "a.xlf")
    assert 'approved="no"' in found
    assert 'approved="yes"' not in found.partition("</trans-unit>")[0]


def test_languages_of_a_memory_are_checked() -> None:
    with pytest.raises(UserError, match="has no text in it, only in EN, de, de-DE, fr"):
        open_document(TMX.encode(), "a.tmx", ("it", "en"))


@pytest.mark.parametrize(("name", "data"), SAMPLES, ids=[name for name, _ in SAMPLES])
def test_shuffled_words_lose_nothing(name: str, data: bytes) -> None:
    """A translation in another order opens again, and has the same number of paragraphs."""
    document = open_document(data, name, LANGUAGES)
    again = open_document(assemble(document, translate_shuffled), name, LANGUAGES)
    assert again.segments


@pytest.mark.parametrize("line", ["sep=;\r\n", '"sep=;"\n'])
def test_the_line_that_states_the_delimiter_of_a_table_is_kept(line: str) -> None:
    table = f"{line}Name;Text\nA-1;Ein Hund, der bellt\nA-2;Eine Katze\n"
    assert texts_of(table, "a.csv", "de") == ["Ein Hund, der bellt", "Eine Katze"]
    assert translated(table, "a.csv", "Text").startswith(f"{line}Name;Text\nA-1;EIN HUND")


def test_dollars_that_are_no_formula_stay_so() -> None:
    assert translated(r"Ein \$x\$ und $y$ für \$5.", "a.md").startswith(r"EIN \$X\$ UND $y$ FÜR $5")


@pytest.mark.parametrize(
    ("markdown", "texts"),
    [
        ('<p align="center">\n  Ein <b>Hund</b>\n  bellt.\n</p>\n\nEine Katze.\n', ["Ein Hund bellt.", "Eine Katze."]),
        ("<details><summary>Mehr</summary>\n\nEin **Hund**.\n\n</details>\n", ["Mehr", "Ein Hund."]),
        ("- Punkt\n\n  <div>\n  Ein Hund.\n  </div>\n", ["Punkt", "Ein Hund."]),
        ("<table>\r\n<tr><td>Ein Hund</td>\r\n<td>`x`</td></tr>\r\n</table>\r\n", ["Ein Hund", "`x`"]),
        ("<!-- Ein Hund. -->\n<script>\nx()\n</script>\n\nDa.\n", ["Da."]),
        ('<div translate="no">\n\nAcme *Hund*.\n\n- Punkt\n\n</div>\n\nDa.\n', ["Da."]),
        ('<div lang="fr">\n\nUn chien.\n\n</div>\n\nDa.\n', ["Da."]),
        ('Der <span lang="fr">chien</span> und <b class="notranslate">Acme</b>.\n', ["Der {1} und {2}."]),
        ('<img src="a.png" alt="Ein Hund">\n\nDa.\n', ["Ein Hund", "Da."]),
        ("<div\nclass='x'\n\nDa.\n", ["Da."]),
    ],
)
def test_html_in_markdown_is_read_as_in_pages(markdown: str, texts: list[str]) -> None:
    assert texts_of(markdown, "a.md", "de") == texts
    assert assemble(open_document(markdown.encode(), "a.md", LANGUAGES)).decode() == markdown
    before, after = (re.findall(r"<[^<>]*>", html_of(each)) for each in (markdown, translated(markdown, "a.md")))
    assert re.sub(r' alt="[^"]*"', "", str(after)) == re.sub(r' alt="[^"]*"', "", str(before))


@pytest.mark.parametrize(
    ("markdown", "texts"),
    [
        (
            "Da[^ein-hund] und *dort[^Katze]*.\n\n[^ein-hund]: Ein Hund.\n[^Katze]: Da.\n",
            ["Da und dort.", "Ein Hund.", "Da."],
        ),
        ("Da[^ein Hund].\n\n[^ein Hund]: Ein Tier.\n", ["Da.", "Ein Tier."]),
        ("Da^[Ein *Hund*. Er bellt.] ist er.\n", ["Da ist er.", "Ein Hund.", "Er bellt."]),
    ],
)
def test_notes_in_markdown_keep_their_labels(markdown: str, texts: list[str]) -> None:
    assert texts_of(markdown, "a.md", "de") == texts
    for translate in (translate_upper, translate_shuffled):
        after = assemble(open_document(markdown.encode(), "a.md", LANGUAGES), translate).decode()
        labels = [sorted(re.findall(r"\[\^[^\[\]]*\]:?|\^\[", text)) for text in (markdown, after)]
        assert labels[0] == labels[1]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_texts_of_several_lines_in_front_matter(end: str) -> None:
    front = [
        "---",
        "lang: de",
        "title: Ein Hund",
        "  und eine Katze",
        "description: >-",
        "  Er bellt",
        "  sehr laut.",
        "",
        "  Sie schläft.",
        "summary: |",
        "  Er frisst.",
        "  Sie trinkt.",
        "tags: [hund]",
        "---",
        "",
        "Da.",
    ]
    text = end.join(front)
    expected = ["Ein Hund und eine Katze", "Er bellt sehr laut.", "Sie schläft.", "Er frisst.", "Sie trinkt.", "Da."]
    assert texts_of(text, "a.md", "de") == expected
    assert assemble(open_document(text.encode(), "a.md", LANGUAGES)).decode() == text
    lines = translated(text, "a.md").split(end)
    assert lines[:3] == ["---", "lang: de", 'title: "EIN HUND UND EINE KATZE"']
    assert lines[3:] == [
        "description: >-",
        "  ER BELLT SEHR LAUT.",
        "",
        "  SIE SCHLÄFT.",
        "summary: |",
        "  ER FRISST.",
        "  SIE TRINKT.",
        *["tags: [hund]", "---", "", "DA."],
    ]


def test_attributes_that_people_read() -> None:
    page = (
        '<meta property="og:title" content="Ein Hund"><meta property="og:url" content="ein hund">'
        '<input type="submit" value="Jetzt suchen"><input type="hidden" value="ein wert">'
        '<optgroup label="Ein Tier"><option value="der hund">Hund</option></optgroup><data value="ein wert">'
    )
    assert texts_of(page, "a.html", "de") == ["Ein Hund", "Jetzt suchen", "Ein Tier", "Hund"]


@pytest.mark.parametrize("name", ["a.xlf", "a.tmx", "a.html"])
def test_a_file_in_latin_1_is_read_as_such_by_other_programs(name: str) -> None:
    text = {"a.xlf": XLIFF_1, "a.tmx": TMX.replace("utf-8", "iso-8859-1"), "a.html": f"<meta charset=iso-8859-1>{HTML}"}
    data = text[name].replace("UTF-8", "ISO-8859-1").encode("latin-1")
    after = assemble(open_document(data, name, LANGUAGES), lambda segment: Translation("„A“ – 5 €"))
    assert not re.search(rb"[\x80-\x9f]", after)
    assert set("„“–€") <= set(html.unescape(after.decode("latin-1")))


def test_rows_of_a_table_may_lack_cells_at_their_end() -> None:
    table = "id,text,note\n1,Ein Hund\n2,Eine Katze\n3,Ein Haus\n4,Da,ein Baum\n"
    expected = ["Ein Hund", "Eine Katze", "Ein Haus", "Da", "ein Baum"]
    assert texts_of(table, "a.csv", "de") == expected
    assert texts_of(table.replace("\n3", ",\n3").replace("aus\n", "aus,a b\n"), "a.csv", "de") == [
        *expected[:3],
        "a b",
        *expected[3:],
    ]
    assert len(rows(translated(table, "a.csv"), ",")[1]) == 2


def test_emphasis_that_loses_its_words_leaves_no_marks() -> None:
    document = open_document(b"*Ein* Hund und **eine** Katze *sind* nun [da](a).\n", "a.md", LANGUAGES)
    for text, links in (("A", ()), ("A dog", (Link(0, 3, 0, 1),)), ("A dog", (Link(13, 17, 0, 1), Link(24, 28, 0, 1)))):
        written = document.assemble([Translation(text, links=links)]).decode()
        assert "*" not in html_of(written), written
        assert html_of(written).count("<a ") == 1
