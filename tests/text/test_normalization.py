"""Characters that text must not contain, and white space."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.normalization import (
    METASPACE,
    collapse_spaces,
    find_forbidden,
    remove_invisible,
    replace_forbidden,
    replace_surrogates,
    simplify,
    simplify_lines,
    visible_positions,
)

CHARACTERS = [chr(code) for code in range(sys.maxunicode + 1)]


def test_control_characters_except_the_tab_and_surrogates_are_forbidden() -> None:
    forbidden = {character for character in CHARACTERS if find_forbidden(character) is not None}
    categories = {character: unicodedata.category(character) for character in CHARACTERS}
    assert forbidden == {character for character in CHARACTERS if categories[character] in ("Cc", "Cs")} - {"\t"}


@given(text=st.text())
def test_the_first_forbidden_character_is_found_and_all_are_replaced(text: str) -> None:
    found = [position for position, character in enumerate(text) if find_forbidden(character) is not None]
    assert find_forbidden(text) == (found[0] if found else None)
    replaced = replace_forbidden(text)
    assert find_forbidden(replaced) is None
    assert [one for one, other in zip(replaced, text, strict=True) if one != other] == [" "] * len(found)


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("Auf\u200clage", "Auflage"),
        ("\ufeffHun\u00add\u200b", "Hund"),
        ("خانه\u200cها", "خانه\u200cها"),
        ("क्\u200dष", "क्\u200dष"),
        ("ខ្ញុំ\u200bស្រឡាញ់", "ខ្ញុំ\u200bស្រឡាញ់"),
        ("👩\u200d🚒", "👩\u200d🚒"),
    ],
)
def test_invisible_characters_are_removed_that_no_word_needs(text: str, visible: str) -> None:
    assert remove_invisible(text) == visible
    assert "".join(f"{text} "[position] for position in visible_positions(text)) == f"{visible} "


def test_only_surrogates_are_replaced() -> None:
    replaced = replace_surrogates("".join(CHARACTERS))
    expected = ["\ufffd" if "\ud800" <= character <= "\udfff" else character for character in CHARACTERS]
    assert replaced == "".join(expected)


def test_white_space_control_characters_and_the_metaspace_are_spaces() -> None:
    for character in CHARACTERS:
        is_space = character.isspace() or unicodedata.category(character) == "Cc" or character == METASPACE
        assert (collapse_spaces(f"a{character}b") == "a b") == is_space


@given(text=st.text(st.sampled_from(["a", " ", "\t", "\n", "\0", "\u2028", METASPACE])))
def test_runs_of_spaces_become_one_and_none_remain_at_the_ends(text: str) -> None:
    collapsed = collapse_spaces(text)
    assert collapsed == " ".join(part for part in collapsed.split(" ") if part)
    assert collapsed.replace(" ", "") == "a" * text.count("a")


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("Hallo, Welt!", "hallowelt"),
        ("STRASSE – Straße", "strassestrasse"),
        ("दो कुत्ते।", "दोकुत्ते"),
        ("好。", "好"),
        ("...", "..."),
        ("42.5 %", "425"),
    ],
)
def test_simplified_text_keeps_letters_marks_and_digits(text: str, simple: str) -> None:
    assert simplify(text) == simple


@given(st.lists(st.text(st.characters(exclude_characters="\n") | st.sampled_from(" .,-ßİΣ।"))))
def test_lines_are_simplified_as_each_of_them(lines: list[str]) -> None:
    assert simplify_lines(lines) == [simplify(line) for line in lines]
