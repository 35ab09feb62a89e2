"""The inline elements of translation files (XLIFF, TMX): codes that stand for the formatting of the original."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman.markup.elements import CODES
from dragoman.markup.items import Fixed, Group, Item, TextItem
from dragoman.markup.tags import Event, Tag, fold_tags, string_items
from dragoman.markup.xml import XmlElement, XmlNode, XmlText, encode_xml, raw_xml

_OPENING = {"bpt": ("rid", "i", "id"), "bx": ("rid", "id"), "sc": ("id",)}
_CLOSING = {"ept": ("rid", "i", "id"), "ex": ("rid", "id"), "ec": ("startRef",)}
"""Codes that start and end formatting, and the attributes that connect them."""


def code_items(nodes: Sequence[XmlNode]) -> list[Item]:
    """The items of a segment."""
    return fold_tags([item for node in nodes for item in _to_items(node)])


def _to_items(node: XmlNode) -> Sequence[Event]:
    if isinstance(node, XmlText):
        if "<" not in node.text:
            return [TextItem(node.raw, node.text)]
        return string_items(node.text, _read_text, encode=encode_xml)
    return [_to_item(node)]


def _read_text(text: str) -> Iterator[Item]:
    yield TextItem(encode_xml(text), text)


def _to_item(node: XmlElement) -> Event:
    raw, element = raw_xml([node]), CODES.find(node.name, node.attributes)
    if not element.kept:
        if not node.end:
            return Fixed((raw,), CODES.rows["ph"] if node.name == "mrk" else CODES.others)
        return Group((node.start,), node.end, tuple(code_items(node.children)), element)
    for names in (_OPENING, _CLOSING):
        key = next((node.attributes[each] for each in names.get(node.name, ()) if each in node.attributes), None)
        if key is not None:
            return Tag(raw, key, "opening" if names is _OPENING else "closing")
    return Fixed((raw,), element)
