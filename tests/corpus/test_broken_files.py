"""Broken and misleading files of every format are refused with place and remedy, and within bounds."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from contextlib import suppress
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any
from xml.sax.saxutils import escape

import pytest
from corpus_files import PAIRS, WRITERS

from dragoman.corpus import archive as archives
from dragoman.corpus import zipped
from dragoman.corpus.corpus import aligned_files, read_corpus
from dragoman.corpus.delimited import QUOTED_ROWS
from dragoman.corpus.pair import Pair
from dragoman.corpus.references import UndeclaredError
from dragoman.errors import UserError
from dragoman.markup import xml
from dragoman.settings import CorpusFile, CorpusReference, FilePair


def read(reference: CorpusReference) -> list[Pair]:
    return list(read_corpus(reference, source_language="de", target_language="en"))


def tmx(body: str, start: str = "<?xml version='1.0'?>\n", encoding: str = "utf-8") -> bytes:
    return f"{start}<tmx version='1.4'>\n<header/>\n<body>\n{body}\n</body>\n</tmx>\n".encode(encoding)


def unit(source: str = "ein Hund", target: str = "a dog", languages: tuple[str, str] = ("de", "en")) -> str:
    variants = zip(languages, (source, target), strict=True)
    return "<tu>" + "".join(f"<tuv xml:lang='{tag}'><seg>{text}</seg></tuv>" for tag, text in variants) + "</tu>"


def xliff(unit: str, file: str = "source-language='de' target-language='en'") -> bytes:
    return f"<xliff version='1.2'>\n<file {file}><body>\n{unit}\n</body></file></xliff>".encode()


def archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in files.items():
            written.writestr(name, content)
    return buffer.getvalue()


def zip_bomb(content: str) -> bytes:
    """An archive that declares a terabyte."""
    data = bytearray(archive({content: b"x"}))
    position = data.index(b"PK\x01\x02")
    data[position + 24 : position + 28] = struct.pack("<I", 0xFFFFFFF0)
    return bytes(data)


ENTITIES = "<!DOCTYPE tmx [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;&a;'>]>\n"
EXTERNAL = "<!DOCTYPE tmx [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>\n"
UMLAUT = "Übermütig wäre das"
PO_HEADER = 'msgid ""\nmsgstr "Language: en\\nContent-Type: text/plain; charset=UTF-8\\n"\n\n'

BROKEN: dict[str, tuple[str, bytes, list[str]]] = {
    "tmx cut off": (
        "t.tmx",
        tmx(unit())[:-20],
        ["line 5: not well-formed XML: unclosed token", "export or download it again"],
    ),
    "tmx cut in a unit": ("t.tmx", tmx(unit())[:-50], ["line 5: not well-formed XML: ", "export or download"]),
    "tmx gz cut off": ("t.tmx.gz", gzip.compress(tmx(unit() * 999))[:-20], ["t.tmx.gz line ", "export or download"]),
    "tmx not gz": ("t.tmx.gz", tmx(unit()), ["cannot be read to the end (Not a gzipped file"]),
    "tmx with wrong tags": ("t.tmx", tmx("<tu></tuv>"), ["line 5: not well-formed XML: mismatched tag"]),
    "tmx without a language": ("t.tmx", tmx(unit(languages=("de", "fr"))), ["no unit in de and en", "fr (1 unit)"]),
    "tmx without units": ("t.tmx", tmx(""), ["no unit with text in two languages"]),
    "tmx with blank targets": ("t.tmx", tmx(unit(target=" ")), ["target side of", "only empty lines (1)"]),
    "tmx with entities": ("t.tmx", tmx(unit("&b;"), ENTITIES), ["line 1: the entity &a; is not allowed"]),
    "tmx with a file": ("t.tmx", tmx(unit("&a;"), EXTERNAL), ["line 1: the entity &a; is not allowed"]),
    "tmx with undefined entities": (
        "t.tmx",
        tmx(unit("a&nbsp;b"), "<!DOCTYPE tmx SYSTEM 'tmx14.dtd'>\n"),
        ["line 5: the entity &nbsp; is not allowed; write the character itself"],
    ),
    "tmx nested deeply": ("t.tmx", tmx("<tu>" + "<hi>" * 200_000), ["line 5: elements are nested more than 100 deep"]),
    "tmx nested outside units": ("t.tmx", tmx("<x>" * 200_000), ["line 5: elements are nested more than 100 deep"]),
    "tmx with a huge unit": ("t.tmx", tmx(unit("x" * 9_000_000)), ["line 5: an element of more than 4,000,000 bytes"]),
    "tmx with a huge comment": ("t.tmx", tmx(f"<!--{'x' * 9_000_000}-->"), ["line 5: an element of more than"]),
    "tmx with a long text": ("t.tmx", tmx(unit("x" * 100_001)), ["line 5: longer than 100,000 characters"]),
    "tmx in Windows-1252": (
        "t.tmx",
        tmx("\n" + unit(UMLAUT), encoding="cp1252"),
        ["line 6: not valid utf-8", "Windows-1252", 'encoding = "cp1252"', "--encoding cp1252"],
    ),
    "tmx in another encoding": (
        "t.tmx",
        tmx(unit("привет"), "<?xml version='1.0' encoding='ascii'?>", "cp1251"),
        ["line 4: not valid ascii", "declares a wrong encoding"],
    ),
    "tmx in an unknown encoding": ("t.tmx", tmx("", "<?xml version='1.0' encoding='klingon'?>"), ["unknown encoding"]),
    "empty tmx": ("t.tmx", b"", ["t.tmx: empty file; export or download it again"]),
    "program as tmx": ("t.tmx", b"MZ\x90\x00\x03\xff\xff\xb8" * 99, ["line 1: not ", "a Windows program, not text"]),
    "text as tmx": ("t.tmx", b"Hello.\n", ["line 1: not XML"]),
    "xliff cut off": ("t.xlf", xliff("<trans-unit/>")[:-9], ["line 4: not well-formed XML", "export or download"]),
    "xliff without a translation": ("t.xlf", xliff("<trans-unit><source>a</source></trans-unit>"), ["no segment with"]),
    "xliff in other languages": (
        "t.xlf",
        xliff("<trans-unit><source>a</source><target>b</target></trans-unit>", "source-language='fr'"),
        ["no segment in de and en, only in fr (1 segment)"],
    ),
    "xliff without languages": (
        "t.xliff",
        b"<xliff>\n<unit><segment><source>a</source><target>b</target></segment></unit></xliff>",
        ["line 2: the source language is missing"],
    ),
    "xliff with entities": ("t.xliff", ENTITIES.encode() + xliff(""), ["line 1: the entity &a; is not allowed"]),
    "po without a language": (
        "t.po",
        b'msgid "a"\nmsgstr "b"\n',
        ["is not known; if it is en, add 'Language: en", "en.po"],
    ),
    "po in another language": (
        "t.po",
        b'msgid ""\nmsgstr "Language: fr\\n"\nmsgid "a"\nmsgstr "b"',
        ["are in fr, not"],
    ),
    "po cut off": (
        "t.po",
        f'{PO_HEADER}msgid "a"\nmsgstr "b'.encode(),
        ["line 5: not a line of a PO file: 'msgstr \"b"],
    ),
    "po cut between lines": ("t.po", f'{PO_HEADER}msgid "a"\n'.encode(), ["line 4: a message without", "cut off"]),
    "po with a doubled line": ("t.po", b'msgid "a"\nmsgstr "b"\nmsgstr "c"', ["line 3: a second msgstr"]),
    "po with a stray text": ("t.po", b'"a"\n', ["line 1: not a line of a PO file"]),
    "po in Windows-1252": (
        "t.po",
        f'{PO_HEADER}msgid "{UMLAUT}"\nmsgstr "b"\n'.encode("cp1252"),
        ["line 4: not valid UTF-8", "Windows-1252", 'encoding = "cp1252"'],
    ),
    "po with a wrong charset": (
        "t.po",
        f'{PO_HEADER}msgid "{UMLAUT}"\nmsgstr "b"\n'.replace("UTF-8", "ISO-8859-1").encode(),
        ["but the file is UTF-8; set it to 'utf-8'"],
    ),
    "program as po": ("t.po", b"\x7fELF\x02\x01\x01\x00\x00", ["line 1: control character", "a program, not text"]),
    "csv with a header": (
        "t.csv",
        b"de,en\nein Hund,a dog\n",
        ["line 1: 'de' and 'en' look like a header row", "header = true", "--header", "header = false"],
    ),
    "csv with a Chinese header": ("t.csv", "德语,英语\na,b\n".encode(), ["look like a header row"]),
    "csv with a header in words": ("t.csv", b"Deutsch;Text (English)\na;b\n", ["look like a header row"]),
    "csv with many columns": (
        "t.csv",
        b"key,de,en\n1,ein Hund,a dog\n",
        [
            "expected 2 columns, found 3; the first row looks like a header row",
            'columns = ["de", "en"]',
            "--columns de,en",
        ],
    ),
    "csv with more columns": (
        "t.csv",
        b"1,a,b\n2,c,d\n",
        ["line 1: expected 2 columns, found 3; choose", "--columns 2,3"],
    ),
    "csv with one column": ("t.csv", b"a\nb\n", ["line 1: expected 2 columns, found 1"]),
    "csv with ragged rows": ("t.csv", b"a;b\n" * 99 + b"c;d;e\n", ["line 100: expected 2 columns, found 3"]),
    "csv with two delimiters": (
        "t.csv",
        b"a;b,c\n" * 9,
        ["line 1: the columns may be separated by commas or semicolons", 'delimiter = ","', "--delimiter ,"],
    ),
    "csv with an open quote": (
        "t.csv",
        b'a,b\n"c,d\n' + b"e,f\n" * 60_000,
        ["line 2: a quotation mark is opened and not closed", "quotes = false"],
    ),
    "csv with a long quoted text": (
        "t.csv",
        b'a,b\n"' + b"c\n" * 60_000 + b'",d\n',
        ["line 2: longer than 100,000 characters"],
    ),
    "csv with text after a quote": ("t.csv", b'a,b\n"c"d,e\n', ["line 2: ',' expected after '\"'"]),
    "csv in UTF-16": (
        "t.csv",
        "a,b\n".encode("utf-16"),
        ["line 1: not valid UTF-8", "byte order mark of UTF-16", 'encoding = "utf-16"', "--encoding utf-16"],
    ),
    "csv in UTF-16 without a mark": ("t.csv", b"a\0,\0b\0\n\0", ["line 1: control", 'encoding = "utf-16-le"']),
    "few letters in Windows-1250": (
        "t.tsv",
        ("Muž v modré košili.\tA man.\n" * 3 + "Dvě dívky běží přes řeku.\tTwo girls.\n").encode("cp1250"),
        ["looks like Windows-1252 (cp1252, or cp1250 if it is in a language of Central Europe)"],
    ),
    "csv in Windows-1252": (
        "t.csv",
        f"a,b\n{UMLAUT},b\n".encode("cp1252"),
        ["line 2: not valid UTF-8 (byte 0xdc at position 1)", "looks like Windows-1252", "--encoding cp1252"],
    ),
    "csv in an unknown encoding": ("t.csv", "привет,b\n".encode("cp1251"), ["line 1: not valid UTF-8"]),
    "csv in short words": (
        "t.csv",
        "не на,b\n".encode("cp1251"),
        ["line 1: not valid UTF-8 (byte 0xed at position 1)"],
    ),
    "csv with unequal delimiters": ("t.csv", b"a, b, c;d\n" * 9, ["semicolons or commas", 'delimiter = ";"']),
    "csv with two delimiters, one a tab": ("t.csv", b"a,b\tc\n" * 9, ["commas or tabs", 'delimiter = ","']),
    "workbook as csv": ("t.csv", archive({"a": b"b"}), ["line 1: ", "a ZIP archive, as are XLSX"]),
    "empty csv": ("t.csv", b"", ["t.csv: contains no sentence pairs"]),
    "tsv of Excel": (
        "t.tsv",
        b'a\tb\n"He said ""no"" twice"\tb\n',
        ["line 2: the quotation marks in", "look like those of Excel", "quotes = true", "--quotes", "(--no-quotes)"],
    ),
    "tsv with quotes everywhere": (
        "t.tsv",
        b'"Ein Hund."\t"A dog."\n' * QUOTED_ROWS,
        [f"line {QUOTED_ROWS}: the quotation marks in", "look like those of Excel", "--quotes", "(--no-quotes)"],
    ),
    "tsv with quotes in all rows but one": (
        "t.tsv",
        b"Ein Hund.\tA dog.\n" + b'"Ein Hund."\t"A dog."\n' * QUOTED_ROWS,
        [f"line {QUOTED_ROWS + 1}: the quotation marks in", "look like those of Excel"],
    ),
    "tsv with line breaks": ("t.tsv", b'a\tb\n"c\nd"\te\n', ["line 2: the quotation marks in", "quotes = true"]),
    "tsv with a header": ("t.tsv", b"source\ttarget\na\tb\n", ["line 1: 'source' and 'target' look like a header"]),
    "aligned UTF-16": ("t.tsv", "\ufeffa\tb".encode("utf-16-be"), ["line 1: not valid UTF-8", 'encoding = "utf-16"']),
    "jsonl in Windows-1252": ("t.jsonl", f'{{"de": "{UMLAUT}", "en": "b"}}'.encode("cp1252"), ['encoding = "cp1252"']),
    "text as xlsx": ("t.xlsx", b"a,b\n", ["t.xlsx: not a valid ZIP archive", "export or download it again"]),
    "archive as xlsx": ("t.xlsx", archive({"a": b"b"}), ["not a valid Excel workbook", "save it again, or as .csv"]),
    "xlsx bomb": ("t.xlsx", zip_bomb("xl/workbook.xml"), ["would become 4,294,967,280 bytes", "extract it yourself"]),
    "zip bomb": ("t.zip", zip_bomb("t.de"), ["would become 4,294,967,280 bytes", "extract it yourself"]),
    "zip cut off": ("t.zip", archive({"t.de": b"a\n", "t.en": b"b\n"})[:-30], ["not a valid ZIP archive", "download"]),
    "zip with a path": ("t.zip", archive({"../t.de": b"a\n", "../t.en": b"b\n"}), ["unsafe file name '../t.de'"]),
    "zip with a root": ("t.zip", archive({"/t.de": b"a\n", "/t.en": b"b\n"}), ["unsafe file name"]),
    "zip without a language": ("t.zip", archive({"t.de": b"a\n"}), ["in .de and .en", "contains t.de"]),
    "zip with two corpora": (
        "t.zip",
        archive(dict.fromkeys(["a.de", "a.en", "b.de", "b.en"], b"a\n")),
        ["contains several corpora (a.de, b.de)"],
    ),
    "zip with different lengths": (
        "t.zip",
        archive({"t.de": b"a\n", "t.en": b"a\nb\n"}),
        ["files of different length: ", "t.zip:t.de ends before line 2"],
    ),
    "zip with invalid text": ("t.zip", archive({"t.de": b"\xff\n", "t.en": b"a\n"}), ["t.zip:t.de line 1: not valid"]),
    "zip in a zip": ("t.zip", archive({"t.zip": archive({"t.de": b"", "t.en": b""})}), ["contains t.zip"]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused_with_place_and_remedy(name: str, tmp_path: Path) -> None:
    file_name, content, parts = BROKEN[name]
    path = tmp_path / file_name
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        read(str(path))
    assert str(path) in str(error.value)
    for part in parts:
        assert part in str(error.value)


WRONG_SETTINGS: dict[str, tuple[str, bytes, dict[str, Any], str]] = {
    "UTF-8 as Windows-1252": ("t.tsv", "ü\tb\n".encode(), {"encoding": "cp1252"}, "but the file is UTF-8"),
    "UTF-8 as UTF-16": ("t.tsv", b"a\tb\n", {"encoding": "utf-16"}, "encoding = 'utf-16', but the file is not"),
    "UTF-16 as Windows-1252": ("t.tsv", "a\tb".encode("utf-16"), {"encoding": "cp1252"}, "byte order mark of UTF-16"),
    "other byte order": (
        "t.tsv",
        "\ufeffa\tb".encode("utf-16-be"),
        {"encoding": "utf-16-le"},
        "byte order mark of UTF-16",
    ),
    "unknown encoding": ("t.tsv", b"a\tb\n", {"encoding": "klingon"}, "unknown encoding 'klingon'"),
    "binary codec": ("t.tsv", b"a\tb\n", {"encoding": "hex"}, "unknown encoding 'hex'"),
    "wrong encoding": ("t.tsv", b"a\tb\n\xff\tb\n", {"encoding": "shift_jis"}, "line 2: not valid shift_jis"),
    "no byte order mark": ("t.tsv", "a\tb\n".encode("utf-16-be"), {"encoding": "utf-16"}, "declare 'utf-16-le' or"),
    "quotes but for numbers": (
        "t.tsv",
        b'"Ein Hund."\t"A dog."\t1.0\n' * QUOTED_ROWS,
        {"columns": (1, 2)},
        "look like those of Excel",
    ),
    "missing name": ("t.csv", b"a,b\n1,2\n", {"columns": ("a", "c")}, "no column named 'c', only 'a', 'b'"),
    "doubled name": ("t.csv", b"a,a\n1,2\n", {"columns": ("a", "a")}, "several columns are named 'a'"),
    "missing column": ("t.csv", b"a,b\n1,2\n", {"columns": (1, 3)}, "there is no column 3; this row has 2 columns"),
    "missing column with a header": ("t.csv", b"a,b\n1,2\n", {"columns": (3, 1), "header": True}, "no column 3"),
    "names without a header": ("t.csv", b"a,b\n", {"columns": ("a", "b"), "header": False}, "needs a header row"),
    "unknown header": ("t.csv", b"x,y,z\n1,2,3\n", {"header": True}, "no columns named 'de' and 'en', only 'x', 'y'"),
    "wrong delimiter": ("t.csv", b"a,b\n", {"delimiter": ";"}, "expected 2 columns, found 1"),
    "columns of a TMX file": ("t.tmx", tmx(""), {"columns": (1, 2)}, "columns = [1, 2] has no meaning"),
    "encoding of a workbook": ("t.xlsx", b"", {"encoding": "cp1252"}, 'encoding = "cp1252" has no meaning'),
    "a directory": ("", b"", {}, "expected one of: a path with {lang}"),
}


@pytest.mark.parametrize("name", WRONG_SETTINGS)
def test_wrong_settings_are_refused(name: str, tmp_path: Path) -> None:
    file_name, content, settings, message = WRONG_SETTINGS[name]
    path = tmp_path / file_name
    if file_name:
        path.write_bytes(content)
    with pytest.raises(UserError) as error:
        read(CorpusFile(file=str(path), **settings))
    assert message in str(error.value)


def test_remedies_are_complete(tmp_path: Path) -> None:
    """The remedy keeps the settings that are given, and reading with it succeeds."""
    path = tmp_path / "t.csv"
    path.write_bytes(f"1;de;en\n1;{UMLAUT};b\n".encode("cp1252"))
    given = CorpusFile(file=str(path), columns=("de", "en"))
    with pytest.raises(UserError) as error:
        read(given)
    assert f'{{file = "{path}", encoding = "cp1252", columns = ["de", "en"]}}' in str(error.value)
    assert "converted.tsv --languages de-en --encoding cp1252 --columns de,en" in str(error.value)
    assert read(given.model_copy(update={"encoding": "cp1252"})) == [Pair(UMLAUT, "b")]


def test_two_files_in_another_encoding(tmp_path: Path) -> None:
    files = FilePair(source=f"{tmp_path}/t.de", target=f"{tmp_path}/t.en")
    for file in (files.source, files.target):
        Path(file).write_bytes(f"{UMLAUT}\n".encode("cp1252"))
    with pytest.raises(UserError, match=r"t\.de line 1: .*looks like Windows-1252") as error:
        read(files)
    assert 't.en", encoding = "cp1252"}' in str(error.value)
    assert "t.en 'converted.{lang}' --languages de-en --encoding cp1252" in str(error.value)
    assert read(files.model_copy(update={"encoding": "cp1252"})) == [Pair(UMLAUT, UMLAUT)]
    pattern = CorpusFile(file=f"{tmp_path}/t.{{lang}}", encoding="cp1252")
    assert read(pattern) == [Pair(UMLAUT, UMLAUT)]
    assert aligned_files(pattern, source_language="de", target_language="en") is None, "others would read them as UTF-8"


@pytest.mark.parametrize("encoding", ["cp1250", "iso8859-2", "cp852"])
@pytest.mark.parametrize("name", ["t.{lang}", "t.{lang}.gz", "t.tmx"])
def test_the_named_encoding_gives_the_same_text(encoding: str, name: str, tmp_path: Path, data_directory: Path) -> None:
    files = f"{data_directory}/multi30k/val.{{lang}}.gz"
    pairs = list(islice(read_corpus(files, source_language="cs", target_language="en"), 300))
    path = str(tmp_path / name)
    if name == "t.tmx":
        units = "".join(unit(escape(each.source), escape(each.target), ("cs", "en")) for each in pairs)
        Path(path).write_bytes(tmx(units, encoding=encoding))
    else:
        for number, language in enumerate(("cs", "en")):
            content = "".join(f"{pair[number]}\n" for pair in pairs).encode(encoding)
            Path(path.format(lang=language)).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(UndeclaredError, match="looks like ") as error:
        list(read_corpus(path, source_language="cs", target_language="en"))
    declared = CorpusFile(file=path, encoding=error.value.settings["encoding"])
    assert list(read_corpus(declared, source_language="cs", target_language="en")) == pairs


@pytest.mark.parametrize("name", ["t.tsv", "t.tsv.gz"])
@pytest.mark.parametrize(("before", "between", "after"), [(9, 0, 9), (9, 30_000, 0), (0, 0, 9)])
def test_damaged_utf_8_is_not_taken_for_another_encoding(
    before: int, between: int, after: int, name: str, tmp_path: Path
) -> None:
    good, plain, damaged = f"{UMLAUT}\tb\n".encode(), b"Hund\tb\n", b"Gr\xfcn\tb\n"
    content, path = good * before + plain * between + damaged + good * after, tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(UserError, match=f"line {before + between + 1}: not valid UTF-8") as error:
        read(str(path))
    assert "looks like" not in str(error.value)


def test_the_end_of_old_files_does_not_hide_their_encoding(tmp_path: Path) -> None:
    for name, end in (("dos.tsv", b"\x1a"), ("undefined.tsv", b"\x81\n"), ("control.tsv", b"\x1b\n")):
        (tmp_path / name).write_bytes(f"{UMLAUT}\tb\r\n".encode("cp1252") * 50 + end)
        with pytest.raises(UserError, match=r"line 1: .*looks like Windows-1252"):
            read(str(tmp_path / name))
    content = gzip.compress(f"{UMLAUT}\tb\n".encode("cp1252") * 5000)
    (tmp_path / "cut.tsv.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match=r"line 1: .*looks like Windows-1252"):
        read(str(tmp_path / "cut.tsv.gz"))


@pytest.mark.parametrize("name", ["t.tsv", "t.csv", "t.jsonl", "t.tmx", "t.xlsx", "t.po", "t.xlf", "t.zip", "t.tsv.gz"])
def test_other_formats_are_not_read_as_plain_text(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"a\tb\n")
    path = str(tmp_path / name)
    with pytest.raises(UserError, match=r"one sentence per line; .* dragoman convert .*converted\.\{lang\}"):
        read(FilePair(source=path, target=path))


def test_other_encodings_are_not_taken_for_windows_1252(tmp_path: Path) -> None:
    for name in ("csv in an unknown encoding", "csv in short words", "tmx in another encoding"):
        file_name, content, _ = BROKEN[name]
        (tmp_path / file_name).write_bytes(content)
        with pytest.raises(UserError) as error:
            read(str(tmp_path / file_name))
        assert "1252" not in str(error.value)


def test_tabs_in_remedies_can_be_typed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("ü\tb\n".encode("cp1252"))
    with pytest.raises(UserError, match=r"--encoding cp1252 --delimiter tab$"):
        read(CorpusFile(file=str(path), delimiter="\t"))


def test_archives_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.zip"
    path.write_bytes(archive({"t.de": b"a\n" * 3000, "t.en": b"b\n" * 3000}))
    assert len(read(str(path))) == 3000
    monkeypatch.setattr(archives, "MAX_SMALL", 1000)
    with pytest.raises(UserError, match=r"bytes would become 12,000 bytes"):
        read(str(path))
    monkeypatch.undo()
    monkeypatch.setattr(zipped, "MAX_BYTES", 11_999)
    with pytest.raises(UserError, match=r"more than 11,999 bytes"):
        read(str(path))
    monkeypatch.setattr(archives, "MAX_FILES", 1)
    with pytest.raises(UserError, match=r"contains 2 files; at most 1 are read"):
        read(str(path))


def test_encrypted_archives_are_refused(tmp_path: Path) -> None:
    content = bytearray(archive({"t.de": b"a\n", "t.en": b"b\n"}))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "t.zip").write_bytes(content)
    with pytest.raises(UserError, match=r"t\.de is encrypted; extract it"):
        read(str(tmp_path / "t.zip"))


def test_control_characters_of_public_archives_become_spaces(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    path.write_bytes(archive({"t.de": "a\x93\rb\n".encode(), "t.en": b"c\n"}))
    assert read(str(path)) == [Pair("a  b", "c")]
    path.write_bytes(archive({"t.de": b"a\0b\n", "t.en": b"c\n"}))
    with pytest.raises(UserError, match=r"t\.de line 1: control character U\+0000"):
        read(str(path))


def test_units_are_read_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that a unit fits into, but no two of them do."""
    monkeypatch.setattr(xml, "MAX_UNIT_BYTES", 70_000)
    path = tmp_path / "t.tmx"
    path.write_bytes(tmx(unit("x" * 50_000) * 20))
    assert len(read(str(path))) == 20


