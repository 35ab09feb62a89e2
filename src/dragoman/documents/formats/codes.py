"""Pairs of codes in a text, such as tags: what is between them is a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.documents.formats.items import Fixed, Group, Item


@dataclass(frozen=True, slots=True)
class Code:
    """Something that opens or closes a group; the same key connects both ends."""

    raw: str
    key: str
    opens: bool


def fold_codes(items: Sequence[Item | Code]) -> list[Item]:
    """Items in which a pair of codes with what is between them is a group; all other codes are kept."""
    folded: list[Item] = []
    position = 0
    while position < len(items):
        item = items[position]
        if isinstance(item, Code):
            end = _find_end(items, position, item)
            closing = items[end]
            if isinstance(closing, Code) and end > position:
                folded.append(Group(item.raw, closing.raw, tuple(fold_codes(items[position + 1 : end]))))
            else:
                folded.append(Fixed((item.raw,)))
            position = end
        else:
            folded.append(item)
        position += 1
    return folded


def _find_end(items: Sequence[Item | Code], start: int, code: Code) -> int:
    """Where a code at an index is closed, or the index itself."""
    depth = 0
    for index in range(start, len(items) if code.opens else start):
        item = items[index]
        if isinstance(item, Code) and item.key == code.key:
            depth += 1 if item.opens else -1
            if depth == 0:
                return index
    return start
