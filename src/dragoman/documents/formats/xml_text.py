"""XML of an unknown vocabulary, as a text: which elements end sentences is detected, or stated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from dragoman.documents.formats.file import PassageText
from dragoman.documents.formats.items import Fixed, Group, Item, Part, to_parts
from dragoman.documents.formats.markup import text_item
from dragoman.documents.formats.passage import Passage, Writing
from dragoman.documents.html.tokens import BLOCKS, UNTOUCHED
from dragoman.markup.xml import XmlElement, XmlNode, XmlText, is_protected, raw_xml

_INLINE = UNTOUCHED | frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i", "ins"),
        *("label", "mark", "q", "rb", "rp", "rt", "ruby", "s", "small", "span", "strike", "strong", "sub", "sup"),
        *("time", "tt", "u"),
        *("bpt", "bx", "cp", "ec", "em", "ept", "ex", "g", "hi", "it", "mrk", "pc", "ph", "sc", "ut", "x"),
    )
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
        self._writing, self._kept, self._blocks = writing, kept, blocks
        super().__init__(self._parts_of(nodes, keeps_lines=False))

    def _parts_of(self, nodes: Sequence[XmlNode], keeps_lines: bool) -> list[Part]:
        return to_parts(list(self._items(nodes, keeps_lines)), partial(Passage, writing=self._writing))

    def _items(self, nodes: Sequence[XmlNode], keeps_lines: bool) -> Iterator[Item]:
        for node in nodes:
            if isinstance(node, XmlText):
                yield from _lines(node) if keeps_lines else [text_item(node)]
            elif node.name in self._kept or is_protected(node):
                yield Fixed((raw_xml([node]),), is_word=True)
            else:
                yield self._element(node, keeps_lines or node.name == "pre" or _preserves_spaces(node))

    def _element(self, node: XmlElement, keeps_lines: bool) -> Item:
        if node.name in self._blocks:
            return Fixed((node.start, *self._parts_of(node.children, keeps_lines), node.end), divides=True)
        return Group(node.start, node.end, tuple(self._items(node.children, keeps_lines)))


def _preserves_spaces(node: XmlElement) -> bool:
    return node.attributes.get("xml:space") == "preserve"


def _lines(node: XmlText) -> Iterator[Item]:
    """The lines of a text, each of which ends sentences."""
    lines, texts = node.raw.split("\n"), node.text.split("\n")
    if len(lines) != len(texts):  # a line break is written as a reference
        yield text_item(node)
        return
    for index, (raw, text) in enumerate(zip(lines, texts, strict=True)):
        indent = " " * (len(raw) - len(raw.lstrip(" ")))
        yield Fixed(("\n" * bool(index) + indent,), divides=True)
        yield text_item(XmlText(raw[len(indent) :], text[len(indent) :]))


def structural_elements(nodes: Sequence[XmlNode]) -> frozenset[str]:
    """The names of elements that end sentences in HTML, or whose parents contain only elements.

    DeepL detects the outline of XML in the same way. Elements that are always empty, such as images, are not among
    them. Elements that are inline in HTML, XLIFF or TMX are, unless there is a space between them, as in
    `<b>Ein</b> <i>Hund</i>`.
    """
    alone, with_text = set[str](), set[str]()
    for siblings in _all_siblings(nodes):
        texts = [node.text for node in siblings if isinstance(node, XmlText)]
        names = {node.name for node in siblings if isinstance(node, XmlElement) and _has_content(node)}
        if any(text.strip() for text in texts):
            with_text |= names
        else:
            has_words = any(text and "\n" not in text for text in texts)
            alone |= names - _INLINE if has_words else names
    return frozenset(alone - with_text) | BLOCKS | {"br"}


def _all_siblings(nodes: Sequence[XmlNode]) -> Iterator[Sequence[XmlNode]]:
    """The nodes, and the children of all elements among them."""
    yield nodes
    for node in nodes:
        if isinstance(node, XmlElement):
            yield from _all_siblings(node.children)


def _has_content(element: XmlElement) -> bool:
    return any(_has_content(node) if isinstance(node, XmlElement) else node.text.strip() for node in element.children)
