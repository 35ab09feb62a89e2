"""Placeholders such as {1} that stand for things in a text, so that a translator knows that there is a word."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import count

from dragoman.documents.marks import Mark

PLACEHOLDER = re.compile(r"\{\d+\}")


def new_names(text: str) -> Iterator[str]:
    """{1}, {2} and so on, without those that the text contains."""
    used = set(PLACEHOLDER.findall(text))
    return (name for number in count(1) if (name := f"{{{number}}}") not in used)


def find_names(text: str, names: Collection[str]) -> dict[str, tuple[int, int]]:
    """Where each of the names that a translation contains is, in order; only the first time that it occurs."""
    found: dict[str, tuple[int, int]] = {}
    for match in PLACEHOLDER.finditer(text):
        if match[0] in names:
            found.setdefault(match[0], match.span())
    return found


def outside_names(mark: Mark, spans: Sequence[tuple[int, int]]) -> Mark:
    """The mark, whose start and end move to the end of a placeholder that they are inside of."""

    def move(position: int) -> int:
        index = bisect_right(spans, (position,)) - 1
        return max(position, spans[index][1]) if index >= 0 and spans[index][0] < position else position

    return mark._replace(start=move(mark.start), end=move(mark.end))
