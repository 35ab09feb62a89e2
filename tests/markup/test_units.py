"""The same translation units in every format have the same segments in corpora and in documents."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import pytest

from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.pair import Pair
from dragoman.documents.formats import open_document
from dragoman.errors import UserError
from dragoman.text.translation import Translation


class Text(NamedTuple):
    """A segment; its translation is blank if it is missing."""

    source: str
    target: str


TEXTS = [
    Text("Ein Hund läuft.", "A dog is running."),
    Text("Eine Katze schläft.", ""),
    Text("Vögel & <Fische>.", "Birds & <fish>."),
    Text("Das Haus ist alt.", ""),
    Text("Ein Baum.", ""),
    Text("Zwei Bäume.", "Two trees."),
]
FINISHED = [Pair(*text) for text in TEXTS if text.target]
MISSING = [text.source for text in TEXTS if not text.target]

XLIFF_1 = '<xliff><file source-language="de" target-language="en-US"><body>{}</body></file></xliff>'
XLIFF_2 = '<xliff version="2.0" srcLang="de" trgLang="en"><file id="f">{}</file></xliff>'


def target(text: str) -> str:
    return f"<target>{escape(text)}</target>" if text else ""


def write_xliff_1(texts: Sequence[Text]) -> str:
    units = (f"<trans-unit><source>{escape(text.source)}</source>{target(text.target)}</trans-unit>" for text in texts)
    return XLIFF_1.format("\n".join(units))


def write_copies(texts: Sequence[Text]) -> str:
    """Targets that are copies of the source until they are translated."""
    units = (
        f"<trans-unit><source>{escape(text.source)}</source>"
        f'<target state="{"final" if text.target else "new"}">{escape(text.target or text.source)}</target>'
        "</trans-unit>"
        for text in texts
    )
    return XLIFF_1.format("\n".join(units))


def write_divided(
    texts: Sequence[Text], space: str = " ", blank: str = '<mrk mtype="seg" mid="{}"/>', around: str = "{}"
) -> str:
    """One unit of XLIFF 1.2 that is divided into segments."""
    sources = space.join(f'<mrk mtype="seg" mid="{mid}">{escape(each.source)}</mrk>' for mid, each in enumerate(texts))
    targets = space.join(
        f'<mrk mtype="seg" mid="{mid}">{escape(each.target)}</mrk>' if each.target else blank.format(mid)
        for mid, each in enumerate(texts)
    )
    whole = escape(space.join(text.source for text in texts))
    return XLIFF_1.format(
        f"<trans-unit><source>{whole}</source><seg-source>{around.format(sources)}</seg-source>"
        f"<target>{around.format(targets)}</target></trans-unit>"
    )


def write_xliff_2(texts: Sequence[Text], space: str = "<ignorable><source> </source></ignorable>") -> str:
    """One unit with all segments."""
    segments = (f"<segment><source>{escape(each.source)}</source>{target(each.target)}</segment>" for each in texts)
    return XLIFF_2.format(f"<unit>{space.join(segments)}</unit>")


def write_units_2(texts: Sequence[Text]) -> str:
    return XLIFF_2.format(
        "".join(write_xliff_2([text]).partition('id="f">')[2].partition("</file")[0] for text in texts)
    )


def write_tmx(texts: Sequence[Text]) -> str:
    def variant(language: str, text: str) -> str:
        return f'<tuv xml:lang="{language}"><seg>{escape(text)}</seg></tuv>' if text else ""

    units = (f"<tu>{variant('de-DE', text.source)}{variant('en', text.target)}</tu>" for text in texts)
    return f'<tmx version="1.4"><header srclang="de"/><body>{"".join(units)}</body></tmx>'


def write_po(texts: Sequence[Text]) -> str:
    messages = (f"msgid {json.dumps(each.source)}\nmsgstr {json.dumps(each.target)}\n\n" for each in texts)
    return 'msgid ""\nmsgstr "Language: en\\n"\n\n' + "".join(messages).encode().decode("unicode_escape", "ignore")


def write_plurals(texts: Sequence[Text]) -> str:
    """Two texts are the forms of one message."""
    messages = (
        f'msgid "{one.source}"\nmsgid_plural "{other.source}"\nmsgstr[0] "{one.target}"\nmsgstr[1] "{other.target}"\n\n'
        for one, other in zip(texts[::2], texts[1::2], strict=True)
    )
    return 'msgid ""\nmsgstr "Language: en\\n"\n\n' + "".join(messages)


FORMATS: dict[str, tuple[str, Callable[[Sequence[Text]], str]]] = {
    "XLIFF 1.2": (".xlf", write_xliff_1),
    "XLIFF 1.2 with copies": (".xlf", write_copies),
    "XLIFF 1.2, divided": (".sdlxliff", write_divided),
    "XLIFF 1.2, divided in a group": (".mxliff", lambda texts: write_divided(texts, around='<g id="1">{}</g>')),
    "XLIFF 1.2, divided without spaces": (".mqxliff", lambda texts: write_divided(texts, space="")),
    "XLIFF 1.2, divided, without places": (".xlf", lambda texts: write_divided(texts, blank="")),
    "XLIFF 2": (".xliff", write_xliff_2),
    "XLIFF 2 without spaces": (".xliff", lambda texts: write_xliff_2(texts, space="")),
    "XLIFF 2, one segment in each unit": (".xlf", write_units_2),
    "TMX": (".tmx", write_tmx),
    "PO": (".po", write_po),
    "PO with plural forms": (".po", write_plurals),
}


def read(path: Path, source: str = "de", target: str = "en") -> list[Pair]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pairs = read_corpus(str(path), source_language=source, target_language=target)
        return [Pair(pair.source, pair.target.strip()) for pair in pairs]  # there may be spaces between segments


def fill(content: str, suffix: str, languages: tuple[str, str] = ("de", "en")) -> tuple[list[str], str]:
    """The segments of a document, and the document with translations in upper case."""
    document = open_document(content.encode(), f"a{suffix}", languages)
    texts = [segment.text for segment in document.segments]
    return texts, document.assemble([Translation(text.upper()) for text in texts]).decode()


@pytest.mark.parametrize("name", FORMATS)
def test_all_formats_have_the_same_segments(name: str, tmp_path: Path) -> None:
    """What is translated is a pair of the corpus, and all else is translated in a document, and then it is a pair."""
    suffix, write = FORMATS[name]
    path = tmp_path / f"a{suffix}"
    path.write_text(write(TEXTS), "utf-8")
    assert read(path) == FINISHED
    texts, filled = fill(write(TEXTS), suffix)
    assert texts == MISSING
    path.write_text(filled.replace("#, fuzzy\n", ""), "utf-8")
    assert read(path) == [Pair(text.source, text.target or text.source.upper()) for text in TEXTS]
    assert fill(filled, suffix)[0] == []


def visible(content: str) -> str:
    """The text of all targets of a file."""
    return "".join(re.sub("<[^>]*>", "", each) for each in re.findall("<target.*?</target>", content))


@pytest.mark.parametrize("write", [write_divided, write_xliff_2])
@pytest.mark.parametrize("known", [(), (0,), (1,), (2,), (0, 2)])
def test_segments_without_a_space_between_them_get_one(write: Callable[..., str], known: tuple[int, ...]) -> None:
    """Unless the language has none."""
    texts = [
        Text(source, target if number in known else "")
        for number, (source, target) in enumerate([("狗跑。", "A dog."), ("猫睡。", "A cat."), ("鸟。", "A bird.")])
    ]
    content = write(texts, space="").replace('"de"', '"zh"')
    expected = " ".join(text.target or text.source for text in texts)
    assert visible(fill(content, ".xlf", ("zh", "en"))[1]) == expected
    if not known:
        assert visible(fill(re.sub('"en(-US)?"', '"ja"', content), ".xlf", ("zh", "ja"))[1]) == "狗跑。猫睡。鸟。"


def test_text_that_is_not_divided_is_read_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    divided = write_divided(TEXTS[:1] * 2)
    for content, pair in (
        (re.sub("<target>.*</target>", "<target>Two dogs.</target>", divided), "Two dogs."),
        (
            re.sub("<seg-source>.*</seg-source>", "", divided.replace("</mrk> <mrk", "</mrk><mrk")),
            "A dog is running. " * 2,
        ),
    ):
        path.write_text(content, "utf-8")
        assert read(path) == [Pair("Ein Hund läuft. Ein Hund läuft.", pair.strip())]
        assert fill(content, ".xlf")[0] == []


@pytest.mark.parametrize(
    ("conf", "used"),
    [("", True), ("Translated", True), ("ApprovedSignOff", True), ("Draft", False), ("RejectedTranslation", False)],
)
def test_segments_of_sdlxliff_that_are_not_confirmed_are_no_pairs(conf: str, used: bool, tmp_path: Path) -> None:
    definitions = f'<sdl:seg-defs><sdl:seg id="0" conf="{conf}"/><sdl:seg id="1"/></sdl:seg-defs>'
    content = write_divided([TEXTS[0], TEXTS[2]]).replace("</trans-unit>", f"{definitions}</trans-unit>")
    path = tmp_path / "a.sdlxliff"
    path.write_text(content, "utf-8")
    assert read(path) == [Pair(*TEXTS[0])] * used + [Pair(*TEXTS[2])]
    assert fill(content, ".sdlxliff") == ([], content), "what a person wrote stays"
    blank = write_divided([TEXTS[0], TEXTS[1]]).replace("</trans-unit>", f"{definitions}</trans-unit>")
    assert '<sdl:seg id="1" conf="Draft"/>' in fill(blank, ".sdlxliff")[1]


@pytest.mark.parametrize("start", ["<trans-unit", "<unit"])
@pytest.mark.parametrize("outside", [False, True])
def test_units_that_must_not_be_translated_are_neither_pairs_nor_texts(
    start: str, outside: bool, tmp_path: Path
) -> None:
    content = write_xliff_1(TEXTS) if "trans" in start else write_units_2(TEXTS)
    if outside:
        units = content.partition(start)[1] + content.partition(start)[2].rpartition("unit>")[0] + "unit>"
        content = content.replace(units, f'<group translate="no">{units}</group>')
    else:
        content = content.replace(start, f'{start} translate="no"')
    path = tmp_path / "a.xlf"
    path.write_text(content, "utf-8")
    with pytest.raises(UserError, match="no segment"):
        read(path)
    assert fill(content, ".xlf")[0] == []


ILLEGAL = {
    "Die E&#x1E;Mail.": "Die E-Mail.",
    "Die E&#30;Mail.": "Die E-Mail.",
    "Die E\x1eMail.": "Die E-Mail.",
    "Donau&#x001F;dampfer": "Donau\xaddampfer",
    "a&#x0B;b": "a b",
    "a\x01b&#x1;c&#xFFFF;d&#xD800;e": "a b c d e",
    "Ein &#xD83D;&#xDC36; läuft": "Ein 🐶 läuft",
    "a &#x41;&#65; &amp; b": "a AA & b",
}
"""Characters that programs write in XML although it does not allow them, and what they mean."""


@pytest.mark.parametrize("written", ILLEGAL)
@pytest.mark.parametrize("suffix", [".tmx", ".xlf", ".xliff"])
def test_characters_that_xml_does_not_allow(
    suffix: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = {".tmx": write_tmx, ".xlf": write_xliff_1, ".xliff": write_xliff_2}[suffix]
    path = tmp_path / f"a{suffix}"
    path.write_text(write([Text("HIER", "dort")]).replace("HIER", written), "utf-8")
    for size in (1, 3, 65536):
        monkeypatch.setattr("dragoman.corpus.xml_encoding._BLOCK", size)
        assert read(path) == [Pair(ILLEGAL[written], "dort")]
    if "41" not in written:
        with pytest.warns(UserWarning, match=r"characters? that XML does not allow \((&#|U\+)"):
            list(read_corpus(str(path), source_language="de", target_language="en"))
    content = write([Text("HIER", ""), TEXTS[0]]).replace("HIER", written)
    document = open_document(content.encode(), path.name, ("de", "en"))
    assert [segment.text for segment in document.segments] == [ILLEGAL[written]]
    filled = document.assemble([Translation("Neu")]).decode()
    assert f">{written}<" in filled, "the source stays"


def test_ampersands_are_refused_with_a_command_that_corrects_them(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(write_tmx([Text("HIER", "dort")]).replace("HIER", "Müller & Söhne"), "utf-8")
    with pytest.raises(UserError, match=r"a\.tmx line 1: not well-formed XML: .*token\) at character \d+; .*perl -pe"):
        read(path)


VARIANTS = [
    ("zh", "zh-Hans", "zh-Hant"),
    ("zh", "zh-CN", "zh-TW"),
    ("zh", "zh_HK", "zh"),
    ("sr", "sr-Cyrl", "sr-Latn"),
    ("sr", "sr-Latn-RS", "sr"),
    ("pt", "pt-BR", "pt-PT"),
    ("PT", "pt-PT", "pt-BR"),
    ("en", "en_GB", "en-US"),
]
"""A language, and two variants of it, of which the first is more frequent."""


@pytest.mark.parametrize(("language", "usual", "other"), VARIANTS)
def test_variants_of_a_language_are_not_mixed(language: str, usual: str, other: str, tmp_path: Path) -> None:
    def unit(*tags: str) -> str:
        variants = (f'<tuv xml:lang="{tag}"><seg>{tag}</seg></tuv>' for tag in ("de", *tags))
        return f"<tu>{''.join(variants)}</tu>"

    units = [unit(other, usual), unit(usual), unit(other), unit(usual, other), unit(usual)]
    memory = f'<tmx version="1.4"><header/><body>{"".join(units)}</body></tmx>'
    path = tmp_path / "a.tmx"
    path.write_text(memory)
    exact = other == language  # which is chosen, although it is less frequent
    chosen = [other] * 3 if exact else [usual] * 4
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pairs = list(read_corpus(str(path), source_language="de", target_language=language))
    assert [pair.target for pair in pairs] == chosen
    rest, command = (f"{usual} (4 texts)", usual) if exact else (f"{other} (3 texts)", other)
    assert f"{language} stands for {chosen[0]}" in str(caught[-1].message)
    assert f"; {rest} is not used; to choose another one, write --languages de:{command}" in str(caught[-1].message)
    assert {pair.target for pair in read(path, "de", other)} == {other}

    document = open_document(memory.encode(), "a.tmx", ("de", language))
    assert len(document.segments) == len(units) - len(chosen)
    files = "".join(
        f'<file source-language="de" target-language="{tag}"><body><trans-unit><source>de</source>'
        f"<target>{tag}</target></trans-unit></body></file>"
        for tag in (other, usual, usual)
    )
    (tmp_path / "a.xlf").write_text(f'<xliff version="1.2">{files}</xliff>')
    assert {pair.target for pair in read(tmp_path / "a.xlf", "de", language)} == {chosen[0]}


@pytest.mark.parametrize(
    ("base", "variant"), [("de", "de-AT"), ("zh", "zh-CN"), ("zh-Hans", "zh-CN"), ("en_US", "EN-us")]
)
def test_a_language_and_its_variant_go_together(base: str, variant: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    body = "".join(
        f"<tu><tuv lang='fr'><seg>a</seg></tuv><tuv lang='{tag}'><seg>b</seg></tuv></tu>" for tag in (base, variant)
    )
    path.write_text(f"<tmx><body>{body}</body></tmx>")
    assert len(list(read_corpus(str(path), source_language="fr", target_language=base[:2]))) == 2
