"""Spacing around punctuation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.detokenizer import join_words


@pytest.mark.parametrize(
    "words",
    [
        "Ein| Mann|,| der| (|laut|)| singt|.",
        "Er| sagt| „|Hallo|“| und| geht|.",
        "He| says| “|hello|”| and| leaves|.",
        'The| "|best|"| of| "|all|"|!',
        "A| man|'s| t|-|shirt| is|n't| new|;| is| it|?",
        "L'|homme| d'|ici|.",
        "यह| कुत्ता| है|।",
        "130|.|50| of| 21|,|164|.|52|,| in| 2019|,| 200| people|,| 1|,| 2| or| 3|.",
        "am| 3.| 5.| 1990",
        "50|%| or| #|1| and/or".replace("and/or", "and|/|or"),
    ],
)
def test_punctuation_is_attached_as_usual(words: str) -> None:
    tokens = [word.strip() for word in words.split("|")]
    assert join_words(tokens) == words.replace("|", "")


@given(words=st.lists(st.text("abcä", min_size=1)))
def test_plain_words_are_joined_by_single_spaces(words: list[str]) -> None:
    assert join_words(words) == " ".join(words)


@given(words=st.lists(st.text("ab.,'\"-„“ \t()", max_size=3)))
def test_only_white_space_is_lost(words: list[str]) -> None:
    assert join_words(words).replace(" ", "").replace("\t", "") == "".join("".join(words).split())
