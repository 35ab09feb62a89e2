"""The inline elements of translation files (XLIFF, TMX): codes that stand for the formatting of the original."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman.documents.formats.codes import Code, fold_codes
from dragoman.documents.formats.items import Fixed, Group, Item, TextItem
from dragoman.documents.formats.string_markup import markup_items
from dragoman.markup.xml import XmlElement, XmlNode, XmlText, encode_xml, is_protected, raw_xml

_GROUPS = {"g", "mrk", "pc", "hi"}
_OPENING = {"bpt": ("rid", "i", "id"), "bx": ("rid", "id"), "sc": ("id",)}
_CLOSING = {"ept": ("rid", "i", "id"), "ex": ("rid", "id"), "ec": ("startRef",)}
"""Codes that start and end formatting, and the attributes that connect them."""


def code_items(nodes: Sequence[XmlNode]) -> list[Item]:
    """The items of a segment."""
    return fold_codes([item for node in nodes for item in _to_items(node)])


def _to_items(node: XmlNode) -> Sequence[Item | Code]:
    if isinstance(node, XmlText):
        if "<" not in node.text:
            return [TextItem(node.raw, node.text)]
        return markup_items(node.text, _read_text, encode=encode_xml)
    return [_to_item(node)]


def _read_text(text: str) -> Iterator[Item]:
    yield TextItem(encode_xml(text), text)


def _to_item(node: XmlElement) -> Item | Code:
    raw = raw_xml([node])
    if node.name in _GROUPS and not is_protected(node):
        return Group(node.start, node.end, tuple(code_items(node.children))) if node.end else Fixed((raw,))
    for names, opens in ((_OPENING, True), (_CLOSING, False)):
        key = next((node.attributes[each] for each in names.get(node.name, ()) if each in node.attributes), None)
        if key is not None:
            return Code(raw, key, opens)
    return Fixed((raw,), is_word=node.name in ("x", "ph", "mrk"))
