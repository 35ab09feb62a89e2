"""What `dragoman translate` reads: texts that are paths, standard streams, and warnings about unusual texts."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.documents.translate import TextTranslator
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command


@pytest.fixture
def place(finished_run: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: it has a run, runs/tiny, and a text, my/test.de."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "tiny").symlink_to(finished_run)
    (tmp_path / "my").mkdir()
    (tmp_path / "my" / "test.de").write_bytes((corpus / "test.de").read_bytes())
    return tmp_path


def suggested(error: str) -> list[str]:
    """The arguments of the command in a message."""
    return shlex.split(error[error.rindex("dragoman ") :])[1:]


@pytest.mark.parametrize(
    "arguments",
    [
        "translate runs/tiny my/test.de",
        "translate runs/tiny my/test.de --set decoding.beam_size=1 --json",
        "translate my/test.de runs/tiny",
        "translate my/test.de",
        "translate runs my/test.de --json",
        "translate runs/tinny 'Ein Hund läuft.'",
        "translate runs 'Ein Hund läuft.' --set decoding.beam_size=1",
        "translate 'Ein Hund läuft.' runs/tiny",
        "translate 'Ein Hund läuft.'",
        "translate tiny 'Ein Hund läuft.'",
        "translate runs/tiny/checkpoints 'Ein Hund läuft.'",
        "translate runs/tiny/recipe.toml 'Ein Hund läuft.'",
        "info runs/tinny",
        "info runs",
        "inspect runs 'Ein Hund läuft.'",
        "evaluate runs/tinny --source my/test.de --reference my/test.de",
        "score runs/ --source my/test.de --target my/test.de",
        "export runs out --to ctranslate2",
    ],
)
def test_suggested_commands_work(arguments: str, place: Path, command: Command) -> None:
    outcome = command(*shlex.split(arguments))
    assert (outcome.code, outcome.out) == (2, "")
    outcome = command(*suggested(outcome.error))
    if outcome.code == 2:  # the first message corrected the run, and this one the text
        outcome = command(*suggested(outcome.error))
    assert outcome.code == 0, outcome.error
    assert outcome.out


def test_a_text_that_begins_with_a_hyphen_is_answered_with_the_command(place: Path, command: Command) -> None:
    outcome = command("translate", "runs/tiny", "- Ein Hund läuft.", "--set", "decoding.beam_size=1")
    assert (outcome.code, outcome.out) == (2, "")
    assert "- Ein Hund läuft." in outcome.error
    outcome = command(*suggested(outcome.error))
    assert (outcome.code, outcome.out[:2]) == (0, "- ")
    assert command("translate", "runs/tiny", "--", "- Ein Hund läuft.").code == 0


def test_texts_that_begin_with_a_hyphen_keep_their_order(place: Path, command: Command) -> None:
    texts = ["- ein hund", "eine frau", "- ein mann", "ein kind", "- eine katze"]
    outcome = command("translate", "runs/tiny", *texts[:2], "--set", "decoding.beam_size=1", texts[2], "--", *texts[3:])
    again = command(*suggested(outcome.error))
    same = command("translate", "runs/tiny", "--set", "decoding.beam_size=1", "--", *texts)
    assert (again.code, again.out) == (same.code, same.out) == (0, same.out), again.error
    assert "decoding.beam_size=1 -- " in outcome.error
    assert outcome.error.count(" -- ") == 2, "one in the explanation, one in the command"


def test_values_of_options_may_begin_with_a_hyphen(place: Path, command: Command) -> None:
    Path("- list.txt").write_text("Ein Hund läuft.\n", encoding="utf-8")
    assert command("translate", "runs/tiny", "--input", "- list.txt").code == 0


def test_a_trailing_slash_is_accepted(place: Path, command: Command) -> None:
    assert command("translate", "runs/tiny/", "Ein Hund läuft.").code == 0


def test_several_files_are_not_texts(place: Path, command: Command) -> None:
    outcome = command("translate", "runs/tiny", "my/test.de", "my/test.de")
    assert (outcome.code, outcome.out) == (2, "")
    assert "dragoman translate runs/tiny --input my/test.de" in outcome.error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("my/tset.de", "my/tset.de: no such file; did you mean 'test.de'?"),
        ("my/", "my/: is a directory"),
        ("./my", "./my: is a directory"),
    ],
)
def test_mistyped_paths_are_not_texts(text: str, message: str, place: Path, command: Command) -> None:
    outcome = command("translate", "runs/tiny", text)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.error
    assert "--input" in outcome.error


@pytest.mark.parametrize("text", ["und/oder", "Ein Hund in my/test.de", "/", "5/6"])
def test_texts_with_slashes_are_translated(text: str, place: Path, command: Command, translator: Translator) -> None:
    outcome = command("translate", "runs/tiny", text)
    (expected,) = TextTranslator(translator).stream([text])
    assert (outcome.code, outcome.out) == ((0, f"{expected}\n") if text != "/" else (2, ""))


@pytest.mark.parametrize("name", ["letter.md", "Film.SRT", "app.po"])
def test_lines_of_documents_are_answered_with_the_command(name: str, place: Path, command: Command) -> None:
    (place / name).write_text("Ein Hund läuft.\n", "utf-8")
    outcome = command("translate", "runs/tiny", "--input", name)
    assert (outcome.code, outcome.out.count("\n")) == (0, 1)
    warning, *_ = outcome.error.splitlines()
    assert warning.startswith(f"dragoman: warning: {name}: each line is translated as text")
    expected = ["translate", "runs/tiny", "--document", name, "--output", f"translated{Path(name).suffix}"]
    assert suggested(warning) == expected
    outcome = command("translate", "runs/tiny", name)
    assert (outcome.code, outcome.out, suggested(outcome.error)) == (2, "", expected)


def test_word_documents_are_not_read_as_lines(place: Path, command: Command) -> None:
    (place / "letter.docx").write_bytes(b"PK\3\4\xad")
    expected = ["translate", "runs/tiny", "--document", "letter.docx", "--output", "translated.docx"]
    for arguments in (["letter.docx"], ["--input", "letter.docx"]):
        outcome = command("translate", "runs/tiny", *arguments)
        assert (outcome.code, outcome.out, suggested(outcome.error)) == (2, "", expected)


def test_spreadsheets_are_not_read_as_lines(place: Path, command: Command) -> None:
    (place / "table.xlsx").write_bytes(b"PK\3\4\xad")
    for arguments in (["table.xlsx"], ["table.xlsx", "my/test.de"], ["--input", "table.xlsx"]):
        outcome = command("translate", "runs/tiny", *arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert "save it as .csv" in outcome.error
        assert suggested(outcome.error)[2:4] == ["--document", "table.csv"]


def test_dash_is_standard_input_and_output(place: Path, command: Command) -> None:
    text = Path("my/test.de").read_bytes()
    expected = command("translate", "runs/tiny", "--input", "my/test.de").out
    assert len(expected.splitlines()) == 30
    for arguments in (["-"], ["--input", "-"], ["--input", "-", "--output", "-"], ["--output", "-"]):
        assert command("translate", "runs/tiny", *arguments, stdin=text).out == expected
    assert command("translate", "runs/tiny", "--input", "my/test.de", "--output", "-").out == expected
    assert not Path("-").exists()


def test_dash_is_standard_output_of_other_commands(place: Path, command: Command) -> None:
    files = ("--source", "my/test.de", "--reference", "my/test.de")
    scores = command("score", "runs/tiny", "--source", "my/test.de", "--target", "my/test.de", "--output", "-")
    assert len(scores.out.splitlines()) == 30
    for arguments in (("inspect", "runs/tiny", "Ein Hund läuft."), ("compare", "runs/tiny", "runs/tiny", *files)):
        outcome = command(*arguments, "--output", "-")
        assert outcome.code == 0
        assert outcome.out.startswith("<!")
        assert outcome.out.rstrip().endswith("</html>")
        assert command(*arguments, "--output", "page.html").code == 0
        assert Path("page.html").read_text("utf-8").strip() == outcome.out.strip()
    assert "choose one" in command("compare", "runs/tiny", "runs/tiny", *files, "--json", "--output", "-").error
    assert not Path("-").exists()


def test_convert_pipes_pairs(place: Path, command: Command) -> None:
    pairs = b"Ein Hund\tA dog\nohne\t\nEin Haus\tA house\n"
    outcome = command("convert", "-", "-", "--languages", "de-en", stdin=pairs)
    assert (outcome.code, outcome.out) == (0, "Ein Hund\tA dog\nEin Haus\tA house\n")
    assert outcome.error == "-: 2 pairs; left out 1 pair with an empty side\n"
    assert command("convert", "-", "a.jsonl", "--languages", "de-en", stdin=pairs).out.startswith("a.jsonl: 2 pairs")
    assert command("convert", "a.jsonl", "-", "--languages", "de-en").out == outcome.out
    damaged = command("convert", "-", "-", "--languages", "de-en", stdin=pairs + b"x\n")
    assert (damaged.code, damaged.out) == (2, "")
    assert damaged.error == "dragoman: standard input line 4: expected 2 columns, found 1\n"


def test_each_kind_of_warning_is_printed_once(place: Path, command: Command, translator: Translator) -> None:
    lines = ["Ein Hund läuft.", "Hund", "EIN HUND LÄUFT IM PARK.", "Haus", "EINE FRAU LIEST EIN BUCH."]
    outcome = command("translate", "runs/tiny", stdin="\n".join(lines).encode())
    assert outcome.out.splitlines() == [translator(line).text for line in lines]
    first, second, *problems = outcome.error.splitlines()
    assert not any(" line " in problem for problem in problems)
    assert first.startswith("dragoman: warning: line 2 is a single word")
    assert second.startswith("dragoman: warning: line 3 is in capital letters")
    assert command("translate", "runs/tiny", *lines).error.startswith("dragoman: warning: text 2 is a single word")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("init my/a.de my/a.en", "dragoman init my/a.de my/a.en --output OUTPUT"),
        ("evaluate runs/tiny", "dragoman evaluate runs/tiny --source SOURCE --reference REFERENCE"),
        ("doctor output runs/tiny --source=a", "dragoman doctor output runs/tiny --source=a --reference REFERENCE"),
    ],
)
def test_missing_options_are_answered_with_the_command(arguments: str, expected: str, command: Command) -> None:
    outcome = command(*arguments.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.error.endswith(f"; expected: {expected}\n")
