"""The scripts in which texts are written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import regex
from numpy.typing import NDArray

HAN_OR_KANA = "Han or Kana"  # one entry, because Japanese mixes Han characters, hiragana and katakana
SCRIPTS = (
    "none",
    *("Latin", "Greek", "Cyrillic", "Armenian", "Hebrew", "Arabic", "Devanagari", "Bengali", "Gurmukhi", "Gujarati"),
    *("Oriya", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Thai", "Lao", "Tibetan", "Myanmar", "Georgian"),
    *("Ethiopic", "Khmer", "Hangul", HAN_OR_KANA),
)
"""The scripts that are distinguished; elsewhere a script is its index here."""

SCRIPT_OF_CODE = {
    **{"Latn": "Latin", "Grek": "Greek", "Cyrl": "Cyrillic", "Armn": "Armenian", "Hebr": "Hebrew", "Arab": "Arabic"},
    **{"Deva": "Devanagari", "Beng": "Bengali", "Guru": "Gurmukhi", "Gujr": "Gujarati", "Orya": "Oriya"},
    **{"Taml": "Tamil", "Telu": "Telugu", "Knda": "Kannada", "Mlym": "Malayalam", "Sinh": "Sinhala", "Thai": "Thai"},
    **{"Laoo": "Lao", "Tibt": "Tibetan", "Mymr": "Myanmar", "Geor": "Georgian", "Ethi": "Ethiopic", "Khmr": "Khmer"},
    **{"Hang": "Hangul", "Kore": "Hangul"},
    **dict.fromkeys(["Hani", "Hans", "Hant", "Hira", "Kana", "Jpan"], HAN_OR_KANA),
}
"""The scripts by their codes in ISO 15924."""


def _letters_of(script: str) -> str:
    """A pattern for runs of letters and combining marks of a script."""
    if script == HAN_OR_KANA:
        # The prolonged sound mark ー is common in katakana, but Unicode assigns it to no script.
        characters = r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー"
    else:
        characters = rf"\p{{Script={script}}}"
    return rf"[[{characters}]&&[\p{{L}}\p{{M}}]]+"


@cache
def _script_of_code_points() -> NDArray[np.uint8]:
    """The script of every code point; 0 if it is not a letter of a script in `SCRIPTS`."""
    table = np.zeros(0x110000, dtype=np.uint8)
    characters = np.arange(len(table), dtype="<u4").tobytes().decode("utf-32-le", errors="surrogatepass")
    for index, script in enumerate(SCRIPTS[1:], start=1):
        for run in regex.finditer(_letters_of(script), characters, flags=regex.VERSION1):
            table[run.start() : run.end()] = index
    return table


def count_letters(texts: Sequence[str]) -> NDArray[np.int64]:
    """Letters of each script in each text, (texts, scripts); column 0 counts all other characters.

    A lookup table for all texts together is about ten times as fast as searching each text with `regex`.
    """
    if not texts:
        return np.zeros((0, len(SCRIPTS)), np.int64)
    code_points = np.frombuffer("".join(texts).encode("utf-32-le", errors="replace"), dtype=np.uint32)
    text_index = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    bins = text_index * len(SCRIPTS) + _script_of_code_points()[code_points]
    return np.bincount(bins, minlength=len(texts) * len(SCRIPTS)).reshape(len(texts), len(SCRIPTS))


def most_common_script(scripts: NDArray[np.uint8]) -> int:
    """The index of the most common script; 0 if no line has a predominant script."""
    counts = np.bincount(scripts[scripts > 0], minlength=1)
    return int(counts.argmax())
