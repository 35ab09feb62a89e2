"""`dragoman convert`: from any format to those that are written."""

from __future__ import annotations

import bz2
import lzma
import shlex
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import openpyxl
import pytest

if TYPE_CHECKING:
    from conftest import Command


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_bytes("id;Deutsch;English\n1;Tür;door\n2;;window\n3;Haus;house\n".encode("cp1252"))
    return path


OPTIONS = ("--encoding", "cp1252", "--delimiter", ";", "--columns", "Deutsch,English")


def test_options_describe_the_file(table: Path, tmp_path: Path, command: Command) -> None:
    output = tmp_path / "pairs.tsv"
    outcome = command("convert", table, output, "--languages", "de-en", *OPTIONS)
    assert (outcome.code, outcome.out) == (0, f"{output}: 2 pairs; left out 1 pair with an empty side\n"), outcome.error
    assert output.read_text("utf-8") == "Tür\tdoor\nHaus\thouse\n"
    again = command("convert", table, output, "--languages", "de-en", *OPTIONS)
    assert again.code == 2
    assert "already exists" in again.error


def test_line_breaks_of_jsonl_become_spaces(tmp_path: Path, command: Command) -> None:
    (tmp_path / "a.jsonl").write_text('{"de": "Hallo\\nWelt", "en": "Hello\\r\\nWorld"}\n')
    assert command("convert", tmp_path / "a.jsonl", "-").out == "Hallo Welt\tHello World\n"
    (tmp_path / "b.jsonl").write_text('{"de": "Hallo", "en": "Hello"}\n{"de": "Tür", "en": null}\n')
    assert command("convert", tmp_path / "b.jsonl", "-").out == "Hallo\tHello\n", "null is no translation"
    (tmp_path / "b.jsonl").write_text('{"de": 5, "en": "Hello"}\n')
    outcome = command("convert", tmp_path / "b.jsonl", "-", "--languages", "de-en")
    assert "b.jsonl line 1: the values of 'de' and 'en' must be strings or null" in outcome.error


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("a.ods", "save it as .xlsx"),
        ("a.json", "jq -c '.[]'"),
        ("a.tbx", "export its terms"),
        ("a.properties", "prop2po"),
        ("a.txt", "rename it to .tsv"),
    ],
)
def test_other_formats_are_answered_with_what_to_do(name: str, remedy: str, tmp_path: Path, command: Command) -> None:
    (tmp_path / name).write_text("a\tb\n")
    outcome = command("convert", tmp_path / name, "-", "--languages", "de-en")
    assert (outcome.code, remedy in outcome.error) == (2, True), outcome.error


@pytest.mark.parametrize("compress", [bz2.compress, lzma.compress])
def test_compressed_tables_are_recognized(compress: Callable[[bytes], bytes], tmp_path: Path, command: Command) -> None:
    path = tmp_path / f"a.tsv.{compress.__module__}"
    path.write_bytes(compress(b"a\tb\n"))
    outcome = command("convert", path, "-", "--languages", "de-en")
    assert (outcome.code, "decompress it first" in outcome.error) == (2, True), outcome.error


def test_clean_refuses_text_that_is_mostly_wrong(corpus: Path, tmp_path: Path, command: Command) -> None:
    output = tmp_path / "a.tsv"
    outcome = command("convert", corpus / "train.de", corpus / "train.de", output, "--languages", "de-en", "--clean")
    assert outcome.code == 2
    (tmp_path / "copy.de").write_bytes((corpus / "train.de").read_bytes())
    outcome = command("convert", corpus / "train.de", tmp_path / "copy.de", output, "--languages", "de-en", "--clean")
    assert (outcome.code, output.exists()) == (2, False)
    assert "most of the text has problems; left out 400 of 400 pairs" in outcome.error


