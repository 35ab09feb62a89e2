"""Fields of Word documents: characters in runs say where they start, where the result starts, and where they end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.documents.formats.items import Fixed, Group, Item, original, raw_parts
from dragoman.documents.pairs import CodeEdge, match_edges


@dataclass(frozen=True, slots=True)
class FieldCharacter:
    """A run with such a character; its kind is "begin", "separate" or "end"."""

    raw: str
    kind: str


def fold_fields(items: Sequence[Item | FieldCharacter]) -> list[Item]:
    """Items in which each field is one item: a group with the text of a link, or else something that is kept.

    Characters of fields that start or end elsewhere divide the text.
    """
    edges = (
        CodeEdge(index, "", item.kind == "begin")
        for index, item in enumerate(items)
        if isinstance(item, FieldCharacter) and item.kind != "separate"
    )
    pairs = match_edges(edges)
    folded: list[Item] = []
    position = 0
    while position < len(items):
        item = items[position]
        if not isinstance(item, FieldCharacter):
            folded.append(item)
        elif position not in pairs:
            folded.append(Fixed((item.raw,), divides=True))
        else:
            folded.append(_fold(items[position : pairs[position] + 1]))
            position = pairs[position]
        position += 1
    return folded


def _fold(field: Sequence[Item | FieldCharacter]) -> Item:
    separators = [
        index for index, item in enumerate(field) if isinstance(item, FieldCharacter) and item.kind == "separate"
    ]
    instruction = _raw(field[: separators[0] + 1]) if separators else ""
    if len(separators) == 1 and "HYPERLINK" in instruction:
        return Group(instruction, _raw(field[-1:]), tuple(fold_fields(field[separators[0] + 1 : -1])))
    return Fixed((_raw(field),), is_word=bool(separators))


def _raw(items: Sequence[Item | FieldCharacter]) -> str:
    """What the file contains; texts in items that are kept are not translated."""
    return "".join(item.raw if isinstance(item, FieldCharacter) else original(raw_parts([item])) for item in items)
