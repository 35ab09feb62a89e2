"""The inline elements of translation files (XLIFF, TMX): codes that stand for the formatting of the original."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman.documents.formats.strings import decode_references, has_references, string_writing
from dragoman.documents.passage import Part, Writing, to_parts
from dragoman.markup.elements import CODES
from dragoman.markup.items import Fixed, Group, Item, TextItem
from dragoman.markup.tags import Event, Tag, fold_tags, string_items
from dragoman.markup.xml import XmlElement, XmlNode, encode_xml, raw_xml, xml_text

_OPENING = {"bpt": ("rid", "i", "id"), "bx": ("rid", "id"), "sc": ("id",)}
_CLOSING = {"ept": ("rid", "i", "id"), "ex": ("rid", "id"), "ec": ("startRef",)}
"""Codes that start and end formatting, and the attributes that connect them."""


def code_parts(nodes: Sequence[XmlNode], writing: Writing) -> list[Part]:
    """The parts of a segment, which may be a string with tags and references of HTML."""
    text = "".join(map(xml_text, nodes))
    return to_parts(_code_items(nodes, has_references(text)), string_writing(text, writing))


def _code_items(nodes: Sequence[XmlNode], is_html: bool) -> list[Item]:
    return fold_tags([item for node in nodes for item in _to_items(node, is_html)])


def _to_items(node: XmlNode, is_html: bool) -> Sequence[Event]:
    if isinstance(node, XmlElement):
        return [_to_item(node, is_html)]
    if not is_html and "<" not in node.text:
        return [TextItem(node.raw, node.text)]
    return string_items(node.text, _read_html if is_html else _read, is_html, encode_xml)


def _read(text: str) -> Iterator[Item]:
    yield TextItem(encode_xml(text), text)


def _read_html(text: str) -> Iterator[Item]:
    yield TextItem(encode_xml(text), decode_references(text))


def _to_item(node: XmlElement, is_html: bool) -> Event:
    raw, element = raw_xml([node]), CODES.find(node.name, node.attributes)
    if not element.kept:
        if not node.end:
            return Fixed((raw,), CODES.rows["ph"] if node.name == "mrk" else CODES.others)
        return Group((node.start,), (node.end,), tuple(_code_items(node.children, is_html)), element)
    for names in (_OPENING, _CLOSING):
        key = next((node.attributes[each] for each in names.get(node.name, ()) if each in node.attributes), None)
        if key is not None:
            return Tag(raw, key, "opening" if names is _OPENING else "closing")
    return Fixed((raw,), element)
