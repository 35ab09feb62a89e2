"""Marks on parts of a text, and where they belong in its translation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dragoman.documents.segment import TranslatedSegment


class Mark(NamedTuple):
    """A span of a text, in characters; it is empty for something between two characters."""

    start: int
    end: int
    number: int


def place_marks(marks: Sequence[Mark], translated: TranslatedSegment) -> list[Mark]:
    """The marks of a source text on its translation."""
    placed = []
    for start, end, number in marks:
        spans = [link for link in translated.links if link.source_start < end and start < link.source_end]
        if start < end and spans:
            placed.append(Mark(min(s.target_start for s in spans), max(s.target_end for s in spans), number))
            continue
        before = [link for link in translated.links if link.source_end <= start]
        position = max(before, key=lambda link: link.source_end).target_end if before else 0
        placed.append(Mark(position, position, number))
    return placed
