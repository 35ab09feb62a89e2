"""Pairs of codes in a text, such as tags: what is between them is a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.documents.formats.items import Fixed, Group, Item
from dragoman.documents.marks import MAX_DEPTH
from dragoman.documents.pairs import CodeEdge, match_edges


@dataclass(frozen=True, slots=True)
class Code:
    """Something that opens or closes a group; the same key connects both ends."""

    raw: str
    key: str
    opens: bool


def fold_codes(items: Sequence[Item | Code]) -> list[Item]:
    """Items in which a pair of codes with what is between them is a group; all other codes are kept.

    Of two pairs that cross, the first one is a group, and so are only the outer `MAX_DEPTH` of nested pairs.
    """
    edges = (CodeEdge(index, item.key, item.opens) for index, item in enumerate(items) if isinstance(item, Code))
    pairs = match_edges(edges)
    contents: list[list[Item]] = [[]]
    groups: list[tuple[str, int]] = []  # the start of each open group, and the index of its end
    for index, item in enumerate(items):
        if not isinstance(item, Code):
            contents[-1].append(item)
        elif groups and groups[-1][1] == index:
            group = Group(groups.pop()[0], item.raw, tuple(contents.pop()))
            contents[-1].append(group)
        elif index in pairs and len(groups) < MAX_DEPTH and (not groups or pairs[index] < groups[-1][1]):
            groups.append((item.raw, pairs[index]))
            contents.append([])
        else:
            contents[-1].append(Fixed((item.raw,)))
    return contents[0]
