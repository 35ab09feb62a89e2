"""Problems of single translations: each code for its problem, none for ordinary translations."""

from __future__ import annotations

import pytest

from dragoman.doctor.input import describe_text
from dragoman.doctor.output.text_checks import check_sentence

SOURCES = ["Der Hund läuft über die grüne Wiese.", "Die Frau liest ein Buch.", "Der Mann und das Kind schlafen."] * 9
TARGETS = ["The dog runs across the green meadow.", "The woman reads a book.", "The man and the child sleep."] * 9
TRAINED = describe_text(SOURCES, TARGETS, ("de", "en"))


@pytest.mark.parametrize(
    ("source", "translation", "problems"),
    [
        ("Der Hund läuft.", "The dog runs.", []),
        ("Der Hund läuft.", " ", ["empty"]),
        ("Der Hund läuft.", "… \\\\ --- 😀!", ["no words"]),
        ("Nr. 5", "5", []),
        ("…", "…", []),
        ("Der Hund läuft.", "The d\ufffdg runs.", ["broken characters"]),
        ("Der H\ufffdnd läuft.", "The d\ufffdg runs.", []),
        ("Der Hund läuft.", "A dog a dog a dog a dog a dog", ["loop", "too long"]),
        ("Sehr, sehr, sehr, sehr gut!", "Very, very, very, very good!", []),
        ("Der Hund läuft.", "The waaaaaaaaaaaaa", ["loop"]),
        ("狗在跑", "狗跑狗跑狗跑狗跑狗跑", ["loop", "too long"]),
        ("Der Hund und die Frau.", "der hund  und die Frau.", ["copied"]),
        ("Anna Müller", "Anna Müller", []),
        ("Ein altes Haus steht da", "Ein altes Haus steht da", ["copied"]),
        ("Der Hund läuft über die grüne Wiese und schläft.", "The dog.", ["too short"]),
        ("Der Hund läuft.", "The dog, which we have seen yesterday with its old owner, is running now.", ["too long"]),
    ],
)
def test_problems_are_found(source: str, translation: str, problems: list[str]) -> None:
    assert list(check_sentence(source, translation, TRAINED)) == problems


def test_lengths_need_a_description_of_the_training_text() -> None:
    older = TRAINED.model_copy(update={"length_ratio": None, "length_deviation": None})
    for trained in (None, older):
        assert list(check_sentence("Der Hund läuft über die grüne Wiese.", "Dog.", trained)) == []


def test_training_pairs_have_no_problems() -> None:
    for pair in zip(SOURCES, TARGETS, strict=True):
        assert list(check_sentence(*pair, TRAINED)) == []
