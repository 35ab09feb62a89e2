"""XML of an unknown vocabulary, as a text: which elements end sentences is detected, or stated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dragoman.documents.formats.xml_items import xml_items
from dragoman.documents.passage import PassageText, Writing, to_parts
from dragoman.markup.elements import BLOCK, CODES, HIDDEN, HTML, OBJECT, WORD, XML
from dragoman.markup.xml import XmlElement, XmlNode, XmlText

_ENDING = frozenset(name for name, row in HTML.rows.items() if row.ends)
_INLINE = frozenset(
    (*CODES.rows, "em", *(name for name, row in HTML.rows.items() if not row.ends and row not in (OBJECT, HIDDEN)))
)
"""Elements of HTML, and of XLIFF and TMX, that are inline, also where there is no other text."""


class XmlFragment(PassageText):
    """A document, or elements with text between them; attributes are not translated.

    Args:
        nodes: What it contains, from `xml_fragment.parse_fragment`.
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
