"""What TMX, XLIFF and PO files contain apart from plain pairs."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from corpus_files import write_po

from dragoman.corpus.corpus import find_corpora, find_languages, read_corpus
from dragoman.corpus.pair import Pair
from dragoman.errors import UserError


def read(path: Path, source: str = "de", target: str = "en") -> list[Pair]:
    return list(read_corpus(str(path), source_language=source, target_language=target))


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "t.tmx"


def write_units(path: Path, *units: dict[str, str], attribute: str = "xml:lang") -> None:
    """A translation memory; each unit has segments by language."""
    body = "".join(
        "<tu><prop>x</prop>"
        + "".join(f"<tuv {attribute}='{tag}'><note>y</note><seg>{text}</seg></tuv>" for tag, text in unit.items())
        + "</tu>\n"
        for unit in units
    )
    path.write_text(f"<tmx version='1.4'><header/><body>{body}</body></tmx>", "utf-8")


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ("Ein <bpt i='1'>&lt;b></bpt>Hund<ept i='1'>&lt;/b></ept>.", "Ein Hund."),
        ("<ph x='1'>{0}</ph>Ein <hi>kleiner <hi>roter</hi></hi> Hund", "{0}Ein kleiner roter Hund"),
        ("Sie haben <ph x='1'>%d</ph> neue <ph>&lt;img></ph> Dateien.", "Sie haben %d neue Dateien."),
        ("Hallo <x id='1' equiv-text='{name}'/>, <x id='2' equiv-text='Bild'/>!", "Hallo {name}, !"),
        ("a<it pos='begin'>x</it>b<ut>y</ut>c", "abc"),
        ("a<ph>img <sub>alternative</sub></ph>b", "ab"),
        ("a<ph type='lb'/>b", "a b"),
        ("a<ph>&lt;br/></ph>b", "a b"),
        ("\n   two\n   lines  \n ", "two lines"),
        ("5 &lt; 6 &amp; 7 &#8364; <![CDATA[<x>]]>", "5 < 6 & 7 € <x>"),
        ("  kept  ", "  kept  "),
        ("a&#x93;b", "a b"),
    ],
)
def test_inline_tags_are_dropped_and_their_text_kept(segment: str, text: str, memory: Path) -> None:
    write_units(memory, {"de": segment, "en": "x"})
    assert read(memory) == [Pair(text, "x")]


@pytest.mark.parametrize(
    ("tags", "chosen"),
    [
        (["de-DE", "en-GB"], (0, 1)),
        (["en_us", "DE_at"], (1, 0)),
        (["de-AT", "de", "en-GB", "EN"], (1, 3)),
        (["fr", "en", "de-CH"], (2, 1)),
        (["fr", "en", "deu"], (2, 1)),
    ],
)
def test_languages_are_found_with_and_without_regions(tags: list[str], chosen: tuple[int, int], memory: Path) -> None:
    for attribute in ("xml:lang", "lang"):
        write_units(memory, {tag: f"text {number}" for number, tag in enumerate(tags)}, attribute=attribute)
        assert read(memory) == [Pair(f"text {chosen[0]}", f"text {chosen[1]}")]


def test_a_region_that_was_chosen_is_not_replaced_by_another(memory: Path) -> None:
    write_units(memory, {"pt-BR": "a", "pt-PT": "b", "en": "c"}, {"pt-PT": "d", "en": "e"}, {"pt": "f", "en": "g"})
    with pytest.warns(UserWarning, match="1 of 3 units lack pt-BR or en"):
        assert read(memory, "pt-BR", "en") == [Pair("a", "c"), Pair("f", "g")]


def test_units_without_a_language_are_counted(memory: Path) -> None:
    write_units(memory, {"de": "a", "fr": "b"}, {"de": "c", "en": "d"}, {"en": "e"})
    with pytest.warns(UserWarning, match="2 of 3 units lack de or en, and are not used"):
        assert read(memory) == [Pair("c", "d")]
    with pytest.warns(UserWarning, match="2 of 3 units lack fr or de"):
        assert read(memory, "fr", "de") == [Pair("b", "a")]


def test_of_several_texts_in_one_language_the_first_is_used(memory: Path) -> None:
    unit = "".join(
        f'<tuv xml:lang="{tag}"><seg>{text}</seg></tuv>' for tag, text in (("de", "a"), ("de", "b"), ("en", "c"))
    )
    memory.write_text(f"<tmx><body><tu>{unit}</tu></body></tmx>")
    with pytest.warns(UserWarning, match="1 of 1 units have several texts in one language"):
        assert read(memory) == [Pair("a", "c")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "iso-8859-1", "cp1252", "gb18030"])
def test_declared_encodings_and_marks_are_obeyed(encoding: str, memory: Path) -> None:
    text = "\n".join(
        f"<tu><tuv xml:lang='de'><seg>Tür {n}</seg></tuv><tuv xml:lang='en'><seg>b</seg></tuv></tu>" for n in range(9)
    )
    declared = {"utf-8-sig": "UTF-8", "utf-16-le": "UTF-16"}.get(encoding, encoding)
    document = (
        f"<?xml version='1.0' encoding='{declared}'?><!DOCTYPE tmx SYSTEM 'tmx14.dtd'><tmx><body>{text}</body></tmx>"
    )
    memory.write_bytes(document.encode(encoding))
    assert read(memory) == [Pair(f"Tür {n}", "b") for n in range(9)]


def test_latin_1_is_read_as_windows_1252(memory: Path) -> None:
    write_units(memory, {"de": "„Tür“", "en": "b"})
    text = memory.read_text("utf-8").replace("<tmx", "<?xml version='1.0' encoding='ISO-8859-1'?><tmx", 1)
    memory.write_bytes(text.encode("cp1252"))
    assert read(memory) == [Pair("„Tür“", "b")]


def test_blocks_may_end_anywhere(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_units(memory, *({"de": f"Tür <hi>𝄞</hi> {number}", "en": "हिन्दी"} for number in range(20)))
    expected = read(memory)
    assert len(expected) == 20
    for size in (1, 2, 3, 7, 100):
        monkeypatch.setattr("dragoman.corpus.xml_encoding._BLOCK", size)
        assert read(memory) == expected


def test_reading_is_lazy_and_can_be_stopped(memory: Path) -> None:
    write_units(memory, *({"de": f"a{number}", "en": "b"} for number in range(9_000)), {"de": "<x>", "en": ""})
    (corpus,) = find_corpora([str(memory)], source_language="de", target_language="en")
    for _ in range(2):
        pairs = corpus.read()
        assert next(pairs) == Pair("a0", "b")
    with pytest.raises(UserError, match=r"line 9001: not well-formed XML: mismatched tag"):
        list(pairs)


def test_memory_does_not_grow_with_the_file(memory: Path) -> None:
    write_units(memory, *({"de": f"ein Text {number}", "en": "a text"} for number in range(20_000)))
    assert memory.stat().st_size > 2_000_000
    pairs = read_corpus(str(memory), source_language="de", target_language="en")
    next(pairs)
    tracemalloc.start()
    try:
        assert sum(1 for _ in pairs) == 19_999
        assert tracemalloc.get_traced_memory()[1] < 1_500_000
    finally:
        tracemalloc.stop()


XLIFF_1 = """\
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="de-DE" target-language="en-US">
<header><skl><internal-file>junk</internal-file></skl></header><body>
<group><trans-unit id="1"><source>Ein <g id="1">Hund</g><x id="2"/>.</source>
<target>A <g id="1">dog</g><x id="2"/>.</target>
<alt-trans><source>falsch</source><target>wrong</target></alt-trans></trans-unit></group>
<trans-unit id="2"><source>nicht übersetzt</source></trans-unit>
<trans-unit id="3"><source>neu</source><target state="new">neu</target></trans-unit>
<trans-unit id="4"><source>a<x ctype="lb" id="1"/>b</source><seg-source>a b</seg-source>
<target state="final"><mrk mtype="seg">c</mrk> <ph id="1">&lt;br/></ph>d</target></trans-unit>
</body></file>
<file source-language="en" target-language="de"><body><trans-unit><source>back</source>
<target>zurück</target></trans-unit>
</body></file>
<file source-language="fr" target-language="en"><body><trans-unit><source>autre</source>
<target>other</target></trans-unit>
</body></file>
</xliff>"""
XLIFF_2 = """\
<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="de" trgLang="en-GB"><file id="f">
<group><unit id="1"><originalData><data id="d">junk</data></originalData>
<segment><source>Ein <pc id="1">Hund</pc><ph id="2"/>.</source>
<target>A <pc id="1">dog</pc><ph id="2"/>.</target></segment>
<ignorable><source> </source></ignorable>
<segment state="final"><source>Zwei.</source><target><mrk id="3">Two.</mrk></target></segment>
<segment state="initial"><source>neu</source><target>neu</target></segment></unit></group></file></xliff>"""


def test_xliff_has_translated_segments_without_codes(tmp_path: Path) -> None:
    first, second = tmp_path / "t.sdlxliff", tmp_path / "t.XLF"
    first.write_text(XLIFF_1, "utf-8")
    second.write_text(XLIFF_2, "utf-8")
    expected = [Pair("Ein Hund.", "A dog."), Pair("a b", "c d"), Pair("zurück", "back")]
    with pytest.warns(UserWarning, match=rf"{first}: \d of \d segments are not translated"):
        assert read(first) == expected
    with pytest.warns(UserWarning, match="not translated"):
        assert read(first, "en", "de") == [Pair(pair.target, pair.source) for pair in expected]
    with pytest.warns(UserWarning, match=rf"{second}: 1 of 3 segments are not translated"):
        assert read(second) == [Pair("Ein Hund.", "A dog."), Pair("Zwei.", "Two.")]


PO = r"""
# a comment
#, fuzzy
msgid ""
msgstr ""
"Project-Id-Version: x\n"
"Language: de_DE\n"

