"""In which script, and roughly in which language, text is written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

# Blocks of the Unicode standard, first and last code point, that hold a script's letters.
_BLOCKS: dict[str, list[tuple[int, int]]] = {
    "Latin": [(0x41, 0x5A), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x24F), (0x1E00, 0x1EFF)],
    "Greek": [(0x370, 0x3FF), (0x1F00, 0x1FFF)],
    "Cyrillic": [(0x400, 0x52F)],
    "Armenian": [(0x531, 0x587)],
    "Hebrew": [(0x5D0, 0x5F2)],
    "Arabic": [(0x620, 0x64A), (0x671, 0x6D3), (0x750, 0x77F), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC)],
    "Devanagari": [(0x900, 0x963), (0x971, 0x97F)],
    "Bengali": [(0x980, 0x9E3), (0x9F0, 0x9FF)],
    "Gurmukhi": [(0xA00, 0xA65), (0xA70, 0xA7F)],
    "Gujarati": [(0xA80, 0xAE5), (0xAF0, 0xAFF)],
    "Oriya": [(0xB00, 0xB65)],
    "Tamil": [(0xB80, 0xBE5)],
    "Telugu": [(0xC00, 0xC65)],
    "Kannada": [(0xC80, 0xCE5)],
    "Malayalam": [(0xD00, 0xD65)],
    "Sinhala": [(0xD80, 0xDF3)],
    "Thai": [(0xE01, 0xE4E)],
    "Lao": [(0xE80, 0xECD)],
    "Tibetan": [(0xF00, 0xFBC)],
    "Myanmar": [(0x1000, 0x109F)],
    "Georgian": [(0x10A0, 0x10FF)],
    "Ethiopic": [(0x1200, 0x137F)],
    "Khmer": [(0x1780, 0x17D3)],
    "Hangul": [(0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7AF)],
    "Han or Kana": [(0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0x20000, 0x2A6DF)],
}
SCRIPTS = ["none", *_BLOCKS]

# Frequent little words that the other languages here seldom have, to tell which of two languages a text is in.
_WORDS = {
    "cs": "je se že jsem jsou který byl jako aby nebo",
    "da": "og er ikke jeg det til som af har på",
    "de": "der die das und ist nicht ein eine mit auf",
    "en": "the of and is to that with are you was",
    "es": "el los las y que una por con para está",
    "fi": "ja on ei se että hän oli mutta minä kun",
    "fr": "le les des et est une dans que qui pour",
    "hu": "a az és nem hogy egy van volt ez meg",
    "it": "il di che è una per sono della gli nel",
    "nl": "de het een en van is niet zijn op dat",
    "pl": "w i się na nie jest że to jak ale",
    "pt": "o os que uma não com para em é do",
    "ro": "și este un o la nu că din pe care",
    "sv": "och är inte jag det som en att på har",
    "tr": "bir ve bu da ne için çok değil var ben",
}
_SCRIPT_OF = {
    **dict.fromkeys(_WORDS, "Latin"),
    **dict.fromkeys(("ru", "uk", "bg", "be", "mk", "sr"), "Cyrillic"),
    **dict.fromkeys(("hi", "mr", "ne"), "Devanagari"),
    **dict.fromkeys(("ar", "fa", "ur"), "Arabic"),
    **dict.fromkeys(("zh", "ja"), "Han or Kana"),
    **{"el": "Greek", "he": "Hebrew", "ko": "Hangul", "bn": "Bengali", "as": "Bengali", "gu": "Gujarati"},
    **{"pa": "Gurmukhi", "ta": "Tamil", "te": "Telugu", "kn": "Kannada", "ml": "Malayalam", "si": "Sinhala"},
    **{"th": "Thai", "ka": "Georgian", "hy": "Armenian", "am": "Ethiopic", "km": "Khmer", "my": "Myanmar"},
}


@cache
def _table() -> NDArray[np.uint8]:
    table = np.zeros(0x110000, dtype=np.uint8)
    for number, blocks in enumerate(_BLOCKS.values(), start=1):
        for first, last in blocks:
            table[first : last + 1] = number
    return table


def count_letters(texts: Sequence[str]) -> NDArray[np.int64]:
    """Letters of each script in each text, (texts, scripts); column 0 counts what is no letter."""
    if not texts:
        return np.zeros((0, len(SCRIPTS)), np.int64)
    codes = np.frombuffer("\n".join(texts).encode("utf-32-le", errors="replace"), dtype=np.uint32)
    line = np.cumsum(codes == 10)
    counts = np.bincount(line * len(SCRIPTS) + _table()[codes], minlength=len(texts) * len(SCRIPTS))
    return counts.reshape(len(texts), len(SCRIPTS))


def expected_script(language: str) -> str | None:
    """The script that a language is usually written in, if it is known."""
    return _SCRIPT_OF.get(language)


def share_of_little_words(counts: dict[str, int], language: str) -> float | None:
    """Which share of the words counted are little words of the language; None if those are not known."""
    if language not in _WORDS:
        return None
    return sum(counts.get(word, 0) for word in _WORDS[language].split()) / max(1, sum(counts.values()))
