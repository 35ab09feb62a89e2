"""The delimiter of a table is found in one way, whether the table is training text, a document or a glossary."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.glossary_file import read_glossary
from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.delimited import DELIMITERS, detect_delimiter
from dragoman.documents.formats.open import open_document
from dragoman.errors import UserError
from dragoman.settings import CorpusFile

LANGUAGES = ("de", "en")

CLEAR = {
    "one comma in a text": ["Der Hund;the dog", "Die Katze;the cat, kitten", "Maus;the mouse"],
    "a text in quotation marks": ['Der Hund;"the dog; hound"', "Die Katze;the cat"],
    "commas after most words": ["Der Hund;the dog, hound", "Die Katze, Kater, Tier;the cat", "Maus;the mouse"],
    "a single row": ["Der Hund;the dog"],
    "stated": ["sep=;", "Der Hund;the dog, hound", "Die Katze;the cat, kitten"],
}
"""Lines of tables with semicolons."""

UNCLEAR = {
    "both in all rows": ["Der Hund;the dog,hound", "Die Katze;the cat,kitten"],
    "both in a single row": ["Der Hund;the dog,hound"],
    "punctuation or delimiter": ["Der Hund, Tier;the dog", "Die Katze, Tier;the cat"],
}


def write(lines: list[str], path: Path) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.parametrize("delimiter", DELIMITERS)
@pytest.mark.parametrize("name", CLEAR)
def test_every_reader_finds_the_same_delimiter(name: str, delimiter: str, tmp_path: Path) -> None:
    other = "," if delimiter != "," else ";"
    lines = [line.translate({ord(";"): delimiter, ord(","): other}) for line in CLEAR[name]]
    path = write(lines, tmp_path / "t.csv")
    pairs = [(pair.source, pair.target) for pair in read_corpus(str(path), source_language="de", target_language="en")]
    table = [line for line in CLEAR[name] if not line.startswith("sep=")]
    assert len(pairs) == len(table)
    assert all(source and target for source, target in pairs)
    assert [(term.source, term.target) for term in read_glossary(path, LANGUAGES).terms] == pairs
    segments = open_document(path.read_bytes(), "t.csv", LANGUAGES, ["2"]).segments
    translated, targets = "".join(segment.text for segment in segments), "".join(target for _, target in pairs)
    dividers = str.maketrans("", "", " \t|")  # inside a cell
    assert translated.translate(dividers) == targets.translate(dividers)


@pytest.mark.parametrize("name", UNCLEAR)
def test_every_reader_refuses_what_is_not_clear(name: str, tmp_path: Path) -> None:
    path = write(UNCLEAR[name], tmp_path / "t.csv")
    errors = []
    for read in (
        lambda: list(read_corpus(str(path), source_language="de", target_language="en")),
        lambda: read_glossary(path, LANGUAGES),
        lambda: open_document(path.read_bytes(), "t.csv", LANGUAGES),
    ):
        with pytest.raises(UserError, match=r"t\.csv line 1: the columns may be separated by ") as error:
            read()
        errors.append(str(error.value))
    assert "delimiter" in errors[0]
    assert "write sep=, or sep=; in a line above the table" in errors[2]
    stated = ["sep=;", *UNCLEAR[name]]
    expected = [line.split(";")[1] for line in UNCLEAR[name]]
    declared = CorpusFile(file=str(path), delimiter=";")
    pairs = read_corpus(declared, source_language="de", target_language="en")
    assert [pair.target for pair in pairs] == expected
    content = write(stated, path).read_bytes()
    assert [segment.text for segment in open_document(content, "t.csv", LANGUAGES, ["2"]).segments] == expected


@pytest.mark.parametrize("text", ["Ein Hund\nEine Katze\n", "Ein Hund, der bellt\nEine Katze\n\nUnd, ja, so\n"])
def test_a_single_column_has_no_delimiter(text: str) -> None:
    assert detect_delimiter(text.splitlines(), True, "t.csv") is None
    segments = open_document(text.encode(), "t.csv", LANGUAGES).segments
    assert [segment.text for segment in segments] == [line for line in text.splitlines() if line]
