"""Joining words and punctuation into running text."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.languages.sentence_marks import UNSPACED_BEFORE

_CLOSING = frozenset(f"{UNSPACED_BEFORE}%'")
_OPENING = frozenset("([{«“‘¿¡#$")
_QUOTES = (('"', '"'), ("„", "“"))
_JOINING = frozenset({"-", "/", "'", "’"})
_APOSTROPHES = ("'", "’")
_NEGATIONS = ("n't", "n’t")


def join_words(words: Iterable[str]) -> str:
    """Words joined by spaces, with the spacing around punctuation that is usual in English and German.

    There is no space before closing and after opening punctuation, around hyphens, slashes and apostrophes (``'s``,
    ``n't``, ``l'``), inside quotation marks, and within numbers (``130.50``, ``21,164``). Words that are white space
    are dropped.
    """
    text = ""
    no_space = True
    open_quotes: set[str] = set()
    previous = ("", "")  # the last two words
    for word in words:
        if not word.strip():
            continue
        attach_left, attach_right = _attachment(word, open_quotes)
        text += word if no_space or attach_left or _continues_number(*previous, word) else " " + word
        no_space = attach_right
        previous = (previous[1], word)
    return text


def _continues_number(number: str, separator: str, word: str) -> bool:
    """Whether three words form one number: digits around a point, or around a comma as a thousands separator.

    A thousands separator has at most three digits before it and exactly three after it. That rarely occurs in dates
    and lists such as "2019, 20 people" and "1, 2 or 3".
    """
    if not (number.isdecimal() and word.isdecimal()):
        return False
    return separator == "." or (separator == "," and len(word) == 3 and len(number) <= 3)


def _attachment(word: str, open_quotes: set[str]) -> tuple[bool, bool]:
    """Whether there is no space before the word, and none after it; updates `open_quotes`."""
    if word in _JOINING:
        return True, True
    if not any(character.isalnum() for character in word):
        for opening, closing in _QUOTES:
            if closing in word and opening in open_quotes:
                open_quotes.remove(opening)
                return True, False
            if opening in word:
                open_quotes.add(opening)
                return word[0] in _CLOSING, True
    attach_left = word[0] in _CLOSING or word in _NEGATIONS
    return attach_left, word[-1] in _OPENING or (word.endswith(_APOSTROPHES) and not attach_left)
