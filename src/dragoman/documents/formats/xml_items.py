"""XML as items of texts, by what the table says of its elements."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.documents.formats.characters import read_xml
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.passage import to_parts
from dragoman.markup.elements import BLOCK, HIDDEN, OBJECT, WORD, Elements
from dragoman.markup.items import Fixed, Group, Inner, Item, Piece, TextItem, plain_text, text_items
from dragoman.markup.tags import attribute_pieces, read_attributes
from dragoman.markup.xml import XmlElement, XmlNode, XmlText, encode_xml, raw_xml


def open_xml(file: DocumentFile, elements: Elements) -> PassageDocument:
    """The document in an XML file.

    Raises:
        UserError: It is not well-formed.
    """
    root, characters = read_xml(file)
    return PassageDocument(to_parts(xml_items(root.children, elements), file.writing(encode_xml)), characters.encode)


def xml_items(nodes: Sequence[XmlNode], elements: Elements, keeps_lines: bool = False) -> list[Item]:
    """The items of XML, in which white space is one space, except if lines are kept."""
    items: list[Item] = []
    for node in nodes:
        if isinstance(node, XmlText):
            items += _text_items(node, keeps_lines)
        else:
            items += _element_items(node, elements, keeps_lines)
    return items


def _element_items(node: XmlElement, elements: Elements, keeps_lines: bool) -> Sequence[Item]:
    element = elements.find(node.name, node.attributes)
    if element.text:
        return [TextItem(raw_xml([node]), element.text)]
    if element.kept and (node.children or element.wraps or element.filled):
        is_empty = element.filled and not plain_text(xml_items(node.children, elements)).strip()
        return [Fixed((raw_xml([node]),), OBJECT if is_empty else element)]
    start = _start_pieces(node, elements)
    if element.kept:
        return [Fixed((*start, node.end), element)]
    keeps_lines = keeps_lines or element.lines or node.attributes.get("xml:space") == "preserve"
    content = xml_items(node.children, elements, keeps_lines)
    if element.apart:
        return [Fixed((*start, Inner(tuple(content)), node.end), element)]
    if element.ends:
        return [Fixed(start, BLOCK), *content, Fixed((node.end,), BLOCK)]
    if not node.end and node.name not in elements.rows:
        return [Fixed(start, elements.single)]
    return [Group(start, node.end, tuple(content), element)]


def _start_pieces(node: XmlElement, elements: Elements) -> tuple[Piece, ...]:
    """The start tag, with texts in its attributes."""
    if not elements.texts or not node.attributes:
        return (node.start,)
    attributes = read_attributes(node.start)
    return attribute_pieces(node.start, node.name, attributes, node.attributes, elements) or (node.start,)


def _text_items(node: XmlText, keeps_lines: bool) -> Sequence[Item]:
    """Text, a comment, or an unknown entity, which is kept."""
    if not node.text:
        return [Fixed((node.raw,), WORD if node.raw.startswith("&") else HIDDEN)]
    items = text_items(node.raw, keeps_lines)
    written = "".join(item.text for item in items)
    expected = node.text if keeps_lines else " ".join(node.text.split(" "))
    if written.split() == expected.split() and "<" not in node.raw:
        return items
    text = node.text if keeps_lines else "".join(item.text for item in text_items(node.text.replace("&", "&amp;")))
    return [TextItem(node.raw, text)]
