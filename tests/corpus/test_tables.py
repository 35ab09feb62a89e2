"""CSV, TSV and XLSX: quotes, delimiters, header rows, chosen columns."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from dragoman.corpus.columns import looks_like_header
from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.pair import Pair
from dragoman.errors import UserError
from dragoman.settings import CorpusFile, CorpusReference

PAIR = Pair("ein Hund", "a dog")


def read(reference: CorpusReference, source: str = "de", target: str = "en") -> list[Pair]:
    return list(read_corpus(reference, source_language=source, target_language=target))


READ: dict[str, tuple[str, str, dict[str, Any], list[Pair]]] = {
    "quotes": ("t.csv", '"a, ""b""",c\n', {}, [Pair('a, "b"', "c")]),
    "quoted line breaks": ("t.csv", '"a\n  b\r\n\r\nc",d\r\n', {}, [Pair("a b c", "d")]),
    "quoted line breaks at the ends": ("t.csv", '"\na\n",b\n', {}, [Pair("a", "b")]),
    "blank lines": ("t.csv", "\na,b\n\nc,d\n\n", {}, [Pair("a", "b"), Pair("c", "d")]),
    "semicolons, one row": ("t.csv", "a;b\n", {}, [Pair("a", "b")]),
    "tabs in a csv": ("t.csv", "a, b; c\td\n", {"delimiter": "\t"}, [Pair("a, b; c", "d")]),
    "detected tabs": ("t.csv", "a\tb\nc, d\te\n", {}, [Pair("a", "b"), Pair("c, d", "e")]),
    "declared semicolons": ("t.csv", "a,x;b,y\n", {"delimiter": ";"}, [Pair("a,x", "b,y")]),
    "delimiter in the first line": ("t.csv", "sep=;\r\na,x;b,y\r\n", {}, [Pair("a,x", "b,y")]),
    "header below the delimiter": ("t.csv", "sep=|\nen|de\na dog|ein Hund\n", {"header": True}, [PAIR]),
    "no quotes": ("t.csv", '"a;b"\n', {"quotes": False}, [Pair('"a', 'b"')]),
    "numbers": ("t.csv", "1,a,b\n2,c,d\n", {"columns": (3, 2)}, [Pair("b", "a"), Pair("d", "c")]),
    "names": ("t.csv", "x,y,z\n1,2,3\n", {"columns": ("z", "x")}, [Pair("3", "1")]),
    "numbers below a header": ("t.csv", "x,y,z\n1,2,3\n", {"columns": (3, 1), "header": True}, [Pair("3", "1")]),
    "languages in the header": ("t.csv", "id,English,de-DE\n1,a dog,ein Hund\n", {"header": True}, [PAIR]),
    "sides in the header": ("t.csv", "target_text,source_text\na dog,ein Hund\n", {"header": True}, [PAIR]),
    "any header of two columns": ("t.csv", "x,y\nein Hund,a dog\n", {"header": True}, [PAIR]),
    "text like a header": ("t.csv", "Text,Text\n", {"header": False}, [Pair("Text", "Text")]),
    "literal quotes": ("t.tsv", '"Ja."\t"Yes."\n"a" b\tc "d"\n', {}, [Pair('"Ja."', '"Yes."'), Pair('"a" b', 'c "d"')]),
    "columns of a tsv": ("t.tsv", '1\tein "Hund\ta dog\n', {"columns": (2, 3)}, [Pair('ein "Hund', "a dog")]),
    "quotes of Excel": ("t.tsv", '"a ""b""\nc"\td\n', {"quotes": True}, [Pair('a "b" c', "d")]),
    "errors of formulas": ("t.csv", "a,#N/A\n#REF!,b\nc,d\n", {}, [Pair("a", ""), Pair("", "b"), Pair("c", "d")]),
    "errors as text": ("t.csv", "#NV,#N/A\n#NAME?,#NOM?\n", {}, [Pair("#NV", "#N/A"), Pair("#NAME?", "#NOM?")]),
    "two errors": ("t.csv", "#N/A,#N/A\n#N/A,# Tag\na,b\n", {}, [Pair("", ""), Pair("", "# Tag"), Pair("a", "b")]),
    "declared literal quotes": ("t.tsv", '"a ""b"""\td\n', {"quotes": False}, [Pair('"a ""b"""', "d")]),
}


