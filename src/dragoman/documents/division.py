"""Dividing sentences that are too long for a model."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

import regex

from dragoman.languages.sentence_marks import BETWEEN_SENTENCES
from dragoman.text.placeholders import find_spans

_AFTER_CLAUSE = regex.compile(r"(?<=[,;:،؛])\s+(?=\S)|(?<!\s)\s++(?=[–—-]\s)|(?<=[、，；：])(?=\S)")
_SPACE = regex.compile(r"(?<!\s)\s++(?=\S)")
_CHARACTER = regex.compile(r"\X")  # with its accents
MIN_SHARE = 0.2  # of the characters, in the shorter of the two parts around a punctuation mark
MOST_ACCENTS = 100  # of one character; a letter of any language has fewer

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
    for pattern, share in ((BETWEEN_SENTENCES, MIN_SHARE), (_AFTER_CLAUSE, MIN_SHARE), (_SPACE, 0)):
        cuts = (match.span() for match in pattern.finditer(text))
        if cut := _nearest_cut(text, cuts, spans, share):
            return cut
    edges = {edge for span in spans for edge in span}
    characters = [(place, place) for place in sorted({*_ends_of_characters(text), *edges})]
    middle = len(text) // 2, len(text) // 2
    return (
        _nearest_cut(text, characters, spans)
        or _nearest_cut(text, characters, ())
        or (middle if len(text) > MOST_ACCENTS else None)
    )


def _ends_of_characters(text: str) -> Iterator[int]:
    """Where characters end near the middle; a search of a whole text would be slow if it consists of flags."""
    start = max(0, len(text) // 2 - MOST_ACCENTS)
    end = start + 2 * MOST_ACCENTS
    for match in _CHARACTER.finditer(text, start, end):
        if match.end() < min(end, len(text)):
            yield match.end()


def _nearest_cut(text: str, cuts: Iterable[Cut], spans: Sequence[tuple[int, int]], share: float = 0) -> Cut | None:
    """The cut outside of spans that is nearest to the middle, if both parts have a share of the text."""

    def is_outside(cut: Cut) -> bool:
        index = bisect_left(spans, (cut[1],)) - 1  # the last span that begins before the end of the cut
        return index < 0 or spans[index][1] <= cut[0]

    margin = share * len(text)
    possible = [cut for cut in cuts if margin < cut[0] < len(text) - margin and is_outside(cut)]
    return min(possible, key=lambda cut: abs(sum(cut) - len(text)), default=None)
