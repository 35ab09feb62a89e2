"""`dragoman translate --document`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.documents.segment import Segment
from dragoman.documents.translate import TextTranslator
from dragoman.errors import counted
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command, SmallDisk

DOCX = '<w:document xmlns:w="w"><w:p><w:r><w:t>Ein Hund läuft.</w:t></w:r></w:p></w:document>'


def test_document_is_translated_into_the_same_format(
    finished_run: Path, command: Command, translator: Translator, tmp_path: Path
) -> None:
    (tmp_path / "in.md").write_text("# Ein Hund\n\nZwei Frauen lesen. Ein Mann schläft.\n\n```\nEin Hund\n```\n")
    outcome = command("translate", finished_run, "--document", tmp_path / "in.md", "--output", tmp_path / "out.md")
    assert (outcome.code, outcome.out) == (0, "")
    texts = TextTranslator(translator)
    sentences = ["Ein Hund", "Zwei Frauen lesen.", "Ein Mann schläft."]
    faulty = sum(bool(each.problems) for each in texts.translate_segments(list(map(Segment, sentences))))
    assert outcome.error.startswith(f"dragoman: warning: {counted(faulty, 'sentence')} with" if faulty else "")
    assert outcome.error.count("\n") == (1 + faulty if faulty else 0), "one line for each"
    heading, paragraph, *code = (tmp_path / "out.md").read_text().split("\n\n")
    assert heading == f"# {texts('Ein Hund')}"
    assert re.sub(r"\\", "", paragraph) == texts("Zwei Frauen lesen. Ein Mann schläft.")
    assert code == ["```\nEin Hund\n```\n"]


def test_the_first_sentences_with_problems_are_shown(finished_run: Path, command: Command, tmp_path: Path) -> None:
    texts = [f"The translation of sentence {number} has another language." for number in "abcdefg"]
    (tmp_path / "in.txt").write_text("\n".join(texts))
    outcome = command("translate", finished_run, "--document", tmp_path / "in.txt", "--output", tmp_path / "out.txt")
    warning, *shown, more = outcome.error.splitlines()
    assert (outcome.code, "7 sentences with probable problems" in warning, "2 more" in more) == (0, True, True)
    assert all("other language" in line and text[:50] in line for line, text in zip(shown, texts, strict=False))
    assert len(shown) == 5


def test_word_document_is_translated(
    finished_run: Path, command: Command, translator: Translator, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "in.docx", "w") as archive:
        archive.writestr("word/document.xml", DOCX)
    outcome = command("translate", finished_run, "--document", tmp_path / "in.docx", "--output", tmp_path / "out.docx")
    assert outcome.code == 0
    with zipfile.ZipFile(tmp_path / "out.docx") as archive:
        assert f">{translator('Ein Hund läuft.')}</w:t>" in archive.read("word/document.xml").decode()


def test_only_chosen_columns_are_translated(finished_run: Path, command: Command, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,text,note\n1,Ein Hund läuft.,Ein Hund läuft.\n")
    arguments = ("--document", tmp_path / "in.csv", "--output", tmp_path / "out.csv", "--columns", "text")
    assert command("translate", finished_run, *arguments).code == 0
    header, row = (tmp_path / "out.csv").read_text().splitlines()
    assert header == "id,text,note"
    assert row.endswith(",Ein Hund läuft.")
    assert not row.startswith("1,Ein Hund läuft.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns", "text", "Hund"], "name the table with --document"),
        (["--document", "{path}.docx"], "name the file for the translation with --output"),
        (["--document", "{path}.docx", "--output", "{path}.docx"], "is also the document"),
        (["--document", "{path}.docx", "--output", "{path}.pdf"], "let the name end in .docx"),
        (["--document", "{path}.docx", "--output", "{path}2.docx"], "not a valid ZIP archive"),
        (["--document", "-", "--output", "{path}2.docx"], "save the document to a file first"),
        (["--document", "{path}.txt", "--output", "{path}2.txt"], "no such file"),
        (["--document", "{path}.docx", "--output", "{path}2.docx", "Hund"], "cannot be combined with texts"),
    ],
)
def test_invalid_requests_leave_nothing_behind(
    arguments: list[str], message: str, finished_run: Path, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "letter.docx").write_bytes(b"PK\x03\x04 damaged")
    path = tmp_path / "letter"
    outcome = command("translate", finished_run, *(argument.format(path=path) for argument in arguments))
    assert outcome.code == 2
    assert message in outcome.error
    assert [each.name for each in tmp_path.iterdir()] == ["letter.docx"]


def test_full_disk_leaves_the_old_translation(
    finished_run: Path, command: Command, small_disk: SmallDisk, tmp_path: Path
) -> None:
    (tmp_path / "in.txt").write_text("Ein Hund läuft.\n" * 20_000)
    (small_disk.path / "out.txt").write_text("old")
    arguments = ("--document", tmp_path / "in.txt", "--output", small_disk.path / "out.txt")
    outcome = command("translate", finished_run, *arguments)
    assert outcome.code == 2
    assert "could not be saved: No space left on device" in outcome.error
    assert {path.name: path.read_text() for path in small_disk.path.iterdir()} == {"out.txt": "old"}


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_interrupted_translation_leaves_nothing_behind(finished_run: Path, number: int, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(
        "".join(f"Ein Hund läuft mit {count} Katzen nach Hause.\n" for count in range(20_000))
    )
    arguments = ["translate", finished_run, "--document", tmp_path / "in.txt", "--output", tmp_path / "out.txt"]
    process = subprocess.Popen([sys.executable, "-m", "dragoman", *map(str, arguments)], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 300
    while len(os.listdir(tmp_path)) == 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(os.listdir(tmp_path)) == 2, "a temporary file"
    process.send_signal(number)
    process.communicate(timeout=300)
    expected = {128 + number}
    if number == signal.SIGINT:  # how python -m ends if Ctrl-C interrupted an exec(), as of dataclasses in an import
        expected.add(-signal.SIGINT)
    assert process.returncode in expected
    assert os.listdir(tmp_path) == ["in.txt"]
