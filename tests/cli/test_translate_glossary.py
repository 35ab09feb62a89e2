"""dragoman translate --glossary."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conftest import Command
from dragoman.cli.glossary_file import read_glossary
from dragoman.corpus.corpus import read_corpus
from dragoman.errors import UserError


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    path = tmp_path / "terms.tsv"
    path.write_text("Hund\tWauwau\n", encoding="utf-8")
    return path


def test_every_kind_of_input_uses_the_glossary(
    command: Command, finished_run: Path, terms: Path, tmp_path: Path
) -> None:
    options = ("translate", finished_run, "--glossary", terms)
    line = command(*options, "Ein Hund läuft.", "--json").out
    assert json.loads(line)["terms"] == [{"source": "Hund", "target": "Wauwau", "used": "exactly"}]
    html = command(*options, "--format", "html", "<p>Ein <b>Hund</b> läuft.</p>").out
    document, output = tmp_path / "a.txt", tmp_path / "b.txt"
    document.write_text("Ein Hund läuft.\n", encoding="utf-8")
    assert command(*options, "--document", document, "--output", output).code == 0
    assert command(*options, "Ein Hund läuft.").out == output.read_text("utf-8")
    for text in (json.loads(line)["text"], html.replace("<b>", "").replace("</b>", ""), output.read_text("utf-8")):
        assert "wauwau" in text.lower()


def test_a_glossary_of_other_terms_changes_nothing(command: Command, finished_run: Path, terms: Path) -> None:
    arguments = ("translate", finished_run, "Eine Frau liest.", "--json")
    assert command(*arguments, "--glossary", terms).out == command(*arguments).out


def test_errors_name_the_file(command: Command, finished_run: Path, terms: Path, tmp_path: Path) -> None:
    outcome = command("translate", finished_run, "a", "--glossary", tmp_path / "missing.tsv")
    assert (outcome.code, "missing.tsv" in outcome.error) == (2, True)
    terms.write_text("Hund\tdog\nHund\thound\n", encoding="utf-8")
    outcome = command("translate", finished_run, "a", "--glossary", terms)
    assert (outcome.code, "Hund: dog in line 1, hound in line 2" in outcome.error) == (2, True)
    outcome = command("translate", finished_run, "a", "--glossary", terms, "--prefixes", terms)
    assert (outcome.code, "--prefixes" in outcome.error) == (2, True)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("Deutsch\tEnglisch\nHund\tdog\n", "terms.tsv line 1: 'Deutsch' and 'Englisch' look like a header row"),
        ("Quelle\tZiel\nHund\tdog\n", "terms.tsv line 1: 'Quelle' and 'Ziel' look like a header row"),
        ('Katze\tcat\n"Hund"\t"dog"\n', 'terms.tsv line 2: "Hund" would match only with its quotation marks'),
        ("Deutsch\tGerman\nEnglisch\tEnglish\n", None),
        ("Tag\tday\nHund\tdog\n", None),
        ('original\toriginal\n"A"-Dur\tA major\nZoll\t5"\n', None),
    ],
)
def test_tables_of_excel_are_refused(
    lines: str, message: str | None, command: Command, finished_run: Path, terms: Path
) -> None:
    terms.write_text(lines, encoding="utf-8")
    outcome = command("translate", finished_run, "Ein Hund.", "--glossary", terms)
    assert (outcome.code, (message or "") in outcome.error) == (2 if message else 0, True)


@pytest.mark.parametrize(
    "table",
    [
        "Hund,hound\n",
        "hund ; hound\n",
        '"Hund";"hound"\n',
        "de,en\nHund,hound\n",
        "Deutsch;Englisch;Note\nHund;hound;a dog\n",
        '"Hund","hound","DE","EN-US"\n"Hund","hound","DE","EN-US"\n',
        "source,target,source_lang,target_lang\nHund,hound,DE,EN\n",
        "Hund,hound,de,en\nHund,pjas,de,dsb\n",
        "Hund,pjas,de,dsb\nHund,hound,de,en\n",
    ],
)
def test_tables_with_commas_are_glossaries(table: str, tmp_path: Path) -> None:
    path = tmp_path / "terms.csv"
    path.write_text(table, encoding="utf-8-sig")
    ((source, target),) = ((term.source, term.target) for term in read_glossary(path, ("de", "en")).terms)
    assert (source.lower(), target) == ("hund", "hound")


@pytest.mark.parametrize(
    "lines", ["Hund\thound\n", "Hund = hound\n", "Hund=hound\n\nKatze=cat\n", "a=b\tc\nHund\thound\n"]
)
def test_lines_with_a_tab_or_an_equals_sign_are_glossaries(lines: str, tmp_path: Path) -> None:
    path = tmp_path / "terms.txt"
    path.write_text(lines, encoding="utf-8")
    assert ("Hund", "hound") in {(term.source, term.target) for term in read_glossary(path, ("de", "en")).terms}


@pytest.mark.parametrize(
    ("name", "content", "remedy"),
    [
        ("a.tbx", "<martif/>", "export its terms"),
        ("a.properties", "open=Hund\n", "prop2po"),
        ("a.yaml", "Hund: hound\n", "yaml2po"),
        ("a.txt", 'msgid ""\nmsgstr ""\n', "rename it to .po"),
    ],
)
def test_files_of_programs_are_neither_a_glossary_nor_a_memory(
    name: str, content: str, remedy: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=remedy):
        read_glossary(path, ("de", "en"))
    with pytest.raises(UserError, match=remedy):
        read_corpus(str(path), source_language="de", target_language="en")


def test_rows_with_one_side_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "terms.csv"
    path.write_text("Hund,hound\nKatze,\u200b\n,cow\n,\n", encoding="utf-8")
    assert [term.source for term in read_glossary(path, ("de", "en")).terms] == ["Hund"]
    assert "left out 2 rows with an empty cell: Katze =" in capsys.readouterr().err


def test_columns_named_after_languages_may_be_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "terms.csv").write_text("English;Deutsch\nhound;Hund\n", "utf-8")
    (term,) = read_glossary(tmp_path / "terms.csv", ("de", "en")).terms
    assert (term.source, term.target) == ("Hund", "hound")


def test_a_translation_memory_can_be_a_glossary(
    command: Command, finished_run: Path, terms: Path, tmp_path: Path
) -> None:
    memory = tmp_path / "terms.tmx"
    assert command("convert", terms, memory, "--languages", "de-en").code == 0
    arguments = ("translate", finished_run, "Ein Hund läuft.", "--json", "--glossary")
    assert command(*arguments, memory) == command(*arguments, terms)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("Hund,hound\nHund,dog\n", "terms.csv: terms of the glossary have several translations (Hund: hound, dog)"),
        ("Hund,hound,a dog\nKatze,cat,\n", "terms.csv: a glossary has two columns, a term and its translation"),
        ("Hund,\n", "terms.csv"),
        ("", "terms.csv: contains no sentence pairs"),
        ("Hund,pjas,de,dsb\n", "terms.csv: its terms are from de to dsb, but texts are translated from de to en"),
        ("hound,Hund,en,de\n", "terms.csv: its terms are from en to de, but texts are translated from de to en"),
    ],
)
def test_errors_of_tables_name_the_file(table: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "terms.csv").write_text(table, encoding="utf-8")
    with pytest.raises(UserError, match=re.escape(message)):
        read_glossary(tmp_path / "terms.csv", ("de", "en"))
