"""The inline elements of translation files (XLIFF, TMX): codes that stand for the formatting of the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.documents.formats.items import Fixed, Group, Item, Words
from dragoman.documents.formats.xml_tree import XmlElement, XmlNode, XmlText, raw_xml

_GROUPS = {"g", "mrk", "pc", "hi"}
_OPENING = {"bpt": ("rid", "i", "id"), "bx": ("rid", "id"), "sc": ("id",)}
_CLOSING = {"ept": ("rid", "i", "id"), "ex": ("rid", "id"), "ec": ("startRef",)}
"""Codes that start and end formatting, and the attributes that connect them."""


@dataclass(frozen=True, slots=True)
class _Code:
    raw: str
    key: str
    opens: bool


def code_items(nodes: Sequence[XmlNode]) -> list[Item]:
    """The items of a segment."""
    return _fold([_to_item(node) for node in nodes])


def _to_item(node: XmlNode) -> Item | _Code:
    if isinstance(node, XmlText):
        return Words(node.raw, node.text)
    raw = raw_xml([node])
    if node.name in _GROUPS and not _is_protected(node):
        return Group(node.start, node.end, tuple(code_items(node.children))) if node.end else Fixed((raw,))
    for names, opens in ((_OPENING, True), (_CLOSING, False)):
        key = next((node.attributes[each] for each in names.get(node.name, ()) if each in node.attributes), None)
        if key is not None:
            return _Code(raw, key, opens)
    return Fixed((raw,))


def _is_protected(node: XmlElement) -> bool:
    return node.attributes.get("mtype") == "protected" or node.attributes.get("translate") == "no"


def _fold(items: Sequence[Item | _Code]) -> list[Item]:
    """Items in which a pair of codes with what is between them is a group; other codes are kept."""
    folded: list[Item] = []
    position = 0
    while position < len(items):
        item = items[position]
        if isinstance(item, _Code):
            end = _find_end(items, position)
            closing = items[end]
            if isinstance(closing, _Code) and end > position:
                folded.append(Group(item.raw, closing.raw, tuple(_fold(items[position + 1 : end]))))
            else:
                folded.append(Fixed((item.raw,)))
            position = end
        else:
            folded.append(item)
        position += 1
    return folded


def _find_end(items: Sequence[Item | _Code], start: int) -> int:
    """Where the code at an index is closed, or the index itself."""
    code = items[start]
    for index in range(start + 1, len(items)):
        item = items[index]
        if isinstance(item, _Code) and isinstance(code, _Code) and code.opens:
            if not item.opens and item.key == code.key:
                return index
    return start