@pytest.mark.filterwarnings("always:.* units lack")
def test_units_without_a_translation_are_named_once_in_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    """A file is read several times, and not at all if a cleaned copy exists."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    translated = "".join(
        f"<tu><tuv xml:lang='de'><seg>Ein Satz mit der Zahl {number}.</seg></tuv>"
        f"<tuv xml:lang='en'><seg>This sentence has number {number}.</seg></tuv></tu>"
        for number in range(20)
    )
    memory = tmp_path / "memory.tmx"
    memory.write_text(f"<tmx><body>{translated}<tu><tuv xml:lang='de'><seg>Neu.</seg></tuv></tu></body></tmx>")
    for number, options in enumerate(((), ("--clean",), ("--clean",))):
        outcome = command("convert", memory, tmp_path / f"{number}.tsv", "--languages", "de-en", *options)
        assert outcome.code == 0, outcome.error
        assert (outcome.out + outcome.error).count("1 of 21 units lack de or en, and are not used") == 1


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("arguments", [["doctor", "data"], ["init", "--output", "recipe.toml"]])
def test_other_sheets_are_named_once(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    workbook = openpyxl.Workbook()
    for number in range(60):
        workbook.worksheets[0].append([f"Ein Satz mit der Zahl {number}.", f"This sentence has number {number}."])
    workbook.create_sheet("Notes").append(["x", "y"])
    workbook.save("a.xlsx")
    outcome = command(*arguments, "a.xlsx", "--languages", "de-en")
    assert outcome.code == 0, outcome.error
    assert (outcome.out + outcome.error).count("only the first sheet") == 1


def test_tabs_can_be_typed(tmp_path: Path, command: Command) -> None:
    (tmp_path / "a.csv").write_text("a,b\tc,d\n")
    for number, tab in enumerate(("tab", "\\t", "\t")):
        output = tmp_path / f"{number}.tsv"
        assert command("convert", tmp_path / "a.csv", output, "--languages=de-en", "--delimiter", tab).code == 0
        assert output.read_text() == "a,b\tc,d\n"


def test_the_suggested_command_for_standard_input_works(tmp_path: Path, command: Command) -> None:
    text = "id\tde\ten\n1\tHund\tdog\n".encode("utf-16")
    arguments: list[str | Path] = ["-", tmp_path / "out.tsv"]
    for problem in ("byte order mark of UTF-16", "expected 2 columns, found 3"):
        outcome = command("convert", *arguments, stdin=text)
        assert problem in outcome.error
        arguments = [*shlex.split(outcome.error.split("run: dragoman convert ")[1])]
    assert command("convert", *arguments, stdin=text).code == 0
    assert (tmp_path / "out.tsv").read_text() == "Hund\tdog\n"


def test_each_format_that_is_written_can_be_converted_back(tmp_path: Path, corpus: Path, command: Command) -> None:
    """A chain of conversions ends with the files that it started with."""
    names = ["1.tmx.gz", "2.jsonl", "3.tsv", "4.{lang}"]
    assert command("convert", corpus / "test.de", corpus / "test.en", tmp_path / names[0]).code == 0
    for before, after in pairwise(names):
        outcome = command("convert", tmp_path / before, tmp_path / after, "--languages=de-en")
        assert outcome.out == f"{tmp_path / after}: 30 pairs\n", outcome.error
    for language in ("de", "en"):
        assert (tmp_path / f"4.{language}").read_bytes() == (corpus / f"test.{language}").read_bytes()


@pytest.mark.parametrize("text", ['""""', '"Er sagte ""nein"""', '"Ja", sagte sie', 'Er sagte ""', '"'])
def test_quotation_marks_can_be_converted_back(text: str, tmp_path: Path, command: Command) -> None:
    (tmp_path / "a.de").write_text(f"{text}\n")
    (tmp_path / "a.en").write_text("x\n")
    for files in (("a.de", "a.en", "b.tsv"), ("b.tsv", "c.{lang}")):
        outcome = command("convert", *(tmp_path / file for file in files), "--languages", "de-en")
        assert outcome.code == 0, outcome.error
    assert (tmp_path / "c.de").read_text().strip() == text


def test_several_files_are_joined(tmp_path: Path, command: Command) -> None:
    for name in ("a.tsv", "b.tsv"):
        (tmp_path / name).write_text(f"Satz {name}\tsentence\n")
    outcome = command("convert", tmp_path / "a.tsv", tmp_path / "b.tsv", tmp_path / "c.jsonl", "--languages", "de-en")
    assert outcome.code == 0, outcome.error
    assert len((tmp_path / "c.jsonl").read_text().splitlines()) == 2


def test_clean_leaves_out_pairs_with_problems(
    tmp_path: Path, corpus: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sources, targets = ((corpus / f"train.{language}").read_text("utf-8").splitlines() for language in ("de", "en"))
    rows = [f"{source}\t{target}" for source, target in zip(sources, targets, strict=True)]
    (tmp_path / "a.tsv").write_text("\n".join([*rows, rows[0], "\tblank"]), "utf-8")
    outcome = command("convert", "--clean", tmp_path / "a.tsv", tmp_path / "b.tsv", "--languages", "de-en")
    left_out = f"left out 1 of {len(rows) + 1} pairs: duplicates 1"
    assert outcome.out == f"{tmp_path / 'b.tsv'}: {len(rows)} pairs; {left_out}\n", outcome.error
    assert (tmp_path / "b.tsv").read_text("utf-8").splitlines() == rows
    assert not (tmp_path / "cache").exists(), "the text may be secret, and may come from standard input"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pairs.csv"], "expected files to read and a file to write"),
        (["pairs.csv", "b.tsv", "--no-header"], "the languages are not known; add --languages"),
        (["pairs.csv", "b.tsv", "--languages", "de"], "expected two language codes, such as de-en or pt-BR:en"),
        (["pairs.csv", "b.tsv", "--languages", "de-en", "--columns", "a"], "expected two different names or numbers"),
        (
            ["pairs.csv", "b.tsv", "--languages", "de-en", "--columns", "0,1"],
            "expected two different names or numbers from 1",
        ),
        (["pairs.csv", "b.tsv", "--languages", "de-en", "--delimiter", "x"], "expected one of , ; | tab"),
        (["pairs.csv", "b.docx", "--languages", "de-en"], "expected a name that ends in .tsv"),
        (["a.txt", "b.txt", "c.txt", "d.tsv"], "a text file needs a second one"),
        (["a.de", "b.en", "d.tsv", "--header"], "--header applies only to tables, unlike a.de, b.en"),
        (["none.tmx", "d.tsv", "--languages", "de-en"], "none.tmx: no such file"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: list[str], message: str, table: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(table.parent)
    outcome = command("convert", *arguments)
    assert outcome.code == 2
    assert message in outcome.error
    assert list(table.parent.iterdir()) == [table]


def test_the_remedy_in_a_message_works(table: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who copies the command from the message, at each error, ends with the right file."""
    monkeypatch.chdir(table.parent)
    arguments = ["convert", "pairs.csv", "converted.tsv", "--languages", "de-en"]
    for _ in range(3):
        outcome = command(*arguments)
        if outcome.code == 0:
            break
        arguments = shlex.split(outcome.error.partition("; run: dragoman ")[2])
    assert Path("converted.tsv").read_text("utf-8") == "Tür\tdoor\nHaus\thouse\n"


