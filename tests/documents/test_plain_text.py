"""Plain text: everything between sentences comes back exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from span_texts import TEXTS

from dragoman.documents.sentences import PlainText, has_words
from dragoman.text.translation import Translation

LAYOUT = st.lists(
    st.sampled_from(
        ["- ", "* ", "1. ", "a) ", "\t", "\n", "\r\n", "\u2028", "  ", "Ein Hund. ", "你好。", "x", "😀", "."]
    )
).map("".join)


def segments(text: str, language: str = "de", whole_lines: bool = False) -> list[str]:
    return [segment.text for segment in PlainText(text, language, whole_lines).segments]


@given(TEXTS | LAYOUT | st.text(st.characters()), st.sampled_from(["de", "en", "hi", "zh"]), st.booleans())
def test_unchanged_segments_give_the_text(text: str, language: str, whole_lines: bool) -> None:
    document = PlainText(text, language, whole_lines)
    assert document.assemble([Translation(segment.text) for segment in document.segments]) == text
    assert all(map(has_words, segments(text, language, whole_lines)))


@given(LAYOUT)
def test_only_segments_change(text: str) -> None:
    document = PlainText(text, "de")
    kept = document.assemble([Translation("") for _ in document.segments])
    assert not has_words(kept.replace("1. ", "").replace("a) ", "")) or not document.segments


def test_a_lost_point_does_not_join_two_sentences() -> None:
    def assembled(text: str, *translations: str) -> str:
        return PlainText(text, "de").assemble([Translation(each) for each in translations])

    assert assembled("Ein Hund. Eine Katze! Ja.", "A dog", "A cat", "Yes") == "A dog. A cat! Yes"
    assert assembled("Ein Hund.\nEine Katze.", "A dog", "A cat") == "A dog\nA cat", "lines are apart anyway"
    assert assembled("Ein Hund. Ja.", "A dog!", "Yes") == "A dog! Yes"
    assert assembled("Ein Hund. Ja.", "कुत्ता", "हाँ") == "कुत्ता हाँ", "Hindi ends sentences in another way"


def test_layout_is_not_translated() -> None:
    text = "Liste:\n\n  - Ein Hund läuft. Er bellt.\r\n  * Eine Katze\n\t1. Auf\n 1.2. Ab\n a) Ja 😀\n\n> # 5.\n"
    document = PlainText(text, "de")
    expected = ["Liste:", "Ein Hund läuft.", "Er bellt.", "Eine Katze", "Auf", "Ab", "Ja 😀", "5."]
    assert [segment.text for segment in document.segments] == expected
    upper = document.assemble([Translation(segment.text.upper()) for segment in document.segments])
    assert upper == text.upper().replace("A)", "a)")


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "z. B. ein Hund läuft.", ["z. B. ein Hund läuft."]),
        ("de-AT", "d. h. er kommt.", ["d. h. er kommt."]),
        ("de", "2. Weltkrieg und Folgen", ["2. Weltkrieg und Folgen"]),
        ("de", "- 1. Mai ist Feiertag.", ["1. Mai ist Feiertag."]),
        ("de", "1. Auf\n\n1. Ab", ["Auf", "Ab"]),
        ("de", "1. Auf\nmit Hund\n2. Ab\n\nAm\n1. Mai", ["Auf", "mit Hund", "Ab", "Am", "1. Mai"]),
        ("de", "1. Mai\n" + "\n".join("abcdefghi") + "\n2. Juni", ["Mai", *"abcdefghi", "Juni"]),
        ("de", "1. Mai\n" + "\n".join("abcdefghij") + "\n2. Juni", ["1. Mai", *"abcdefghij", "2. Juni"]),
        ("de", "a) Auf\n(ii) Ab\n3) Zu", ["Auf", "Ab", "Zu"]),
        ("en", "2. Open it\ne. g. now", ["Open it", "e. g. now"]),
    ],
)
def test_words_are_no_markers_of_lists(language: str, text: str, expected: list[str]) -> None:
    assert segments(text, language) == expected


@pytest.mark.parametrize("text", ["", " \n\t", "😀🎉", "…!?", "- \n* "])
def test_texts_without_words_have_no_segment(text: str) -> None:
    document = PlainText(text, "de")
    assert not document.segments
    assert document.assemble([]) == text


def test_whole_lines_keep_their_sentences_together() -> None:
    text = "- Ein Hund. Er bellt. \nEine Katze.\n"
    assert segments(text, whole_lines=True) == ["Ein Hund. Er bellt.", "Eine Katze."]
    assert segments(text) == ["Ein Hund.", "Er bellt.", "Eine Katze."]


def test_a_space_replaces_what_separates_sentences_in_other_scripts() -> None:
    document = PlainText("你好。我很好！\n你呢？", "zh")
    translations = [Translation(text) for text in ("Hello.", "I am fine!", "And you?")]
    assert document.assemble(translations) == "Hello. I am fine!\nAnd you?"


def test_texts_of_a_memory_are_not_split() -> None:
    kept = {"Ein Hund. Er bellt.", "2. Eine Katze.", "Zwei Zeilen.\nEin Text."}
    text = "- Ein Hund. Er bellt.\n1. Eine Katze.\n2. Eine Katze.\nEin Hund. Er bellt. Er läuft.\n"
    assert [segment.text for segment in PlainText(text, "de", kept).segments] == [
        *("Ein Hund. Er bellt.", "Eine Katze.", "2. Eine Katze."),
        *("Ein Hund.", "Er bellt.", "Er läuft."),
    ]
    assert [segment.text for segment in PlainText("Zwei Zeilen.\nEin Text.", "de", kept).segments] == [
        "Zwei Zeilen.\nEin Text."
    ]
