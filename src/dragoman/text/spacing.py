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
    ``l'``), quotation marks in pairs. Words that are white space are left out.
    """
    text = ""
    glue = True
    open_quotes: set[str] = set()
    for word in words:
        if not word.strip():
            continue
        before, after = _sticks(word, open_quotes)
        text += word if glue or before else " " + word
        glue = after
    return text


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
