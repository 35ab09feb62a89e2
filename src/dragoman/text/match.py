"""How similar a text is to a segment of a translation memory whose translation was used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Match:
    """What a translation took from a translation memory.

    Attributes:
        kind: "exact": it is the translation in the memory. "fuzzy": the model read the translation of a similar
            segment. "none": neither.
        score: The similarity of the two segments, from 0 to 1.
    """

    kind: Literal["exact", "fuzzy", "none"]
    score: float


EXACT_MATCH = Match("exact", 1.0)
NO_MATCH = Match("none", 0.0)


def worst_match(matches: Iterable[Match]) -> Match:
    """The least similar match of the parts of a text."""
    return min(matches, key=lambda each: (each.score, each.kind == "exact"), default=NO_MATCH)