@pytest.mark.parametrize("before", [["train"], ["init", "--output", "recipe.toml"], ["doctor", "data"]])
@pytest.mark.parametrize("languages", [["--languages", "de-en"], []])
def test_each_command_names_its_own_remedy(
    before: list[str], languages: list[str], table: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(table.parent)
    given = [*before, "pairs.csv", *languages]
    outcome = command(*given)
    assert outcome.code == 2
    assert f"; run: dragoman {' '.join(given)} --encoding cp1252" in outcome.error


def test_machine_translated_text_keeps_its_mark(tmp_path: Path, command: Command) -> None:
    marked, plain, joined = (tmp_path / name for name in ("marked.tsv", "plain.tsv", "joined.tsv"))
    marked.write_text("de\ten-t-de-t0-und\nHund\tdog\nHaus\thouse\n")
    plain.write_text("Tür\tdoor\nTisch\ttable\n")
    joined.write_text(plain.read_text() + marked.read_text())
    turned = command("convert", marked, tmp_path / "out.tsv", "--languages", "en-de")
    assert turned.code == 0, turned.error
    assert (tmp_path / "out.tsv").read_text() == "en-t-de-t0-und\tde\ndog\tHund\nhouse\tHaus\n"
    other = command("convert", marked, tmp_path / "out.jsonl", "--languages", "de-en")
    assert (other.code, "cannot state that" in other.error) == (0, True)
    mixed = command("convert", marked, plain, tmp_path / "mixed.tsv", "--languages", "de-en")
    assert (mixed.code, "convert them one by one" in mixed.error) == (2, True), mixed.error
    middle = command("convert", joined, tmp_path / "middle.tsv", "--languages", "de-en")
    assert (middle.code, f"{joined} line 3: this header row" in middle.error) == (2, True), middle.error
