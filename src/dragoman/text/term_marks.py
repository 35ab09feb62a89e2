"""Terms in a source: reserved characters mark a term, its translation as a lemma, and the end of both.

So a model learns to use the translation in the form that its sentence needs (Dinu et al. 2019; Bergmanis and Pinnis
2021). The characters are in front of spaces, so that all words keep their subwords: in "Der<1> Hund<2> hound<3> bellt",
the translation of "Hund" is "hound".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

TERM_MARKS = "\U0001fffe\U0001ffff\U0002fffe"
"""Noncharacters, which Unicode sets aside for a program's internal use. Each is a token."""

_TERM, _LEMMA, _END = tuple(TERM_MARKS)


class MarkedTerm(NamedTuple):
    """Characters of a source that are a term, and the lemma of its translation."""

    start: int
    end: int
    lemma: str


def mark_terms(text: str, terms: Iterable[MarkedTerm]) -> str:
    """A text with terms, in order, marked and followed by their translations."""
    parts, last = [], 0
    for start, end, lemma in terms:
        before = text[last:start].removesuffix(" ")
        space = text[last + len(before) : start] if start else " "  # also the first word begins like one after a space
        parts += [before, _TERM, space, text[start:end], _LEMMA, " ", lemma, _END]
        last = end
    return "".join([*parts, text[last:]])


def without_lemmas(ids: Sequence[int], marks: Sequence[int]) -> list[int]:
    """The ids of a source without marks and translations: those of the text itself.

    Args:
        ids: The ids.
        marks: The ids of `TERM_MARKS`.
    """
    kept, is_lemma = [], False
    for index in ids:
        is_lemma = index == marks[1] or (is_lemma and index != marks[2])
        if not (is_lemma or index in marks):
            kept.append(index)
    return kept
