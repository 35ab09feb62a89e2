"""The words of texts are found and compared as if text by text."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.doctor.data.line_statistics import DIGIT_END, LETTER_END, end_of
from dragoman.doctor.data.words import concatenate_words, find_words

TEXTS = [
    "Der kleine Hund läuft.",
    "",
    "DER  KLEINE HUND LÄUFT",
    "e-mail: 12,5 %",
    "१२ किलो",
    "我喜欢茶",
    "...",
    "Straße\nnach Rom",
]


def words_of(text: str) -> list[int]:
    hashes: list[int] = find_words([text]).hashes.tolist()
    return hashes


def test_words_are_found_in_each_text() -> None:
    words = find_words(TEXTS)
    assert words.counts.tolist() == [4, 0, 4, 4, 2, 4, 0, 3]
    parts = np.split(words.hashes, words.bounds[1:-1])
    assert [part.tolist() for part in parts] == [words_of(text) for text in TEXTS]
    assert words.text_indices.tolist() == [index for index, part in enumerate(parts) for _ in part]


@pytest.mark.parametrize(
    ("text", "other", "equal"),
    [
        ("der Hund", "DER, Hund!", True),
        ("translation", "translations", True),
        ("12", "१२", True),
        ("der Hund", "Hund der", False),
        ("ab c", "a bc", False),
        ("我喜欢", "我喜", False),
        ("the", "then", False),
    ],
)
def test_words_are_equal_without_case_punctuation_and_endings(text: str, other: str, equal: bool) -> None:
    assert (words_of(text) == words_of(other)) == equal


@pytest.mark.parametrize(
    ("text", "other", "equal"),
    [
        ("Die Straße", "DIE STRASSE", True),
        ("don't stop!", "don ' t stop", True),
        ("translation", "translations", False),
        ("Format-Liste", "Format Liste", False),
        ("PNG – Graphics", "PNG - Graphics", False),
        ("ab", "ba", False),
        ("a", "", False),
    ],
)
def test_letters_ignore_case_spaces_and_most_punctuation(text: str, other: str, equal: bool) -> None:
    texts = find_words(["another text", text, "...", other, text])
    assert (texts.letters[1] == texts.letters[3]) == equal
    assert texts.letters[1] == texts.letters[4], "the place in the chunk does not matter"


def test_words_are_selected_filtered_summed_and_joined() -> None:
    words = find_words(TEXTS)
    order = np.array([3, 0, 1])
    selected, expected = words.select(order), find_words([TEXTS[index] for index in order])
    for field in ("hashes", "bounds", "letters"):
        assert getattr(selected, field).tolist() == getattr(expected, field).tolist()
        joined = concatenate_words([find_words(TEXTS[:3]), find_words(TEXTS[3:])])
        assert getattr(joined, field).tolist() == getattr(words, field).tolist()
    assert words.sum_by_text(np.ones(len(words.hashes))).tolist() == words.counts.tolist()
    last = words.filter(np.append(np.diff(words.text_indices) > 0, True))
    assert last.counts.tolist() == [int(count > 0) for count in words.counts]


def test_the_end_of_a_text_is_a_letter_in_all_scripts() -> None:
    for text in ("Hund", "मुझे इसके बारे ", "ខ្ញុំ", "kočka\u030c"):
        assert end_of(text) == LETTER_END
    assert (end_of("Sei höflich,"), end_of("१९")) == (ord(","), DIGIT_END)
