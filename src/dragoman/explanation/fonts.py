"""Selection of fonts for pictures: which fonts of this machine contain the characters of a text."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable
from pathlib import Path

import matplotlib.ft2font
from matplotlib import font_manager

DEFAULT_FAMILY = "DejaVu Sans"  # included in matplotlib
PACKAGES = {
    "DEVANAGARI": "fonts-noto-core or fonts-lohit-deva",
    **dict.fromkeys(("CJK", "HIRAGANA", "KATAKANA", "HANGUL"), "fonts-noto-cjk"),
}
"""The Debian package with a font for a script; fonts-noto-core covers most other scripts."""
INDIC_SCRIPTS = "BENGALI DEVANAGARI GUJARATI GURMUKHI KANNADA MALAYALAM ORIYA SINHALA TAMIL TELUGU"
COMPLEX_SCRIPTS = frozenset(f"{INDIC_SCRIPTS} ARABIC HEBREW KHMER LAO MYANMAR SYRIAC THAI TIBETAN".split())
"""Scripts that need text shaping: their characters join, are reordered, or run from right to left."""


def choose_fonts(texts: Iterable[str]) -> list[str]:
    """Font families that together contain all characters of the texts, for matplotlib's ``font.family``.

    Warns if no font of this machine contains some of them, or if matplotlib cannot shape them, and names the package
    to install.
    """
    characters = {character for text in texts for character in text if not character.isspace()}
    families, missing = [DEFAULT_FAMILY], characters - _characters(font_manager.findfont(DEFAULT_FAMILY))
    for path in sorted(font_manager.findSystemFonts(), key=_preference):
        if not missing:
            break
        try:
            covered = missing & _characters(path)
        except RuntimeError:  # the file is not a readable font
            continue
        if covered:
            font_manager.fontManager.addfont(path)
            families.append(font_manager.get_font(path).family_name)
            missing -= covered
    _warn_about_missing_fonts(missing)
    _warn_about_shaping(characters)
    return families


def script_names(characters: Iterable[str]) -> set[str]:
    """The scripts of characters: the first word of their Unicode names."""
    return {unicodedata.name(character, "UNKNOWN").split()[0].split("-")[0] for character in characters}


def shapes_text() -> bool:
    """Whether this matplotlib joins and reorders the characters of complex scripts; 3.11 and newer do."""
    return hasattr(matplotlib.ft2font, "__libraqm_version__")


def _characters(path: str) -> set[str]:
    return set(map(chr, font_manager.get_font(path).get_charmap()))


def _preference(path: str) -> tuple[bool, bool, str]:
    """The sort key of a font file: regular sans-serif fonts first."""
    name = Path(path).stem.lower()
    regular = name.endswith(("regular", "sans", "devanagari")) or "-" not in name
    return not regular, "serif" in name or "mono" in name, name


def _warn_about_missing_fonts(characters: set[str]) -> None:
    for script in sorted(script_names(characters)):
        package = PACKAGES.get(script, "fonts-noto-core")
        warnings.warn(
            f"no installed font supports {script.title()}: the PNG files show boxes instead of these characters. "
            f"Install a font (Debian: {package}). The SVG files and the HTML page use the fonts of the viewer.",
            stacklevel=4,
        )


def _warn_about_shaping(characters: set[str]) -> None:
    if not shapes_text() and (scripts := sorted(script_names(characters) & COMPLEX_SCRIPTS)):
        warnings.warn(
            f"this version of matplotlib does not shape {', '.join(map(str.title, scripts))} text in PNG files; use "
            "matplotlib 3.11 or newer. The SVG files and the HTML page are not affected.",
            stacklevel=4,
        )
