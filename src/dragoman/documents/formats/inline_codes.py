"""The inline elements of translation files (XLIFF, TMX): codes that stand for the formatting of the original."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from dragoman.documents.formats.strings import string_writing
from dragoman.documents.passage import Part, Writing, to_parts
from dragoman.markup.elements import CODES, DIVIDER, STRINGS
from dragoman.markup.items import Fixed, Group, Inner, Item, Piece, TextItem
from dragoman.markup.messages import StringPart, find_stretches, has_references, read_stretch
from dragoman.markup.tags import Event, Tag, fold_tags, string_items
from dragoman.markup.xml import XmlElement, XmlNode, encode_xml, raw_xml, replace_elements, xml_text

_OPENING = {"bpt": ("rid", "i", "id"), "bx": ("rid", "id"), "sc": ("id",)}
_CLOSING = {"ept": ("rid", "i", "id"), "ex": ("rid", "id"), "ec": ("startRef",)}
"""Codes that start and end formatting, and the attributes that connect them."""

_ELEMENT = "\ufffc"
"""What stands for an element when the structure of a message is read."""


def code_parts(nodes: Sequence[XmlNode], writing: Writing) -> list[Part]:
    """The parts of a segment, which may be a string with forms, tags and references of HTML."""
    text = "".join(map(xml_text, nodes))
    items = _code_items(nodes, has_references(text), writing.language)
    return to_parts(items, string_writing(text, writing))


def _code_items(nodes: Sequence[XmlNode], is_html: bool, language: str) -> list[Item]:
    items: list[Item] = []
    for stretch in find_stretches("".join(map(_flat_text, nodes))):
        inside = list(_nodes_inside(nodes, stretch))
        if stretch.is_text:
            found = (_to_items(node, text, stretch, is_html, language) for node, text in inside)
            items += fold_tags([item for each in found for item in each])
        else:
            raw = (raw_xml([node]) if isinstance(node, XmlElement) else encode_xml(text) for node, text in inside)
            items.append(Fixed(("".join(raw),), DIVIDER))
    return items


def _flat_text(node: XmlNode) -> str:
    return _ELEMENT if isinstance(node, XmlElement) else node.text


def _nodes_inside(nodes: Sequence[XmlNode], stretch: StringPart) -> Iterator[tuple[XmlNode, str]]:
    """The nodes of which a part is in a stretch, with the text of that part."""
    position = 0
    for node in nodes:
        text = _flat_text(node)
        if part := text[max(0, stretch.start - position) : max(0, stretch.end - position)]:
            yield node, part
        position += len(text)


def _to_items(node: XmlNode, text: str, stretch: StringPart, is_html: bool, language: str) -> Sequence[Event]:
    if isinstance(node, XmlElement):
        return [_to_item(node, is_html, language)]
    read = partial(read_stretch, stretch, encode=encode_xml)
    found = string_items(text, read, replace(STRINGS, language=language), is_html, encode_xml)
    is_plain = not is_html and text == node.text and len(found) == 1 and isinstance(found[0], TextItem)
    return [TextItem(node.raw, node.text)] if is_plain else found


def _to_item(node: XmlElement, is_html: bool, language: str) -> Event:
    raw, element = raw_xml([node]), replace(CODES, language=language).find(node.name, node.attributes)
    if not element.kept:
        if not node.end:
            return Fixed((raw,), CODES.rows["ph"] if node.name == "mrk" else CODES.others)
        return Group((node.start,), (node.end,), tuple(_code_items(node.children, is_html, language)), element)

    def read(inside: XmlElement) -> Iterable[Piece] | None:
        """What `sub` contains is a separate text."""
        if inside.name != "sub":
            return None
        return (inside.start, Inner(tuple(_code_items(inside.children, is_html, language))), inside.end)

    pieces = tuple(replace_elements([node], read))
    for names in (_OPENING, _CLOSING):
        key = next((node.attributes[each] for each in names.get(node.name, ()) if each in node.attributes), None)
        if key is not None:
            return Tag(raw, key, "opening" if names is _OPENING else "closing", pieces=pieces)
    return Fixed(pieces, element)
