"""Documents in XML whose elements are text, parts of sentences, or blocks: ODT and EPUB."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from dragoman.documents.formats.characters import read_xml
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.formats.items import Fixed, Group, Item, Part, TextItem, to_parts
from dragoman.documents.formats.passage import Passage, Writing
from dragoman.markup.xml import XmlNode, XmlText, encode_xml, is_protected, raw_xml, xml_text

_SPACES = re.compile(r"[ \t\r\n]+")


@dataclass(frozen=True)
class ElementNames:
    """What the elements of a format mean, by name; all others are blocks, which contain whole sentences.

    Attributes:
        inline: Parts of sentences, such as links.
        kept: Parts of sentences that are not translated, such as code.
        anchors: Things inside of sentences that contain sentences, such as footnotes.
        spaces: Elements that stand for a space.
        kept_blocks: Blocks that are not translated.
    """

    inline: frozenset[str]
    kept: frozenset[str]
    anchors: frozenset[str] = frozenset()
    spaces: frozenset[str] = frozenset()
    kept_blocks: frozenset[str] = frozenset()


def names(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())


def open_markup(file: DocumentFile, vocabulary: ElementNames) -> PassageDocument:
    """The document in an XML file.

    Raises:
        UserError: It is not well-formed.
    """
    root, characters = read_xml(file)
    writing = file.writing(encode_xml)
    return PassageDocument(_Markup(vocabulary, writing).parts(root.children), characters.encode)


def text_item(node: XmlText) -> TextItem | Fixed:
    """Text whose line breaks are spaces, or a comment or an unknown entity, which is kept."""
    if not node.text:
        return Fixed((node.raw,), is_word=node.raw.startswith("&"))
    return TextItem(node.raw, _SPACES.sub(" ", node.text))


@dataclass(frozen=True)
class _Markup:
    vocabulary: ElementNames
    writing: Writing

    def parts(self, nodes: Sequence[XmlNode]) -> list[Part]:
        return to_parts(list(map(self._item, nodes)), partial(Passage, writing=self.writing))

    def _item(self, node: XmlNode) -> Item:
        if isinstance(node, XmlText):
            return text_item(node)
        name, known = node.name, self.vocabulary
        if name in known.spaces:
            return TextItem(raw_xml([node]), " ")
        if name in known.kept or is_protected(node):
            is_inline = name in known.kept | known.inline
            return Fixed((raw_xml([node]),), divides=not is_inline, is_word=is_inline and bool(xml_text(node).strip()))
        if name in known.kept_blocks:
            return Fixed((raw_xml([node]),), divides=True)
        if name in known.inline:
            return Group(node.start, node.end, tuple(map(self._item, node.children)))
        return Fixed((node.start, *self.parts(node.children), node.end), divides=name not in known.anchors)
