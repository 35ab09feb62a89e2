"""Fonts for pictures contain the characters of a text, or a warning names what to install."""

from __future__ import annotations

import warnings

import pytest
from matplotlib import font_manager

from dragoman.explanation import fonts
from dragoman.explanation.fonts import choose_fonts

HINDI = ["जल", "वायु", "परिवर्तन"]


def test_fonts_contain_all_characters() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        families = choose_fonts([*HINDI, "Hund"])
    if any("no installed font" in str(each.message) for each in caught):
        pytest.skip("no font with Devanagari is installed")
    covered = set()
    for family in families:
        covered |= set(map(chr, font_manager.get_font(font_manager.findfont(family)).get_charmap()))
    assert set("".join(HINDI)) <= covered


def test_latin_greek_and_cyrillic_need_no_other_font() -> None:
    assert choose_fonts(["Mädchen", "Straße", "Żółć", "собака", "σκύλος"]) == ["DejaVu Sans"]


@pytest.mark.parametrize(
    ("texts", "message"),
    [(HINDI, r"Devanagari.*fonts-noto-core or fonts-lohit-deva"), (["犬"], r"Cjk.*fonts-noto-cjk")],
)
def test_a_missing_font_is_reported_with_its_package(
    texts: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    with pytest.warns(UserWarning, match=message):
        assert choose_fonts(texts) == ["DejaVu Sans"]


def test_missing_text_shaping_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "shapes_text", lambda: False)
    with pytest.warns(UserWarning, match=r"does not shape Arabic text"):
        choose_fonts(["كلب"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        choose_fonts(["Hund"])
