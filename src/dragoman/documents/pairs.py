"""Pairs of tags or other codes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple


class CodeEdge(NamedTuple):
    """Where something opens or closes in a sequence; both edges of a pair have the same key."""

    place: int
    key: str
    opens: bool


def match_edges(edges: Iterable[CodeEdge]) -> dict[int, int]:
    """The place of the closing edge of each opening edge that has one. Pairs with different keys may cross."""
    opened: dict[str, list[int]] = defaultdict(list)
    pairs: dict[int, int] = {}
    for place, key, opens in edges:
        if opens:
            opened[key].append(place)
        elif opened[key]:
            pairs[opened[key].pop()] = place
    return pairs
