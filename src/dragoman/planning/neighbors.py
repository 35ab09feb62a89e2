"""Whether neighboring lines are similar, as in documents, manuals and sorted lists of sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from dragoman.languages.scripts import has_no_spaces

MAX_SHARE = 0.01  # of the lines; words in more of them say nothing about the subject
MIN_SIMILARITY = 0.02
MIN_FACTOR = 5.0
"""Similar neighbors share at least this many times as many words as lines that are far apart.

Measured: 34 and 102 in Tatoeba, 80 and 86 in LibreOffice, 25 in news, 11 in Europarl; at most 3.6 in three corpora
whose lines are in random order.
"""


class NeighborSimilarity:
    """Compares the rarer words of each line with those of the next line, and of a line that is far away."""

    def __init__(self) -> None:
        self._near: list[float] = []
        self._far: list[float] = []

    def add(self, texts: Sequence[str]) -> None:
        """Add lines that follow each other; some thousands are enough."""
        lines = [_units(text.casefold()) for text in texts]
        frequencies = Counter(word for line in lines for word in line)
        most = max(2, MAX_SHARE * len(lines))
        rarer = [frozenset(word for word in line if 1 < frequencies[word] <= most) for line in lines]
        distance = len(lines) // 2
        self._near += _similarities(rarer[:-1], rarer[1:])
        self._far += _similarities(rarer[: len(lines) - distance], rarer[distance:])

    @property
    def similar(self) -> bool:
        """Whether neighbors are similar."""
        near, far = (sum(values) / max(1, len(values)) for values in (self._near, self._far))
        return near > MIN_SIMILARITY and near > MIN_FACTOR * far


def _units(text: str) -> frozenset[str]:
    """The different words of a text; in scripts without spaces, the pairs of neighboring characters."""
    return frozenset(map("".join, pairwise(text)) if has_no_spaces([text]) else text.split())


def _similarities(lines: Sequence[frozenset[str]], others: Sequence[frozenset[str]]) -> list[float]:
    """The share of words that two lines have in common, for pairs of lines with such words."""
    return [
        len(one & other) / min(len(one), len(other)) for one, other in zip(lines, others, strict=True) if one and other
    ]
