"""Scripts: which letters belong to them, which languages are written in them, and how they separate words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

import langcodes
import numpy as np
import regex
from langcodes.tag_parser import LanguageTagError
from numpy.typing import NDArray

from dragoman.languages.codes import primary_language

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


RIGHT_TO_LEFT_SCRIPTS = frozenset(("Adlm", "Arab", "Hebr", "Mand", "Nkoo", "Rohg", "Syrc", "Thaa"))
SCRIPTS_WITH_CASE = ("Latin", "Greek", "Cyrillic", "Armenian")
"""Scripts that have capital letters, of those that are distinguished."""

SCRIPTS_WITHOUT_SPACES = ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar")
"""Scripts that put no spaces between words."""

WITHOUT_SPACES = "".join(rf"\p{{Script={script}}}" for script in SCRIPTS_WITHOUT_SPACES)
"""Their letters, as part of a set of characters of the `regex` library."""

_LETTER = regex.compile(r"\p{L}")
_LETTER_WITHOUT_SPACES = regex.compile(rf"[\p{{L}}&&[{WITHOUT_SPACES}]]", regex.VERSION1)
_SEVERAL_SCRIPTS = {"az", "kk", "ks", "ku", "ky", "mn", "ms", "sd", "sr", "tg", "tk", "tt", "ug", "uz"}
"""Languages of which several scripts are usual."""

_DOTTED = {"tr", "az", "crh", "tt"}
"""Languages that write i with and without a dot, also as a capital letter."""


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


def script_shares(texts: Sequence[str]) -> dict[str, float]:
    """The share of each script in the letters of all texts, most common first; scripts that do not occur are left out.

    Letters of scripts that are not in `SCRIPTS` do not count.
    """
    letters = count_letters(texts)[:, 1:].sum(axis=0).tolist()
    counts = Counter({name: count for name, count in zip(SCRIPTS[1:], letters, strict=True) if count})
    return {name: round(count / counts.total(), 6) for name, count in counts.most_common()}


def usual_script(language: str) -> str | None:
    """The name of the script in which a language is usually written, or None if it is not known, or several are usual.

    Args:
        language: Its code, perhaps with a script or a region: ``sr-Latn`` is written in Latin script.
    """
    primary = primary_language(language)
    try:
        tag, likely = langcodes.get(language), langcodes.get(primary).maximize()
    except LanguageTagError:
        return None
    is_known = (
        primary == "en" or likely.territory != "US"
    )  # of unknown languages, langcodes says the same as of English
    if not tag.script and (primary in _SEVERAL_SCRIPTS or not is_known):
        return None
    return SCRIPT_OF_CODE.get(tag.maximize().script or "")


def is_right_to_left(language: str) -> bool:
    """Whether most texts in a language are written from right to left, or in the script that its code has."""
    try:
        return langcodes.get(language).maximize().script in RIGHT_TO_LEFT_SCRIPTS
    except LanguageTagError:
        return False


def has_no_spaces(texts: Iterable[str]) -> bool:
    """Whether most letters of the texts belong to scripts that put no spaces between words."""
    letters = without_spaces = 0
    for text in texts:
        letters += len(_LETTER.findall(text))
        without_spaces += len(_LETTER_WITHOUT_SPACES.findall(text))
    return 2 * without_spaces > letters


def begins_small(text: str) -> bool:
    """Whether a text begins with a small letter, which would be a capital at the beginning of a sentence.

    In Unicode, the letters of Georgian are small, but its sentences begin with them.
    """
    first = text[:1]
    return first.islower() and first != first.title()


def has_dotted_capital(language: str) -> bool:
    """Whether İ is the capital letter of i in a language, and I that of ı."""
    return primary_language(language) in _DOTTED
