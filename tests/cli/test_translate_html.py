"""dragoman translate --format html."""

from __future__ import annotations

from pathlib import Path

import pytest

import dragoman
from conftest import Command
from dragoman.documents.formats.html import HtmlText
from dragoman.documents.translate import TextTranslator

HTML = '<p class="k">Ein <b>kleiner Hund</b>\r\nläuft. <!-- Hund --><i>Zwei</i> Frauen lesen.</p>\n<pre>  </pre>\n'


@pytest.fixture(scope="module")
def expected(finished_run: Path) -> str:
    texts = TextTranslator(dragoman.load(finished_run))
    return texts.translate(HtmlText(HTML, "de"))


def test_a_file_and_standard_input_are_one_document(
    command: Command, finished_run: Path, tmp_path: Path, expected: str
) -> None:
    page, output = tmp_path / "page.html", tmp_path / "out.html"
    page.write_bytes(HTML.encode())
    options = (finished_run, "--format", "html")
    assert command("translate", *options, "--input", page, "--output", output).code == 0
    assert output.read_bytes().decode() == expected
    assert command("translate", *options, stdin=HTML.encode()).out == expected
    assert expected.count("<b>") == expected.count("</b>") == expected.count("<!-- Hund -->") == 1
    assert expected.startswith('<p class="k">')
    assert expected.endswith("</p>\n<pre>  </pre>\n")


def test_each_text_is_a_document(command: Command, finished_run: Path) -> None:
    outcome = command("translate", finished_run, "--format", "html", "<p>Ein Hund", "</p>")
    first, second = outcome.out.splitlines()
    assert first.startswith("<p>")
    assert second == "</p>"


def test_impossible_options_and_files(command: Command, finished_run: Path, tmp_path: Path) -> None:
    outcome = command("translate", finished_run, "--format", "html", "--json", "<p>")
    assert (outcome.code, "--json" in outcome.error) == (2, True)
    damaged = tmp_path / "latin.html"
    damaged.write_bytes("<p>für".encode("latin-1"))
    for path, problem in ((damaged, "UTF-8"), (tmp_path / "missing.html", "No such file")):
        outcome = command("translate", finished_run, "--format", "html", "--input", path)
        assert outcome.code == 2
        assert problem in outcome.error
        assert str(path) in outcome.error