@pytest.mark.parametrize("name", READ)
def test_tables_are_read(name: str, tmp_path: Path) -> None:
    file_name, content, settings, pairs = READ[name]
    path = tmp_path / file_name
    path.write_bytes(content.encode())
    assert read(CorpusFile(file=str(path), **settings)) == pairs
    path.write_bytes(content.encode("utf-16"))
    assert read(CorpusFile(file=str(path), encoding="utf-16", **settings)) == pairs


def test_lines_are_counted_from_that_of_the_delimiter_on(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for content, problem in {
        "Deutsch;Englisch\na;b\n": "line 2: .* header row",
        "a;b\nc\n": "line 3: expected 2",
    }.items():
        path.write_text(f"sep=;\n{content}")
        with pytest.raises(UserError, match=problem):
            read(str(path))


def test_the_sample_for_the_delimiter_may_end_in_quotes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x, y, z;b\n" + "a;b\n" * 47 + '"c\nd\ne\nf";g\n' + "h;i\n" * 9)
    assert (
        read(str(path))
        == [Pair("x, y, z", "b")] + [Pair("a", "b")] * 47 + [Pair("c d e f", "g")] + [Pair("h", "i")] * 9
    )


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-8", "utf-8-sig", "utf-32", "utf-32-le"])
def test_a_byte_order_mark_may_follow_a_declaration(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    mark = "" if encoding in ("utf-16", "utf-32", "utf-8-sig") else "\ufeff"  # these write one themselves
    path.write_bytes(f"{mark}a\tb\n".encode(encoding))
    assert read(CorpusFile(file=str(path), encoding=encoding)) == [Pair("a", "b")]


def test_the_header_decides_the_direction(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("de,en\nein Hund,a dog\n")
    table = CorpusFile(file=str(path), header=True)
    assert read(table) == [PAIR]
    assert read(table, "en", "de") == [Pair("a dog", "ein Hund")]


def save(path: Path, *rows: list[Any]) -> str:
    workbook = openpyxl.Workbook()
    assert workbook.active is not None
    for row in rows:
        workbook.active.append(row)
    workbook.save(path)
    return str(path)


def test_workbooks_have_numbers_blank_rows_and_other_columns(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        ["id", "Deutsch", "English"],
        [1, "ein Hund", "a dog"],
        [],
        [2, 42, 1.5],
        [3, "zwei_x000D_\nZeilen", None],
    ]
    path = save(tmp_path / "t.xlsx", *rows)
    expected = [PAIR, Pair("42", "1.5"), Pair("zwei Zeilen", "")]
    for columns in (None, ("Deutsch", "English"), (2, 3)):
        assert read(CorpusFile(file=path, columns=columns, header=True)) == expected
    with pytest.raises(UserError, match=r"expected 2 columns, found 3.*--columns Deutsch,English"):
        read(path)


@pytest.mark.parametrize(
    ("title", "header"),
    [
        (["Our words"], ["Deutsch", "English"]),
        (["Our words", ""], ["Deutsch", "English"]),
        (["Our words", "", ""], ["id", "Deutsch", "English"]),
        (["", "Our words", ""], ["1", "ein Hund", "a dog"]),
    ],
)
def test_a_title_above_a_table_is_refused(title: list[str], header: list[str], tmp_path: Path) -> None:
    csv = tmp_path / "t.csv"
    csv.write_text("\n".join(map(",".join, [title, header, header])))
    for file in (str(csv), save(tmp_path / "t.xlsx", title, header, header)):
        for columns in (None, ("Deutsch", "English")):
            with pytest.raises(UserError, match=r"line 1: 'Our words' is the only text .* delete the rows above"):
                read(CorpusFile(file=file, columns=columns))


def test_a_first_row_with_one_empty_column_may_be_a_pair(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("ein Hund,\nein Hund,a dog\n")
    assert read(str(path)) == [Pair("ein Hund", ""), PAIR]
    book = save(tmp_path / "t.xlsx", ["ein Hund"], ["ein Hund", "a dog"])
    assert read(book) == [Pair("ein Hund", ""), PAIR]


def test_empty_rows_do_not_hide_a_header(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(" ,\n,\nDeutsch,English\nein Hund,a dog\n")
    (tmp_path / "t.tsv").write_text("\n\t\nDeutsch\tEnglish\nein Hund\ta dog\n")
    for name, empty in (("t.csv", 2), ("t.tsv", 1)):  # a blank line is no row
        file = str(tmp_path / name)
        with pytest.raises(UserError, match=r"line 3: 'Deutsch' and 'English' look like a header row"):
            read(file)
        assert read(CorpusFile(file=file, header=True)) == [Pair("", "")] * empty + [PAIR]


def test_a_header_of_other_languages_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for names in ("fr,it", "Deutsch,Français", "en,fr"):
        path.write_text(f"{names}\nein Hund,a dog\n")
        for header in (None, True):
            with pytest.raises(UserError, match=r"line 1: the columns are named .*, not 'de' and 'en'"):
                read(CorpusFile(file=str(path), header=header))
    path.write_text("hi,hi\n")
    assert read(str(path)) == [Pair("hi", "hi")]


@pytest.mark.parametrize("columns", [(1, 2), (3, 2), ("en-US", "de-DE"), ("key", "en-US")])
def test_columns_that_contradict_the_header_are_refused(columns: tuple[int | str, int | str], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("key,de-DE,en-US\n1,ein Hund,a dog\n")
    with pytest.raises(UserError, match="'de-DE' and 'en-US' are named after 'de' and 'en'"):
        read(CorpusFile(file=str(tmp_path / "t.csv"), columns=columns))
    assert read(CorpusFile(file=str(tmp_path / "t.csv"), columns=("de-DE", "en-US"))) == [PAIR]
    assert len(read(CorpusFile(file=str(tmp_path / "t.csv"), columns=(3, 2), header=False))) == 2


def test_workbooks_are_refused_with_the_row(tmp_path: Path) -> None:
    path = save(tmp_path / "t.xlsx", ["a", "b"], ["c", datetime.date(2024, 5, 1)])
    with pytest.raises(UserError, match=r"t\.xlsx line 2: 2024-05-01.* is a date .*\.csv"):
        read(path)
    path = save(tmp_path / "t.xlsx", ["a", "b"], ["c", "d", "e"])
    with pytest.raises(UserError, match=r"t\.xlsx line 2: expected 2 columns, found 3"):
        read(path)
    path = save(tmp_path / "t.xlsx", ["de", "en"], ["c", "d"])
    with pytest.raises(UserError, match=r"t\.xlsx line 1: 'de' and 'en' look like a header row"):
        read(path)


def test_dates_in_columns_that_are_not_read_do_not_matter(tmp_path: Path) -> None:
    path = save(tmp_path / "t.xlsx", [datetime.date(2024, 5, 1), "ein Hund", "a dog"])
    assert read(CorpusFile(file=str(path), columns=(2, 3))) == [PAIR]
    with pytest.raises(UserError, match="is a date"):
        read(CorpusFile(file=str(path), columns=(1, 3)))


def test_columns_of_licenses_are_not_suggested(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("Geh.\tGo.\tCC-BY 2.0 (France) 1\nHallo!\tHi.\tCC-BY 2.0 (France) 2\n")
    with pytest.raises(UserError, match=r"columns = \[1, 2\]"):
        read(str(path))
    for third in ("1", "CC-BY"):
        path.write_text(f"Could you help me?\tKönnten Sie mir helfen?\t{third}\n" * 2)
        with pytest.raises(UserError, match=r"columns = \[1, 2\]"):
            read(str(path))
    path.write_text("Geh.\t1\tGo now.\nGeh.\t2\tGo away.\n")
    with pytest.raises(UserError, match=r"columns = \[1, 3\]"):
        read(str(path))


def test_other_sheets_are_named(tmp_path: Path) -> None:
    workbook = openpyxl.load_workbook(save(tmp_path / "t.xlsx", ["ein Hund", "a dog"]))
    for name in ("glossary", "notes"):
        workbook.create_sheet(name).append(["x", "y"])
    workbook.save(tmp_path / "t.xlsx")
    with pytest.warns(UserWarning, match="only the first sheet, 'Sheet', is read, not 'glossary', 'notes'"):
        assert read(str(tmp_path / "t.xlsx")) == [PAIR]


def replace_in_sheet(path: Path, old: bytes, new: bytes) -> None:
    """Change the XML of the first sheet."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    sheet = files["xl/worksheets/sheet1.xml"]
    assert old in sheet
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (files | {"xl/worksheets/sheet1.xml": sheet.replace(old, new)}).items():
            archive.writestr(name, content)


def test_empty_columns_with_a_format_are_ignored(tmp_path: Path) -> None:
    reference = CorpusFile(file=save(tmp_path / "t.xlsx", ["de", "en"], ["ein Hund", "a dog"]), header=True)
    replace_in_sheet(tmp_path / "t.xlsx", b"</row></sheetData>", b'<c r="E2" s="0"/></row></sheetData>')
    assert read(reference) == [PAIR]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"<worksheet", b"<!DOCTYPE x [<!ENTITY a 'b'>]><worksheet", "not a valid Excel workbook"),
        (b"</sheetData>", b"", "not a valid Excel workbook"),
        (b'<row r="2"', b'<row r="99999999999"', "more than 1,048,576 rows or 1,000 columns; export it as .csv"),
        (b'r="B2"', b'r="XFD2"', "line 2: more than 1,048,576 rows or 1,000 columns; export it as .csv"),
        (b't="n"><v>1', b't="s"><v>999', "not a valid Excel workbook"),
    ],
)
def test_damaged_workbooks_are_refused(old: bytes, new: bytes, message: str, tmp_path: Path) -> None:
    reference = CorpusFile(file=save(tmp_path / "t.xlsx", ["de", "en"], [1, "a"]), header=True)
    replace_in_sheet(tmp_path / "t.xlsx", old, new)
    with pytest.raises(UserError, match=message):
        read(reference)


@pytest.mark.parametrize(
    ("row", "is_header"),
    [
        (("de", "en"), True),
        (("DE", "EN-us"), True),
        (("Source text", "target_text"), True),
        (("Deutsch", "Englisch"), True),
        (("text_de", "text_en"), True),
        (("Text (de)", "Text (en)"), True),
        (("हिन्दी", "English"), True),
        (("Cymraeg", "Icelandic"), True),
        (("Ein Hund.", "A dog."), False),
        (("de", "A dog."), False),
        (("", ""), False),
        (("Ja", "Yes"), False),
        (("Castellano", "汉语"), True),
        (("Even", "So"), False),
        (("Person", "person"), False),
        (("Korn", "Flamme"), False),
    ],
)
def test_header_rows_are_recognized(row: tuple[str, str], is_header: bool) -> None:
    assert looks_like_header(row, ("de", "en")) == is_header


def test_names_of_languages_without_a_short_code_are_a_header() -> None:
    for row in (["Upper Sorbian", "Lower Sorbian"], ["Obersorbisch", "Niedersorbisch"], ["hornjoserbšćina", "dsb"]):
        assert looks_like_header(row, ("hsb", "dsb"))
        assert not looks_like_header(row, ("de", "en"))
