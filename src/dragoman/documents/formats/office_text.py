"""The paragraphs of Word and PowerPoint documents, whose XML has the same structure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from dragoman.documents.formats.characters import read_xml
from dragoman.documents.formats.fields import FieldCharacter, fold_fields
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.formats.items import Fixed, Group, Item, Part, TextItem, to_parts
from dragoman.documents.formats.passage import Passage, Writing
from dragoman.markup.xml import (
    XmlElement,
    XmlNode,
    XmlText,
    encode_xml,
    raw_xml,
    xml_text,
)

_BREAKS = {"tab", "ptab", "br", "cr"}
_DROPPED = {"t", "proofErr", "lastRenderedPageBreak", "softHyphen"}
"""What belongs to the words of the source: empty texts, marks of the spelling checker, and others."""
_GROUPS = {"hyperlink", "ins", "moveTo", "smartTag", "customXml", "sdt", "sdtContent", "dir", "bdo"}
_REVISION = re.compile(r'\s[\w:]*rsid\w*="[^"]*"')


def open_office_xml(file: DocumentFile) -> PassageDocument:
    """The document in an XML member.

    Raises:
        UserError: It is not well-formed.
    """
    root, characters = read_xml(file)
    office = _OfficeText(file.writing(encode_xml))
    return PassageDocument(list(office.parts(root.children)), characters.encode)


class _OfficeText:
    def __init__(self, writing: Writing) -> None:
        self._make_passage = partial(Passage, writing=writing)

    def parts(self, nodes: Sequence[XmlNode]) -> Iterator[Part]:
        """The parts of nodes that contain paragraphs."""
        for node in nodes:
            if isinstance(node, XmlText):
                yield node.raw
            elif node.name == "p":
                items = fold_fields(list(self._items(node.children)))
                yield from (node.start, *to_parts(items, self._make_passage), node.end)
            else:
                yield from (node.start, *self.parts(node.children), node.end)

    def _items(self, nodes: Sequence[XmlNode]) -> Iterator[Item | FieldCharacter]:
        """The items of a paragraph."""
        for node in nodes:
            if isinstance(node, XmlElement) and node.name == "r":
                yield from self._run_items(node)
            elif isinstance(node, XmlElement) and node.name in _GROUPS:
                yield Group(node.start, node.end, tuple(fold_fields(list(self._items(node.children)))))
            else:
                yield self._other_item(node, "", "")

    def _run_items(self, run: XmlElement) -> Iterator[Item | FieldCharacter]:
        """A run as items, each of which is a run by itself."""
        contents = [node for node in run.elements() if node.name != "rPr"]
        properties = raw_xml(run.elements("rPr"))
        for node in contents:
            start = run.start + properties
            raw = f"{start}{raw_xml([node])}{run.end}" if len(contents) > 1 else raw_xml([run])
            if text := _text_of(node):
                yield TextItem(raw, text, _style(run, properties, node))
            elif node.name == "fldChar":
                kinds = (value for key, value in node.attributes.items() if key.endswith("fldCharType"))
                yield FieldCharacter(raw, next(kinds, ""))
            else:
                yield self._other_item(node, start, run.end)

    def _other_item(self, node: XmlNode, start: str, end: str) -> Item:
        """Something in a paragraph, or in a run with its start and end."""
        raw = f"{start}{raw_xml([node])}{end}"
        if isinstance(node, XmlText) or node.name in _DROPPED:
            return TextItem(raw, "")
        if node.name in _BREAKS:
            return Fixed((raw,), divides=True)
        return Fixed((start, node.start, *self.parts(node.children), node.end, end))


def _text_of(node: XmlElement) -> str:
    return xml_text(node) if node.name == "t" else "\u2011" if node.name == "noBreakHyphen" else ""


def _style(run: XmlElement, properties: str, node: XmlElement) -> tuple[str, str]:
    """What surrounds the text of a changed run, without the numbers that Word gives to each revision."""
    start, tag = _REVISION.sub("", run.start), run.start.strip("<>").split()[0].removesuffix("r") + "t"
    preserve = "" if tag == "a:t" else ' xml:space="preserve"'
    return f"{start}{properties}<{tag}{preserve}>", f"</{tag}>{run.end}"
