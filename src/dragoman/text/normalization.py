"""Which characters text may contain, and how white space is normalized."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
import regex
from numpy.typing import NDArray

from dragoman.languages.scripts import WITHOUT_SPACES

METASPACE = "▁"
"""U+2581, which stands for a space in subword tokens. In a user's text it counts as a space."""

SPACES = rf"[\s\p{{Cc}}{METASPACE}]+"
"""Pattern of what becomes one space: a run of white space, control characters (including NUL) and U+2581.

The `regex` and `tokenizers` libraries both understand this spelling.
"""

_SPACES = regex.compile(SPACES)
_SURROGATES = regex.compile(r"\p{Cs}")
_IGNORABLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
_PUNCTUATION = regex.compile(r"[\s\p{P}]+")
INVISIBLE = regex.compile(
    r"[\u00AD\u061C\u200E\u200F\u202A-\u202E\u2060\u2066-\u2069\uFEFF]"
    rf"|(?<![{WITHOUT_SPACES}])\u200B"  # between such letters, it separates words
    r"|(?<=\p{Latin})\u200C"  # against ligatures
)
_LINE_ENDS = str.maketrans("\n\r\v\f\x85", "     ")
_FORBIDDEN = regex.compile(r"[[\p{Cc}\p{Cs}]--\t]", regex.VERSION1)


def find_forbidden(text: str) -> int | None:
    """The position of the first character that a sentence must not contain, or None.

    Forbidden are control characters (Unicode category Cc) except the tab, and lone surrogates (Cs), which JSON can
    express but UTF-8 cannot.
    """
    if text.isprintable():  # true for most sentences, and five times as fast as the search
        return None
    match = _FORBIDDEN.search(text)
    return match.start() if match else None


def find_control(text: str) -> int | None:
    """As `find_forbidden`, for text of several lines: line ends and form feeds are allowed."""
    return find_forbidden(text.translate(_LINE_ENDS))


def replace_forbidden(text: str) -> str:
    """The text with a space in place of every character that `find_forbidden` finds."""
    return text if text.isprintable() else _FORBIDDEN.sub(" ", text)


def replace_surrogates(text: str) -> str:
    r"""The text with U+FFFD in place of lone surrogates, which JSON's ``\\ud800`` produces and UTF-8 cannot encode."""
    return _SURROGATES.sub("\ufffd", text)


def remove_invisible(text: str) -> str:
    """The text without soft hyphens, marks of direction, byte order marks, and spaces and joiners of no width.

    Those stay that tell words apart: between letters of scripts without spaces (U+200B), and within words of Arabic and
    Indic scripts (U+200C). U+200D always stays, because emoji contain it, too.
    """
    return text if text.isprintable() else INVISIBLE.sub("", text)


def visible_form(text: str) -> str:
    """The text in Unicode's normal form C without invisible characters; texts that look the same are often equal."""
    # twice: an invisible character may separate a letter from its accent, or follow it
    return unicodedata.normalize("NFC", remove_invisible(unicodedata.normalize("NFC", text)))


def basic_form(text: str) -> str:
    """The text in Unicode's normal form KC without anything that programs may ignore.

    Full-width letters, ligatures and forms of Arabic letters are those letters. Marks between words without spaces and
    between joined letters are left out, too, so this is for comparing only.
    """
    return text if text.isascii() else unicodedata.normalize("NFKC", _IGNORABLE.sub("", text))


def visible_positions(text: str) -> list[int]:
    """The positions of the characters that `remove_invisible` keeps, and the length of the text."""
    invisible = {match.start() for match in INVISIBLE.finditer(text)}
    return [position for position in range(len(text) + 1) if position not in invisible]


def collapse_spaces(text: str) -> str:
    """The text on one line: every match of `SPACES` becomes one space; none remain at the ends."""
    if text.isprintable() and METASPACE not in text and "  " not in text:  # 20 times as fast
        return text.strip(" ")
    return _SPACES.sub(" ", text).strip(" ")


def compared_form(text: str) -> str:
    """The text on one line, in its visible form: texts that a reader cannot tell apart are equal."""
    return collapse_spaces(visible_form(text))


def simplify(text: str) -> str:
    """The text in lower case, without spaces and punctuation; all of it if there is nothing else."""
    return _PUNCTUATION.sub("", text.casefold()) or text


def simplify_lines(lines: Sequence[str]) -> list[str]:
    """What `simplify` returns for each of many lines, in a quarter of the time.

    Args:
        lines: Texts without line breaks.
    """
    codes = np.frombuffer("\n".join(lines).casefold().encode("utf-32-le", "surrogatepass"), np.uint32)
    kept = codes[_kept_by_simplify()[codes]].tobytes().decode("utf-32-le", "surrogatepass").split("\n")
    return [simple or line for simple, line in zip(kept, lines, strict=True)] if lines else []


@cache
def _kept_by_simplify() -> NDArray[np.bool_]:
    """Whether each code point is neither a space nor punctuation; the line break is kept."""
    every = np.arange(sys.maxunicode + 1, dtype=np.uint32).tobytes().decode("utf-32-le", "surrogatepass")
    kept = np.ones(len(every), np.bool_)
    for run in _PUNCTUATION.finditer(every):
        kept[run.start() : run.end()] = False
    kept[ord("\n")] = True
    return kept
