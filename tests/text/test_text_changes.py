"""Changes to text: only what they promise is changed."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from dragoman.languages.sentence_marks import without_end
from dragoman.text.augmentation import (
    TEXT_CHANGES,
    add_typos,
    to_title_case,
    to_upper_case,
    without_end_punctuation,
)

SENTENCES = [
    "Ein kleiner Junge spielt im Park mit einem großen braunen Hund.",
    "It's a well-known „fact“, isn't it?",
    "NASA hat 3 Raketen",
    "मैं अपने घर जा रहा हूँ।",
    "我们都是朋友。",
    "أنا ذاهب إلى البيت.",
    "-",
    "",
]
WITHOUT_CASE = SENTENCES[3:]


@pytest.mark.parametrize("text", SENTENCES)
def test_changes_of_case_change_nothing_else(text: str) -> None:
    for changed in (to_upper_case(text, "de"), to_title_case(text, "de")):
        assert changed.casefold() == text.casefold()
        assert len(changed.split()) == len(text.split())
    assert to_upper_case(to_title_case(text, "de"), "de") == to_upper_case(text, "de")


@pytest.mark.parametrize("text", WITHOUT_CASE)
def test_scripts_without_case_are_unchanged(text: str) -> None:
    assert to_upper_case(text, "hi") == to_title_case(text, "hi") == text


def test_every_word_of_a_title_starts_with_a_capital_letter() -> None:
    assert to_title_case("it's a „fact“ of the NASA, 3rd in a well-known list", "en") == (
        "It's A „Fact“ Of The NASA, 3rd In A Well-known List"
    )


def test_turkish_has_two_letters_i() -> None:
    for code in ("tr", "tr-TR", "tur", "az-Latn"):
        assert to_upper_case("ışık için", code) == "IŞIK İÇİN"
    assert to_upper_case("için", "de") == "IÇIN"
    assert to_title_case("istanbul ılık", "tr") == "İstanbul Ilık"


@pytest.mark.parametrize("end", [".", "!", "?", "...", "…", " .", "。", "।", "؟", "?!"])
def test_end_punctuation_is_removed_from_both_sides(end: str) -> None:
    assert without_end(f"Ein Hund{end}") == "Ein Hund"
    assert without_end_punctuation(f"Dr. Hund{end}", f"A dog{end}") == ("Dr. Hund", "A dog")


@pytest.mark.parametrize("pair", [("Ein Hund", "A dog."), ("Ein Hund.", "A dog"), (".", "A dog."), ("", "")])
def test_pairs_keep_their_end_punctuation_unless_both_sides_have_it(pair: tuple[str, str]) -> None:
    assert without_end_punctuation(*pair) == pair


@pytest.mark.parametrize("text", SENTENCES)
def test_typos_change_a_few_words(text: str) -> None:
    for seed in range(50):
        changed = add_typos(text, Random(seed))
        assert changed == add_typos(text, Random(seed))
        before, after = text.split(), changed.split()
        assert len(after) == len(before)
        different = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
        assert len(different) <= max(1, len(before) / 5)
        for word, misspelled in different:
            assert abs(len(word) - len(misspelled)) <= 2
            assert (Counter(word) - Counter(misspelled)).total() <= 2


def test_long_words_get_a_typo_and_short_ones_do_not() -> None:
    assert all(add_typos("ja ok", Random(seed)) == "ja ok" for seed in range(50))
    changed = {add_typos("Hund", Random(seed)) for seed in range(300)}
    assert "Hund" not in changed
    assert {"uHnd", "Hnud", "Hudn", "und", "Hnd", "Hun", "HHund", "Huund", "Hundd"} <= changed


def test_typos_are_in_the_source_only() -> None:
    source, target = TEXT_CHANGES["typos"]("Ein Hund läuft.", "A dog runs.", ("de", "en"), "7")
    assert (source != "Ein Hund läuft.", target) == (True, "A dog runs.")
