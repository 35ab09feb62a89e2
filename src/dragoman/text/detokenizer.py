"""Words and punctuation back to running text."""

from __future__ import annotations

from collections.abc import Iterable

_CLOSING = frozenset(".,;:!?…%)]}»”’'।॥")
_OPENING = frozenset("([{«“‘¿¡#$")
_PAIRS = (('"', '"'), ("„", "“"))
_JOINING = frozenset({"-", "/", "'", "’"})
_APOSTROPHES = ("'", "’")
_NEGATIONS = ("n't", "n’t")


def join_words(words: Iterable[str]) -> str:
    """Words joined by spaces, except around punctuation as English and German set it.

    No space before closing and after opening marks, none around hyphens, slashes and apostrophes (``'s``, ``n't``,
    ``l'``), quotation marks in pairs, none within numbers (``130.50``, ``21,164``). Words that are white space are
    left out.
    """
    text = ""
    glue = True
    open_quotes: set[str] = set()
    last = ("", "")  # the two words before
    for word in words:
        if not word.strip():
            continue
        before, after = _sticks(word, open_quotes)
        text += word if glue or before or _goes_on(*last, word) else " " + word
        glue = after
        last = (last[1], word)
    return text


def _goes_on(number: str, mark: str, word: str) -> bool:
    """Whether three words are one number: digits around a point, or a comma with three digits after it, at most before.

    Years and lists have commas too, in "2019, 20 people" and "1, 2 or 3", but hardly those.
    """
    if not (number.isdecimal() and word.isdecimal()):
        return False
    return mark == "." or (mark == "," and len(word) == 3 and len(number) <= 3)


def _sticks(word: str, open_quotes: set[str]) -> tuple[bool, bool]:
    """Whether no space goes before the word, and none after it."""
    if word in _JOINING:
        return True, True
    if not any(character.isalnum() for character in word):
        for opening, closing in _PAIRS:
            if closing in word and opening in open_quotes:
                open_quotes.remove(opening)
                return True, False
            if opening in word:
                open_quotes.add(opening)
                return word[0] in _CLOSING, True
    before = word[0] in _CLOSING or word in _NEGATIONS
    return before, word[-1] in _OPENING or (word.endswith(_APOSTROPHES) and not before)
