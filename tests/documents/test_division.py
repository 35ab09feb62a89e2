"""Long sentences: parts fit, nothing is lost, and the places of the cuts are the best ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from span_texts import TEXTS

from dragoman.documents.sentences import divide


def parts(text: str, limit: int) -> list[str]:
    return [text[start:end] for start, end in divide(text, lambda part: len(part) <= limit)]


@given(TEXTS, st.integers(1, 20))
def test_parts_fit_and_nothing_is_lost(text: str, limit: int) -> None:
    spans = divide(text, lambda part: len(part) <= limit)
    last = 0
    for start, end in spans:
        assert text[last:start].strip() == ""
        last = end
    assert last == len(text)
    assert "".join("".join(parts(text, limit)).split()) == "".join(text.split())


@given(st.text("abc ,;", max_size=200), st.integers(1, 20))
def test_parts_of_simple_text_fit(text: str, limit: int) -> None:
    for part in parts(text, limit):
        assert len(part) <= limit


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("Ein Hund läuft", 14, ["Ein Hund läuft"]),
        ("Ein Hund läuft, eine Katze schläft", 20, ["Ein Hund läuft,", "eine Katze schläft"]),
        ("Ja, aber alle Hunde laufen schnell", 20, ["Ja, aber alle Hunde", "laufen schnell"]),
        ("Hundehütte Katzenklo", 12, ["Hundehütte", "Katzenklo"]),
        ("一二三四，五六七八", 5, ["一二三四，", "五六七八"]),
        ("一二三四五六七八", 4, ["一二三四", "五六七八"]),
        ("siehe https://a.de/a,b,c,d jetzt", 20, ["siehe", "https://a.de/a,b,c,d", "jetzt"]),
        ("zahle 1.000.000 Euro", 12, ["zahle", "1.000.000", "Euro"]),
        ("e\u0301e\u0301e\u0301e\u0301", 4, ["e\u0301e\u0301", "e\u0301e\u0301"]),
    ],
)
def test_the_best_place_is_chosen(text: str, limit: int, expected: list[str]) -> None:
    assert parts(text, limit) == expected