def mutate(content: bytes, random: Random) -> bytes:
    """The content with one kind of damage at a random place."""
    start = random.randrange(len(content))
    stop = min(len(content), start + random.choice([1, 2, 10, 100]))
    damages = (
        lambda: content[:start],
        lambda: content[:start] + content[stop:],
        lambda: content[:start] + content[start:stop] * 3 + content[stop:],
        lambda: content[:start] + random.randbytes(stop - start) + content[stop:],
        lambda: content[:start] + bytes([content[start] ^ 1 << random.randrange(8)]) + content[start + 1 :],
        lambda: content[:start] + random.choice([b"\0", b'"', b"<", b"&x;", b"\xff\xfe", b"\r\n"]) + content[start:],
    )
    return random.choice(damages)()


@pytest.mark.filterwarnings("ignore:.*(units lack|not used|XML does not allow)")
@pytest.mark.parametrize("name", WRITERS)
def test_randomly_damaged_files_raise_only_user_errors(name: str, tmp_path: Path) -> None:
    random = Random(name)
    reference = WRITERS[name](tmp_path, PAIRS)
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for _ in range(100):
        path = random.choice(list(files))
        path.write_bytes(mutate(files[path], random))
        with suppress(UserError):
            assert all(isinstance(pair, Pair) for pair in read(reference))
        path.write_bytes(files[path])


