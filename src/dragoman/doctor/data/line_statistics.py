"""Statistics of the lines on one side of a corpus."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from dragoman.languages.scripts import SCRIPTS, count_letters
from dragoman.text.normalization import find_forbidden, simplify_lines, visible_form

Flags = NDArray[np.bool_]
"""One value per line or pair: whether it has a certain problem."""

Digests = NDArray[np.int64]

MAX_SENTENCE_CHARACTERS, MAX_SENTENCE_WORDS = 2000, 250  # a longer line is not a sentence
MIN_SCRIPT_LETTERS, MIN_SCRIPT_SHARE = 3, 0.6  # of a text that has a script
MIN_LATIN_LETTERS, MIN_LATIN_SHARE = 8, 0.9  # the same for Latin: names and commands are Latin in all languages
MIN_COPIED_WORDS, MIN_COPIED_LETTERS = 3, 8  # shorter texts, such as names, may be the same in both languages
MIN_DOUBLED = 4  # letters and digits of a text that a line has twice
LETTER_END, DIGIT_END = ord("a"), ord("0")
INVISIBLE = " \u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"  # of these, only U+0020 is white space

# A replacement character; or the first byte of a UTF-8 sequence and the next byte, read as Windows-1252 or Latin-1.
_POSSIBLE_DAMAGE = re.compile("\ufffd|[Â-ô][\x80-¿€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]")

_ENTITY = re.compile(  # also with the spaces that tokenizers insert
    r"&\s?(?:amp|apos|gt|lt|nbsp|quot|[aeiouAEIOU](?:acute|circ|grave|uml)|szlig|#\s?\d+|#\s?x[\da-fA-F]+)\s?;"
)
_TAG = re.compile(
    r"</?(?:a|b|big|body|br|center|code|div|em|font|h[1-6]|hr|html|i|img|li|ol|p|pre|s|script|small|span|strong|sub|sup|table|"
    r"tbody|td|th|tr|tt|u|ul)\b[^<>]*>",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class LineStatistics:
    """Statistics of the lines on one side of a corpus, one value per line.

    Attributes:
        lengths: Characters.
        digests: Hashes that ignore case, spaces and punctuation.
        scripts: Indices in `SCRIPTS`; 0 if there is no predominant script.
        blank: Lines without visible characters.
        control_characters: Lines with control characters.
        encoding_damage: Lines that were decoded with the wrong encoding.
        entities: Lines with HTML entities.
        tags: Lines with HTML tags.
        over_long: Lines that are too long for a sentence.
        lettered: Lines with letters.
        translatable: Lines with enough words and letters that a translation must differ from them.
        doubled: Lines that consist of the same text twice.
        ends: The code point of the last character of each line; those of `LETTER_END` and `DIGIT_END` stand for all
            letters and digits.
    """

    lengths: NDArray[np.uint32]
    digests: Digests
    scripts: NDArray[np.uint8]
    blank: Flags
    control_characters: Flags
    encoding_damage: Flags
    entities: Flags
    tags: Flags
    over_long: Flags
    lettered: Flags
    translatable: Flags
    doubled: Flags
    ends: NDArray[np.uint32]


def normalize(text: str) -> str:
    """The text without differences of case, accents' spelling and invisible characters, and with single spaces."""
    return " ".join(visible_form(text).casefold().split())


def compute_line_statistics(texts: Sequence[str], normalized: Sequence[str]) -> LineStatistics:
    """The statistics of lines, given as they are and as `normalize` returns them."""
    count = len(texts)
    letters = count_letters(texts)[:, 1:]  # (texts, scripts)
    total_letters = letters.sum(axis=1)
    lengths = np.fromiter(map(len, texts), np.uint32, count)
    words = np.fromiter((text.count(" ") + 1 for text in normalized), np.uint32, count)
    simplified = simplify_lines(normalized)
    return LineStatistics(
        lengths=lengths,
        digests=np.fromiter(map(hash, simplified), np.int64, count),
        scripts=_find_scripts(letters),
        blank=np.fromiter((not text.strip(INVISIBLE) for text in normalized), np.bool_, count),
        control_characters=np.fromiter((find_forbidden(text) is not None for text in texts), np.bool_, count),
        encoding_damage=_flag_matches(texts, _POSSIBLE_DAMAGE, _is_damaged),
        entities=_flag_matches(texts, _ENTITY),
        tags=_flag_matches(texts, _TAG),
        over_long=(lengths > MAX_SENTENCE_CHARACTERS) | (words > MAX_SENTENCE_WORDS),
        lettered=total_letters > 0,
        translatable=(words >= MIN_COPIED_WORDS) & (total_letters >= MIN_COPIED_LETTERS),
        doubled=np.fromiter(map(_is_doubled, simplified), np.bool_, count) & (total_letters > 0),
        ends=np.fromiter(map(end_of, texts), np.uint32, count),
    )


def _is_doubled(text: str) -> bool:
    half = len(text) // 2
    return half >= MIN_DOUBLED and len(text) == 2 * half and text[:half] == text[half:]


def end_of(text: str) -> int:
    """The code point of the last character of a text, see `LineStatistics.ends`."""
    last = text.rstrip()[-1:] or "\n"
    is_letter = unicodedata.category(last)[0] in "LM"  # words of many scripts end with a vowel sign, which is a mark
    return LETTER_END if is_letter else DIGIT_END if last.isnumeric() else ord(last)


def _find_scripts(letters: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The predominant script of each text, given how many letters of each script it has; 0 if there is none."""
    total, most, script = letters.sum(axis=1), letters.max(axis=1), letters.argmax(axis=1) + 1
    latin = script == SCRIPTS.index("Latin")
    enough = most >= np.where(latin, MIN_LATIN_LETTERS, MIN_SCRIPT_LETTERS)
    predominant = enough & (most > np.where(latin, MIN_LATIN_SHARE, MIN_SCRIPT_SHARE) * total)
    return np.where(predominant, script, 0).astype(np.uint8)


def join_statistics(parts: Sequence[LineStatistics]) -> LineStatistics:
    """The statistics of consecutive parts of a corpus as one."""
    empty = compute_line_statistics([], [])
    columns = (np.concatenate([getattr(part, field.name) for part in (empty, *parts)]) for field in fields(empty))
    return LineStatistics(*columns)


def _flag_matches(
    texts: Sequence[str], pattern: re.Pattern[str], confirm: Callable[[str], bool] = lambda _: True
) -> Flags:
    """Which texts contain the pattern and are confirmed. Texts are searched one by one only if any of them matches."""
    flags = np.zeros(len(texts), np.bool_)
    if pattern.search(" ".join(texts)):
        flags[:] = [bool(pattern.search(text)) and confirm(text) for text in texts]
    return flags


def _is_damaged(text: str) -> bool:
    """Whether text was decoded with the wrong encoding, or contains replacement characters.

    Control characters alone, which ftfy also replaces, are another problem.
    """
    import ftfy

    return "\ufffd" in text or ftfy.fix_encoding(text) not in (text, ftfy.fixes.fix_c1_controls(text))
