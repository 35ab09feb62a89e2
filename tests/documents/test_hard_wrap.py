"""Text that was broken at a certain width: its paragraphs are joined, translated by sentences, and broken again."""

from __future__ import annotations

import textwrap
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.formats import open_document
from dragoman.documents.hard_wrap import WrappedText
from dragoman.documents.sentences import PlainText
from dragoman.text.translation import Translation

SENTENCES = [
    "Der kleine Hund läuft am frühen Morgen durch den Park und sucht seinen roten Ball.",
    "Eine Frau mit einem grünen Hut sieht ihm lange dabei zu und lacht.",
    "Danach gehen beide nach Hause, weil es angefangen hat zu regnen, und trinken Tee.",
    "Am Abend erzählt sie ihren Nachbarn von dem Hund, der ihr so gut gefallen hat.",
]
PARAGRAPH = " ".join(SENTENCES)
LAYOUTS = {
    "paragraphs": ("", ""),
    "indented": ("    ", "    "),
    "first line indented": ("    ", ""),
    "list": ("- ", "  "),
    "numbered": ("1. ", "   "),
    "quoted": ("> ", "> "),
}


def wrapped(first: str, others: str, width: int = 72, end: str = "\n") -> str:
    lines = textwrap.wrap(PARAGRAPH, width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)
    return end.join([*lines, "", *lines, ""])


def upper(document: WrappedText) -> str:
    return document.assemble([Translation(segment.text.upper()) for segment in document.segments])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("width", [40, 72, 100])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sentences_of_broken_lines_are_whole(layout: str, width: int, end: str) -> None:
    first, others = LAYOUTS[layout]
    text = f"Die Überschrift{end}{end}{wrapped(first, others, width, end)}"
    document = WrappedText(text, "de")
    assert [segment.text for segment in document.segments] == ["Die Überschrift", *SENTENCES, *SENTENCES]
    assert document.assemble([Translation(segment.text) for segment in document.segments]) == text
    translated = upper(document)
    assert translated.split() == text.upper().split()
    assert max(map(len, translated.splitlines())) <= width
    assert [line[: len(others)] for line in translated.splitlines()[2:]] == [
        line[: len(others)] for line in text.splitlines()[2:]
    ]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(SENTENCES * 3),
        "\n".join(f"- {sentence}" for sentence in SENTENCES),
        "Äpfel\nBirnen\nKirschen\nMilch\nBrot\nButter\nein Käse\nKartoffeln\n",
        "Wer reitet so spät durch Nacht und Wind?\nEs ist der Vater mit seinem Kind;\n"
        "Er hat den Knaben wohl in dem Arm,\nEr faßt ihn sicher, er hält ihn warm.\n",
        PARAGRAPH,
        "Ein Hund\nbellt laut.\n",
        "ein kleiner Hund, der bellt und läuft\nein Tier mit langen Ohren, das im Wald zwischen den Bäumen lebt\n"
        "ein Haus\neine Katze, die gern auf dem Sofa schläft\nein Baum\nein großes Haus mit Garten\n" * 3,
        "Name      Alter\nAnna         12\nBert          8\n" * 4,
        "",
    ],
    ids=["sentences", "list", "words", "verses", "one line", "few lines", "definitions", "columns", "empty"],
)
def test_other_lines_are_texts_by_themselves(text: str) -> None:
    document = WrappedText(text, "de")
    assert not document.breaks
    assert list(document.segments) == list(PlainText(text, "de").segments)


@pytest.mark.parametrize(
    ("language", "line", "following"),
    [
        ("de", "Das neue Museum am großen Platz in der Mitte wurde am", "3. Oktober eröffnet, als es schneite."),
        ("de", "Das neue Museum am großen Platz in der Mitte zeigt es,", "S. 12 in diesem Heft ist darüber."),
        ("en", "The new museum on the large square was opened that day by", "J. Smith and by his old brother."),
        ("pl", "Nowe muzeum na dużym placu w środku miasta otwarto dnia", "3. grudnia, i było to bardzo późno."),
    ],
)
def test_dates_and_initials_at_the_start_of_a_line_are_no_items(language: str, line: str, following: str) -> None:
    others = textwrap.wrap(f"{following} {PARAGRAPH}", len(line))
    document = WrappedText("\n".join([line, *others, ""]), language)
    assert document.width == len(line)
    assert document.segments[0].text == f"{line} {following}"


def test_numbered_items_that_were_broken_are_apart() -> None:
    items = [textwrap.fill(f"{number}. {PARAGRAPH[:-1]}", 60, subsequent_indent="   ") for number in (1, 2, 3)]
    text = "\n".join(items) + "\n"
    assert sum(segment.text.startswith(SENTENCES[0][:20]) for segment in WrappedText(text, "en").segments) == 3


def test_scripts_without_spaces_are_joined_without_them() -> None:
    sentence = (
        "小さな犬が朝早く公園を走り回って赤いボールを探しています。緑の帽子をかぶった女の人がそれを見て笑っています。"
    )
    text = "\n".join(textwrap.wrap(sentence * 4, 35))
    segments = [segment.text for segment in WrappedText(text, "ja").segments]
    assert "".join(segments) == sentence * 4
    assert len(segments) == 8


def test_a_message_says_that_lines_were_joined() -> None:
    with pytest.warns(UserWarning, match=r"a.txt: the lines are broken at \d+ characters, .* \d+ line breaks inside"):
        open_document(wrapped("", "").encode(), "a.txt", ("de", "en"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_document("\n".join(SENTENCES).encode(), "a.txt", ("de", "en"))


@given(st.lists(st.sampled_from([*SENTENCES, *PARAGRAPH.split(), " ", "\n", "\n\n", "> ", "- ", "\t", "\u2028"])))
def test_unchanged_text_is_identical(pieces: list[str]) -> None:
    text = "".join(pieces)
    for source in (text, wrapped("", "") + text):
        document = WrappedText(source, "de")
        assert document.assemble([Translation(segment.text) for segment in document.segments]) == source
        document.assemble([Translation("") for _ in document.segments])