@pytest.mark.parametrize("encoding", ["undefined", "utf-7", "unicode_escape", "punycode", "no-such"])
def test_encodings_that_are_not_those_of_text_files_are_refused(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.tmx"
    path.write_text(f'<?xml version="1.0" encoding="{encoding}"?><tmx version="1.4"></tmx>')
    with pytest.raises(UserError, match="unknown encoding"):
        list(read_corpus(str(path), source_language="de", target_language="en"))


@pytest.mark.parametrize("suffix", ["srt", "VTT", "srt.gz", "docx", "html", "pdf", "ods"])
def test_documents_are_not_read_as_lines(suffix: str, tmp_path: Path) -> None:
    """Numbers, times and tags would be read as pairs, and the doctor finds nothing wrong with these."""
    for language, text in (("de", "Ein Hund läuft."), ("en", "A dog is running.")):
        (tmp_path / f"film.{language}.{suffix}").write_text(f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n")
    files = FilePair(source=f"{tmp_path}/film.de.{suffix}", target=f"{tmp_path}/film.en.{suffix}")
    for reference in (files, f"{tmp_path}/film.{{lang}}.{suffix}"):
        with pytest.raises(UserError, match=rf"film\.de\.{suffix}: is .*; copy the sentences to a text file"):
            read(reference)


@pytest.mark.parametrize("suffix", ["zip", "xlsx"])
def test_archives_are_not_read_from_devices(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"pairs.{suffix}"
    path.symlink_to("/dev/zero")
    with pytest.raises(UserError, match="not a regular file"):
        list(read_corpus(str(path), source_language="de", target_language="en"))
