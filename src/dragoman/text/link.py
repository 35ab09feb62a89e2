"""Which part of a text translates which part of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Link(NamedTuple):
    """A part of a translation and the part of the source that it translates, in characters; ends are exclusive."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int


def chain_links(first: Sequence[Link], second: Sequence[Link]) -> tuple[Link, ...]:
    """The links of the translation of a translation to the first text.

    A part follows the link of the part in between with which it has most characters in common, if there is one.
    """
    joined = []
    for link in second:
        start, end = link.source_start, link.source_end
        common = {each: min(end, each.target_end) - max(start, each.target_start) for each in first}
        best = max(common, key=common.__getitem__, default=None)
        if best is not None and common[best] > 0:
            joined.append(Link(best.source_start, best.source_end, link.target_start, link.target_end))
    return tuple(joined)