#: main.c:7
#, c-format
msgctxt "menu"
msgid "Save \"%s\"\tnow"
msgstr "\"%s\" jetzt\n"
"speichern"

#, fuzzy, c-format
#| msgid "old"
msgid "fuzzy"
msgstr "unscharf"

msgid "untranslated"
msgstr ""

msgid "%d dog"
msgid_plural "%d dogs"
msgstr[0] "%d Hund"
msgstr[1] "%d Hunde"

msgctxt "other"
msgid "\x41\102"
msgstr "C"
#~ msgid "obsolete"
#~ msgstr "veraltet"
"""


def test_the_plural_form_for_one_is_stated_in_the_header_of_po(tmp_path: Path) -> None:
    forms = "Plural-Forms: nplurals=3; plural=n==0 ? 0 : n==1 ? 1 : 2;"
    messages = (
        'msgid "%d dog"\nmsgid_plural "%d dogs"\nmsgstr[0] "kein Hund"\nmsgstr[1] "%d Hund"\nmsgstr[2] "%d Hunde"\n'
    )
    path = tmp_path / "de.po"
    path.write_text(f'msgid ""\nmsgstr "Language: de\\n{forms}\\n"\n\n{messages}', "utf-8")
    expected = [Pair("%d dogs", "kein Hund"), Pair("%d dog", "%d Hund"), Pair("%d dogs", "%d Hunde")]
    assert read(path, "en", "de") == expected


def test_po_has_translated_messages_in_both_directions(tmp_path: Path) -> None:
    path = tmp_path / "t.po"
    path.write_text(PO, "utf-8")
    expected = [
        Pair('Save "%s"\tnow', '"%s" jetzt speichern'),
        Pair("%d dog", "%d Hund"),
        Pair("%d dogs", "%d Hunde"),
        Pair("AB", "C"),
    ]
    with pytest.warns(UserWarning, match="2 of 5 messages are fuzzy or not translated"):
        assert read(path, "en", "de") == expected
    with pytest.warns(UserWarning, match="not translated"):
        assert read(path) == [Pair(pair.target, pair.source) for pair in expected]
    with pytest.raises(UserError, match="its translations are in de_DE, not in en or fr"):
        read(path, "en", "fr")


@pytest.mark.parametrize(
    ("locale", "languages"),
    [("sr@latin", "sr"), ("sr_RS@latin", "sr-Latn"), ("ca@valencia", "ca"), ("de_DE.UTF-8", "de")],
)
def test_the_language_of_a_po_file_may_be_a_locale(locale: str, languages: str, tmp_path: Path) -> None:
    path = tmp_path / "t.po"
    path.write_text(f'msgid ""\nmsgstr "Language: {locale}\\n"\n\nmsgid "a"\nmsgstr "b"\n')
    assert read(path, "en", languages) == [Pair("a", "b")]
    with pytest.raises(UserError, match=f"--languages en-{languages[:2]}$"):
        find_languages([str(path)])


def test_a_po_file_without_translations_says_so(tmp_path: Path) -> None:
    path = tmp_path / "de.po"
    path.write_text('msgid "a"\nmsgstr ""\n\n#, fuzzy\nmsgid "c"\nmsgstr "d"\n')
    with pytest.raises(UserError, match=r"de\.po: no translations in 2 messages, apart from fuzzy ones"):
        read(path, "en", "de")


@pytest.mark.parametrize("name", ["de.po", "app.de.po", "de/app.po", "de_AT/LC_MESSAGES/app.po", "de.po.gz"])
def test_the_path_of_a_po_file_names_the_language(name: str, tmp_path: Path) -> None:
    path = tmp_path / name.removesuffix(".gz")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('msgid "a"\nmsgstr "b"\n')
    assert read(path, "en", "de") == [Pair("a", "b")]
    assert read(path, "de", "en") == [Pair("b", "a")]


def test_the_charset_of_a_po_file_is_obeyed(tmp_path: Path) -> None:
    path = Path(str(write_po(tmp_path, [Pair("Tür", "café")])))
    path.write_bytes(path.read_text("utf-8").replace("UTF-8", "ISO-8859-1").encode("latin-1"))
    assert read(path) == [Pair("Tür", "café")]


def test_escapes_of_bytes_in_po_are_utf_8(tmp_path: Path) -> None:
    header = 'msgid ""\nmsgstr "Language: en\\n"\n\n'
    (tmp_path / "en.po").write_text(
        header + 'msgid "Ein l\\303\\244ufer\\x21 \\\\303"\nmsgstr "A runner\\41"\n', "utf-8"
    )
    assert read(tmp_path / "en.po") == [Pair("Ein läufer! \\303", "A runner!")]
