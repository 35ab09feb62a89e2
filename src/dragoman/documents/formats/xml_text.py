"""XML as texts: by the table of elements, of an unknown vocabulary, and fragments that are not whole files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dragoman.documents.formats.characters import read_xml
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.passage import PassageText, Writing, to_parts
from dragoman.markup.elements import BLOCK, CODES, HIDDEN, HTML, OBJECT, WORD, XML, Elements
from dragoman.markup.items import Fixed, Group, Inner, Item, Piece, TextItem, plain_text, text_items
from dragoman.markup.tags import attribute_pieces, read_attributes
from dragoman.markup.xml import (
    NotWellFormedError,
    TreeParser,
    XmlElement,
    XmlNode,
    XmlText,
    encode_xml,
    raw_xml,
    refuse_huge_xml,
)

_ENDING = frozenset(name for name, row in HTML.rows.items() if row.ends)
_INLINE = frozenset(
    (*CODES.rows, "em", *(name for name, row in HTML.rows.items() if not row.ends and row not in (OBJECT, HIDDEN)))
)
"""Elements of HTML, and of XLIFF and TMX, that are inline, also where there is no other text."""


class XmlFragment(PassageText):
    """A document, or elements with text between them; attributes are not translated.

    Args:
        nodes: What it contains, from `parse_fragment`.
        writing: The language of the text, and how it is split.
        kept: Names of elements that are copied.
        blocks: Names of elements that end sentences.
    """

    def __init__(
        self, nodes: Sequence[XmlNode], writing: Writing, kept: frozenset[str], blocks: frozenset[str]
    ) -> None:
        rows = {name: HTML.rows[name] if name in _ENDING else BLOCK for name in blocks}
        elements = replace(XML, rows={**XML.rows, **rows}).with_rows(WORD, kept)
        super().__init__(to_parts(xml_items(nodes, elements), writing))


def structural_elements(nodes: Sequence[XmlNode]) -> frozenset[str]:
    """The names of elements that end sentences in HTML, or whose parents contain only elements.

    DeepL detects the outline of XML in the same way. Elements that are always empty, such as images, are not among
    them. Elements that are inline in HTML, XLIFF or TMX are, unless there is a space between them, as in
    `<b>Ein</b> <i>Hund</i>`, or another one around them.
    """
    alone, with_text = set[str](), set[str]()
    for siblings, is_inside in _all_siblings(nodes):
        texts = [node.text for node in siblings if isinstance(node, XmlText)]
        names = {node.name for node in siblings if isinstance(node, XmlElement) and _has_content(node)}
        if any(text.strip() for text in texts):
            with_text |= names
        else:
            has_words = is_inside or any(text and "\n" not in text for text in texts)
            alone |= names - _INLINE if has_words else names
    return frozenset(alone - with_text) | _ENDING


def _all_siblings(nodes: Sequence[XmlNode], is_inside: bool = False) -> Iterator[tuple[Sequence[XmlNode], bool]]:
    """The nodes, and the children of all elements among them; and whether these are inside of an inline one."""
    yield nodes, is_inside
    for node in nodes:
        if isinstance(node, XmlElement):
            yield from _all_siblings(node.children, node.name in _INLINE)


def _has_content(element: XmlElement) -> bool:
    return any(_has_content(node) if isinstance(node, XmlElement) else node.text.strip() for node in element.children)


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
    name = node.tag if node.tag in elements.rows else node.name
    element = elements.find(name, node.attributes)
    if element.text:
        return [TextItem(raw_xml([node]), element.text)]
    start = _start_pieces(node, elements)
    if element.kept:
        is_empty = element.filled and not plain_text(xml_items(node.children, elements)).strip()
        return [Fixed((*start, raw_xml(node.children) + node.end), OBJECT if is_empty else element)]
    keeps_lines = keeps_lines or element.lines or node.attributes.get("xml:space") == "preserve"
    content = xml_items(node.children, elements, keeps_lines)
    if element.apart:
        return [Fixed((*start, Inner(tuple(content)), node.end), element)]
    if element.ends:
        return [Fixed(start, BLOCK), *content, Fixed((node.end,), BLOCK)]
    if not node.end and node.name not in elements.rows:
        return [Fixed(start, elements.single)]
    return [Group(start, (node.end,), tuple(content), element)]


def _start_pieces(node: XmlElement, elements: Elements) -> tuple[Piece, ...]:
    """The start tag, with texts in its attributes."""
    if not elements.texts or not node.attributes or elements.is_excluded(node.name, node.attributes):
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


_PREFIX = "zq-"
"""Precedes names that are numbers while a text is read, because parsers refuse those; hardly a name starts with it."""

_NUMBER = re.compile(r"<(/?)(?=[0-9])")
_NUMBERED = re.compile(rf"<(/?){_PREFIX}(?=[0-9])")


def parse_fragment(xml: str) -> list[XmlNode]:
    """What a document or a fragment without a root contains; names are whole.

    The names of HTML's entities are allowed, and other entities are kept. Names may be numbers, as in `<0>`.

    Raises:
        NotWellFormedError: It is not well-formed.
        UserError: It is huge or deeply nested, or declares entities.
    """
    refuse_huge_xml("the text", len(xml), xml.count("<") - xml.count("</"))
    numbered = name_numbers(xml)
    try:
        return _FragmentParser("the text").parse(numbered).children
    except NotWellFormedError:
        return _FragmentParser("the text").parse(f"<text>{numbered}</text>").elements()[0].children


def name_numbers(xml: str) -> str:
    """XML, or a text like XML, in which names that are numbers begin with letters."""
    return _NUMBER.sub(f"<\\1{_PREFIX}", xml)


def restore_numbers(xml: str) -> str:
    """What `name_numbers` changed."""
    return _NUMBERED.sub(r"<\1", xml)


class _FragmentParser(TreeParser):
    """Reads names with their prefixes, entities that are not declared, and numbers as names, see `_PREFIX`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._expat.UseForeignDTD()

    def _name_of(self, written: str) -> str:
        return written.removeprefix(_PREFIX)

    def _raw(self, start: int, end: int) -> str:
        raw = super()._raw(start, end)
        return restore_numbers(raw) if raw.startswith("<") else raw
