"""The languages of corpora are found in file names and in the files."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from dragoman.corpus.corpus import find_languages, languages_of_names
from dragoman.corpus.synthetic.captions import captions
from dragoman.errors import UserError
from dragoman.settings import CorpusFile, FilePair


@pytest.mark.parametrize(
    ("names", "languages"),
    [
        (("train.de", "train.en"), ("de", "en")),
        (("my/train.de.gz", "my/train.en.gz"), ("de", "en")),
        (("train.de.txt", "train.en.TXT"), ("de", "en")),
        (("News_de.txt", "News_en.txt"), ("de", "en")),
        (("de.txt", "hi.txt"), ("de", "hi")),
        (("German.txt", "English.txt"), ("de", "en")),
        (("europarl.de-en.de", "europarl.de-en.en"), ("de", "en")),
        (("a/train.pt-BR", "a/train.en"), ("pt-BR", "en")),
        (("news_hsb.txt", "news_de.txt"), ("hsb", "de")),
        (("de_new.txt", "de_old.txt"), None),
        (("one.txt", "two.txt"), None),
        (("old.de", "new.de"), None),
        (("de.v1.txt", "en.v2.txt"), None),
        (("source", "target"), None),
        (("train.src", "train.tgt"), None),
        (("text.old", "text.new"), None),
        (("de.txt", "en-final.txt"), None),
    ],
)
def test_names_of_two_files(names: tuple[str, str], languages: tuple[str, str] | None) -> None:
    assert languages_of_names(*names) == languages
    if languages is None:
        with pytest.raises(UserError, match="the languages are not known; add --languages"):
            find_languages([FilePair(source=names[0], target=names[1])])


def memory(*units: dict[str, str], source: str = "*all*") -> str:
    variants = (
        "".join(f'<tuv xml:lang="{language}"><seg>{text}</seg></tuv>' for language, text in unit.items())
        for unit in units
    )
    body = "".join(f"<tu>{unit}</tu>" for unit in variants)
    return f'<tmx version="1.4"><header srclang="{source}"/><body>{body}</body></tmx>'


FILES = {
    "a.tmx": memory({"de-DE": "Hund", "en-US": "dog"}),
    "backward.tmx": memory({"de": "Hund", "en": "dog"}, source="EN"),
    "regions.tmx": memory({"pt-BR": "cachorro", "pt-PT": "cão"}),
    "b.jsonl": '{"id": 7, "translation": {"de": "Hund", "en": "dog"}}\n',
    "c.jsonl": '{"de": "Hund", "en": "dog", "score": 0.5}\n',
    "d.jsonl": '{"id": "7", "German": "Hund", "english": "dog"}\n',
    "1.xlf": '<xliff version="1.2"><file source-language="de" target-language="en"><body><trans-unit id="1">'
    "<source>Hund</source><target>dog</target></trans-unit></body></file></xliff>",
    "2.xliff": '<xliff version="2.0" srcLang="de-AT" trgLang="en"><file id="f"><unit id="1"><segment><source>Hund'
    "</source><target>dog</target></segment></unit></file></xliff>",
}
EXPECTED = {"backward.tmx": ("en", "de"), "regions.tmx": ("pt-BR", "pt-PT")}


@pytest.mark.parametrize("name", FILES)
def test_files_that_state_their_languages(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(FILES[name], "utf-8")
    assert find_languages([str(path)]) == EXPECTED.get(name, ("de", "en"))


def test_archives(tmp_path: Path) -> None:
    for name, files in {
        "moses.zip": {"README": "", "LICENSE": "", "x.de-en.de": "Hund\n", "x.de-en.en": "dog\n", "x.de-en.xml": ""},
        "mac.zip": {"x.de": "Hund\n", "x.en": "dog\n", "__MACOSX/._x.de": "", "__MACOSX/._x.en": "", "._x.fr": ""},
        "memory.zip": {"README.txt": "", "x.tmx": FILES["a.tmx"]},
    }.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for member, content in files.items():
                archive.writestr(member, content)
        assert find_languages([str(tmp_path / name)]) == ("de", "en")


def test_other_numbers_of_languages_are_listed(tmp_path: Path) -> None:
    three, one = tmp_path / "three.tmx", tmp_path / "one.po"
    three.write_text(memory({"de": "Hund", "en": "dog", "fr": "chien"}), "utf-8")
    one.write_text('msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "dog"\nmsgstr "Hund"\n', "utf-8")
    with pytest.raises(UserError, match=r"several languages \(de, en, fr\); choose two, such as --languages de-en"):
        find_languages([str(three)])
    regions = tmp_path / "regions.tmx"
    regions.write_text(memory({"de-DE": "Hund", "en-US": "dog", "DE-AT": "Hund"}), "utf-8")
    with pytest.raises(UserError, match=r"\(de-DE, en, DE-AT\); choose two, such as --languages de-en;"):
        find_languages([str(regions)])
    regions.write_text(memory({"pt-BR": "trem", "pt-PT": "comboio", "pt-AO": "comboio"}), "utf-8")
    with pytest.raises(UserError, match=r"choose two, such as --languages pt-BR:pt-PT;"):
        find_languages([str(regions)])
    with pytest.raises(UserError, match="only one language is stated, de; add --languages, such as --languages en-de"):
        find_languages([str(one)])
    one.write_text('msgid ""\nmsgstr "Language: en\\n"\n\nmsgid "Hund"\nmsgstr "dog"\n', "utf-8")
    with pytest.raises(UserError, match="only one language is stated, en; add --languages, such as --languages de-en"):
        find_languages([str(one)])
    for missing in ("missing.tmx", "missing.tsv", "missing.xlsx"):
        with pytest.raises(UserError, match="no such file"):
            find_languages([str(tmp_path / missing)])


@pytest.mark.parametrize(
    ("name", "header", "languages"),
    [
        ("t.csv", "de,en", ("de", "en")),
        ("t.csv", "English;Deutsch", ("en", "de")),
        ("t.csv", "de_DE;en-US", ("de", "en")),
        ("t.tsv", "id\tEnglish\tcomment\tHindi", ("en", "hi")),
        ("t.tsv", "source\ttarget", None),
        ("t.csv", "id,no", None),
        ("t.tsv", "de\tnew", None),
        ("t.tsv", "war\twas", None),
        ("t.tsv", "Tag\tday", None),
        ("t.tsv", "one\ttwo", None),
        ("t.csv", "Ein Hund läuft.,A dog runs.", None),
    ],
)
def test_header_rows_name_languages(name: str, header: str, languages: tuple[str, str] | None, tmp_path: Path) -> None:
    path = tmp_path / name
    separator = max(",;\t", key=header.count)
    path.write_text(f"{header}\n" + separator.join("x" * (header.count(separator) + 1)) + "\n", encoding="utf-8")
    rows = [line.split(separator) for line in path.read_text("utf-8").splitlines()]
    workbook = Workbook()
    sheet: Any = workbook.active
    for row in rows:
        sheet.append(row)
    workbook.save(tmp_path / "t.xlsx")
    for file in (path, tmp_path / "t.xlsx"):
        if languages:
            assert find_languages([CorpusFile(file=str(file))]) == languages
        for declared in (None, False):
            if declared is False or not languages:
                with pytest.raises(UserError, match="the languages are not known"):
                    find_languages([CorpusFile(file=str(file), header=declared)])


@pytest.mark.parametrize(
    ("columns", "languages"),
    [(("Deutsch", "English"), ("de", "en")), ((3, 2), ("de", "en")), (("hi", 2), ("hi", "en")), (None, None)],
)
def test_the_chosen_columns_name_the_languages(
    columns: tuple[int | str, int | str] | None, languages: tuple[str, str] | None, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,English,Deutsch,hi\n1,a dog,ein Hund,x\n", encoding="utf-8")
    file = CorpusFile(file=str(path), columns=columns)
    if languages:
        assert find_languages([file]) == languages
    else:
        with pytest.raises(UserError, match=r"several languages \(en, de, hi\)"):
            find_languages([file])


@pytest.mark.parametrize("form", ["two files", "table"])
def test_languages_that_texts_look_like_are_proposed(form: str, tmp_path: Path) -> None:
    """They are never used without being confirmed."""
    german, english = zip(*captions("train")[:60], strict=True)

    def write(name: str, lines: Sequence[str]) -> str:
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(tmp_path / name)

    def corpus(sources: Sequence[str], targets: Sequence[str]) -> FilePair | str:
        if form == "two files":
            return FilePair(source=write("one.txt", sources), target=write("two.txt", targets))
        return write("one.tsv", list(map("\t".join, zip(sources, targets, strict=True))))

    for sources, targets, proposed in (
        (german, english, "such as --languages de-en, which the text looks like"),
        (english, german, "such as --languages en-de, which the text looks like"),
        (german[:3], english[:3], "such as --languages de-en$"),
        (english, english[::-1], "such as --languages de-en$"),
    ):
        with pytest.raises(UserError, match=proposed):
            find_languages([corpus(sources, targets)])


def test_keys_of_later_records_and_words_of_headers_are_languages_only_if_they_certainly_are(tmp_path: Path) -> None:
    records = [{"de": "a", "en": "b"}] * 20
    for number, other in enumerate(({"url": "x"}, {"id": "1"}, {"ref": "y"}, {"cat": "z"}, {"ter": "0.1"})):
        path = tmp_path / f"{number}.jsonl"
        path.write_text("".join(f"{json.dumps(each)}\n" for each in [*records, records[0] | other]), "utf-8")
        assert find_languages([str(path)]) == ("de", "en"), other
    for words in ("German,English,cat", "de,en,ter", "de,en,min", "de,en,pro"):
        path = tmp_path / "words.csv"
        path.write_text(f"{words}\nEin Hund.,A dog.,x\n", "utf-8")
        assert find_languages([CorpusFile(file=str(path), header=True)]) == ("de", "en"), words
    path.write_text("de,hsb\nHund,pos\n", "utf-8")
    assert find_languages([CorpusFile(file=str(path), header=True)]) == ("de", "hsb")
