"""Statistics of the lines on one side of a corpus."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.scripts import count_letters
from dragoman.text.normalization import find_forbidden

Flags = NDArray[np.bool_]
"""One value per line or pair: whether it has a certain problem."""

Digests = NDArray[np.int64]

MAX_SENTENCE_CHARACTERS, MAX_SENTENCE_WORDS = 2000, 250  # a longer line is not a sentence
MIN_SCRIPT_LETTERS = 8  # texts with fewer letters have no script
MIN_SCRIPT_SHARE = 0.9  # of the letters
MIN_COPIED_WORDS = 3  # shorter texts, such as names, may be the same in both languages

# A replacement character; or the first byte of a UTF-8 sequence and the next byte, read as Windows-1252 or Latin-1.
_POSSIBLE_DAMAGE = re.compile("\ufffd|[Â-ô][\x80-¿€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]")


@dataclass(frozen=True)
class LineStatistics:
    """Statistics of the lines on one side of a corpus, one value per line.

    Attributes:
        lengths: Characters.
        digests: Hashes that ignore case and spacing.
        scripts: Indices in `SCRIPTS`; 0 if there is no predominant script.
        blank: Lines without text.
        control_characters: Lines with control characters.
        encoding_damage: Lines that were decoded with the wrong encoding.
        over_long: Lines that are too long for a sentence.
        translatable: Lines with enough words and letters that a translation must differ from them.
    """

    lengths: NDArray[np.uint32]
    digests: Digests
    scripts: NDArray[np.uint8]
    blank: Flags
    control_characters: Flags
    encoding_damage: Flags
    over_long: Flags
    translatable: Flags


def normalize(text: str) -> str:
    """The text in lower case with single spaces."""
    return " ".join(text.lower().split())


def compute_line_statistics(texts: Sequence[str], normalized: Sequence[str]) -> LineStatistics:
    """The statistics of lines, given as they are and as `normalize` returns them."""
    count = len(texts)
    letters = count_letters(texts)[:, 1:]  # (texts, scripts)
    total_letters = letters.sum(axis=1)
    predominant = (total_letters >= MIN_SCRIPT_LETTERS) & (letters.max(axis=1) > MIN_SCRIPT_SHARE * total_letters)
    lengths = np.fromiter(map(len, texts), np.uint32, count)
    words = np.fromiter((text.count(" ") + 1 for text in normalized), np.uint32, count)
    return LineStatistics(
        lengths=lengths,
        digests=np.fromiter(map(hash, normalized), np.int64, count),
        scripts=np.where(predominant, letters.argmax(axis=1) + 1, 0).astype(np.uint8),
        blank=np.fromiter((not text for text in normalized), np.bool_, count),
        control_characters=np.fromiter((find_forbidden(text) is not None for text in texts), np.bool_, count),
        encoding_damage=_flag_matches(texts, _POSSIBLE_DAMAGE, _is_damaged),
        over_long=(lengths > MAX_SENTENCE_CHARACTERS) | (words > MAX_SENTENCE_WORDS),
        translatable=(words >= MIN_COPIED_WORDS) & (total_letters >= MIN_SCRIPT_LETTERS),
    )


def join_statistics(parts: Sequence[LineStatistics]) -> LineStatistics:
    """The statistics of consecutive parts of a corpus as one."""
    empty = compute_line_statistics([], [])
    columns = (np.concatenate([getattr(part, field.name) for part in (empty, *parts)]) for field in fields(empty))
    return LineStatistics(*columns)


def _flag_matches(texts: Sequence[str], pattern: re.Pattern[str], confirm: Callable[[str], bool]) -> Flags:
    """Which texts contain the pattern and are confirmed. Texts are searched one by one only if any of them matches."""
    flags = np.zeros(len(texts), np.bool_)
    if pattern.search(" ".join(texts)):
        flags[:] = [bool(pattern.search(text)) and confirm(text) for text in texts]
    return flags


def _is_damaged(text: str) -> bool:
    """Whether text was decoded with the wrong encoding, or contains replacement characters."""
    import ftfy

    return "\ufffd" in text or ftfy.fix_encoding(text) != text
