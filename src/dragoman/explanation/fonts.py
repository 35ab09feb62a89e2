"""Fonts for pictures: which of those on this machine have the letters of a text."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable
from pathlib import Path

import matplotlib.ft2font
from matplotlib import font_manager

USUAL = "DejaVu Sans"  # which matplotlib brings along
PACKAGES = {
    "DEVANAGARI": "fonts-noto-core or fonts-lohit-deva",
    **dict.fromkeys(("CJK", "HIRAGANA", "KATAKANA", "HANGUL"), "fonts-noto-cjk"),
}
"""Debian's package with a font for a script; fonts-noto-core has most of them."""
INDIC = "BENGALI DEVANAGARI GUJARATI GURMUKHI KANNADA MALAYALAM ORIYA SINHALA TAMIL TELUGU"
JOINED = frozenset(f"{INDIC} ARABIC HEBREW KHMER LAO MYANMAR SYRIAC THAI TIBETAN".split())
"""Scripts whose letters change, move or run from the right: setting them one by one is wrong."""


def choose_fonts(texts: Iterable[str]) -> list[str]:
    """Families that between them have all letters of these texts, for matplotlib's ``font.family``.

    Warns where letters have no font on this machine, or would be set wrongly, and says what to install.
    """
    letters = {letter for text in texts for letter in text if not letter.isspace()}
    families, missing = [USUAL], letters - _letters(font_manager.findfont(USUAL))
    for path in sorted(font_manager.findSystemFonts(), key=_rank):
        if not missing:
            break
        try:
            covered = missing & _letters(path)
        except RuntimeError:  # not a font that can be read
            continue
        if covered:
            font_manager.fontManager.addfont(path)
            families.append(font_manager.get_font(path).family_name)
            missing -= covered
    _warn_of(missing, letters)
    return families


def scripts(letters: Iterable[str]) -> set[str]:
    """The scripts of letters, as Unicode names them in its names of letters."""
    return {unicodedata.name(letter, "UNKNOWN").split()[0].split("-")[0] for letter in letters}


def shapes_text() -> bool:
    """Whether this matplotlib joins and orders the letters of scripts that need it: it does from 3.11 on."""
    return hasattr(matplotlib.ft2font, "__libraqm_version__")


def _letters(path: str) -> set[str]:
    return set(map(chr, font_manager.get_font(path).get_charmap()))


def _rank(path: str) -> tuple[bool, bool, str]:
    """Regular sans-serif fonts first."""
    name = Path(path).stem.lower()
    plain = name.endswith(("regular", "sans", "devanagari")) or "-" not in name
    return not plain, "serif" in name or "mono" in name, name


def _warn_of(missing: set[str], letters: set[str]) -> None:
    for script in sorted(scripts(missing)):
        package = PACKAGES.get(script, "fonts-noto-core")
        warnings.warn(
            f"no font on this machine has the letters of {script.title()}: the pictures show boxes for them. "
            f"Install one (Debian: {package}). The SVG files and the HTML page are right wherever there is one.",
            stacklevel=4,
        )
    if not shapes_text() and (unshaped := sorted(scripts(letters) & JOINED)):
        warnings.warn(
            f"this matplotlib does not join the letters of {', '.join(map(str.title, unshaped))} in PNG files; "
            "matplotlib 3.11 or newer does. The SVG files and the HTML page are right.",
            stacklevel=4,
        )
