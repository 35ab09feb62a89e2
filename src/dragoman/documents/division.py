"""Dividing sentences that are too long for a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import regex

from dragoman.text.placeholders import find_spans

_AFTER_SENTENCE = regex.compile(r"(?<=[.!?…।][\"'”’»)]?)\s+(?=\S)|(?<=[。！？][」』”）]?)(?=[^\s」』”）])")
_AFTER_CLAUSE = regex.compile(r"(?<=[,;:،؛])\s+(?=\S)|\s+(?=[–—-]\s)|(?<=[、，；：])(?=\S)")
_SPACE = regex.compile(r"\s+(?=\S)")
_CHARACTER = regex.compile(r"\X")  # with its accents
MIN_SHARE = 0.2  # of the characters, in the shorter of the two parts around a punctuation mark

Cut = tuple[int, int]
"""Where the first part ends and the second one starts."""


def divide(text: str, fits: Callable[[str], bool]) -> list[tuple[int, int]]:
    """The start and the end of parts that fit, in order, without the spaces between them; one part if the text fits.

    A text is divided after the sentence or clause that ends nearest to its middle, otherwise at a space, and only if
    there is none, inside a word. Placeholders, URLs and numbers stay in one part as long as they fit.
    """
    return list(_divide(text, 0, len(text), fits))


def _divide(text: str, start: int, end: int, fits: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    if fits(text[start:end]) or (cut := _best_cut(text[start:end])) is None:
        yield start, end
        return
    first_end, second_start = cut
    yield from _divide(text, start, start + first_end, fits)
    yield from _divide(text, start + second_start, end, fits)


def _best_cut(text: str) -> Cut | None:
    """The cut nearest to the middle among those of the best kind; None for a single character."""
    spans = [(span.start, span.end) for span in find_spans(text)]
    characters = [(match.end(), match.end()) for match in _CHARACTER.finditer(text)][:-1]

    def outside(cuts: list[Cut]) -> list[Cut]:
        return [cut for cut in cuts if cut[0] > 0 and not any(a < cut[1] and cut[0] < b for a, b in spans)]

    def at(pattern: regex.Pattern[str], central: bool = False) -> list[Cut]:
        margin = MIN_SHARE * len(text) if central else 0
        found = [match.span() for match in pattern.finditer(text)]
        return outside([cut for cut in found if margin <= cut[0] <= len(text) - margin])

    kinds = at(_AFTER_SENTENCE, central=True), at(_AFTER_CLAUSE, central=True), at(_SPACE), outside(characters)
    for cuts in (*kinds, characters):
        if cuts:
            return min(cuts, key=lambda cut: abs(sum(cut) - len(text)))
    return None
