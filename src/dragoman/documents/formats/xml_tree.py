"""XML as a tree whose nodes keep what the file contains, so that everything unchanged is written byte for byte.

Our own use of expat instead of lxml, which rewrites quotes, empty elements and references, and merges CDATA.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.entities import html5
from typing import NoReturn, TypeAlias
from xml.parsers import expat
from xml.sax.saxutils import escape

from dragoman.documents.formats.characters import Characters, read_xml_characters
from dragoman.documents.formats.file import DocumentFile
from dragoman.errors import UserError

MAX_DEPTH = 200
MAX_CHARACTERS = 20_000_000
MAX_ELEMENTS = 400_000
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class XmlText:
    """Characters; also a comment, an unknown entity, or another construct, whose text is empty."""

    raw: str
    text: str = ""


@dataclass(slots=True, eq=False)
class XmlElement:
    """An element with its tags as they are written; the name of one in a file is without a prefix."""

    name: str
    attributes: Mapping[str, str]
    start: str = ""
    end: str = ""
    children: list[XmlNode] = field(default_factory=list)

    def elements(self, *names: str) -> list[XmlElement]:
        """The children with one of these names, or all of them."""
        found = [child for child in self.children if isinstance(child, XmlElement)]
        return [child for child in found if not names or child.name in names]

    def find_all(self, name: str) -> Iterator[XmlElement]:
        """The elements with a name in this one, outermost first, without those inside each other."""
        for child in self.elements():
            if child.name == name:
                yield child
            else:
                yield from child.find_all(name)


XmlNode: TypeAlias = XmlText | XmlElement


def raw_xml(nodes: Sequence[XmlNode]) -> str:
    """What the file contains."""
    return "".join(
        node.raw if isinstance(node, XmlText) else f"{node.start}{raw_xml(node.children)}{node.end}" for node in nodes
    )


def xml_text(node: XmlNode) -> str:
    """All text in a node."""
    return node.text if isinstance(node, XmlText) else "".join(map(xml_text, node.children))


def is_protected(node: XmlElement) -> bool:
    """Whether an element says that it must not be translated."""
    values = node.attributes
    return (
        values.get("translate") == "no"
        or values.get("mtype") == "protected"
        or "notranslate" in values.get("class", "").split()
    )


def encode_xml(text: str) -> str:
    """A text as XML; characters that XML does not allow are left out."""
    return escape(_NOT_IN_XML.sub("", text))


def with_attribute(start: str, name: str, value: str) -> str:
    """A start tag with another value of an attribute, which is added if it is missing."""
    quoted = escape(value, {'"': "&quot;"})
    changed, count = re.subn(
        rf"""(\s{re.escape(name)}\s*=\s*)("[^"]*"|'[^']*')""", lambda match: f'{match[1]}"{quoted}"', start, count=1
    )
    return changed if count else re.sub(r"\s*(/?>)$", lambda match: f' {name}="{quoted}"{match[1]}', start)


def read_xml(file: DocumentFile) -> tuple[XmlElement, Characters]:
    """The tree of a file, and its encoding; the name of the root is empty, and its children are all that it contains.

    Raises:
        UserError: The file is not well-formed XML, is huge or deeply nested, or declares entities.
    """
    characters = read_xml_characters(file)
    elements = characters.text.count("<") - characters.text.count("</")
    refuse_huge_xml(file.name, len(characters.text), elements)
    return TreeParser(file.name).parse(characters.text.encode()), characters


def refuse_huge_xml(name: str, size: int, elements: int) -> None:
    """Refuse XML that needs much memory, about 1 kB per element.

    Raises:
        UserError: It is huge.
    """
    if size > MAX_CHARACTERS:
        raise UserError(f"{name}: more than {MAX_CHARACTERS:,} characters of XML; divide the document")
    if elements > MAX_ELEMENTS:
        raise UserError(f"{name}: more than {MAX_ELEMENTS:,} elements of XML; divide the document")


class NotWellFormedError(UserError):
    """XML with a mistake, such as an element that is not closed."""


class TreeParser:
    """Builds the tree; what an event consists of is known when the next one starts.

    Args:
        name: What error messages call the file.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._root = XmlElement("", {})
        self._open = [self._root]
        self._position = 0
        self._data = b""
        self._last: XmlElement | None = None  # whose start or end tag the current event is
        self._text: list[str] = []  # of the current event
        self._joined: list[XmlText] = []  # texts that follow each other
        self._ends = self._in_cdata = False
        self._expat = expat.ParserCreate("utf-8")
        self._expat.StartElementHandler = self._start_element
        self._expat.EndElementHandler = self._end_element
        self._expat.CharacterDataHandler = self._characters
        self._expat.StartCdataSectionHandler = self._start_cdata
        self._expat.EndCdataSectionHandler = self._end_cdata
        self._expat.DefaultHandler = lambda data: self._next_event("")
        self._expat.StartDoctypeDeclHandler = lambda *declared: self._next_event("")
        self._expat.EntityDeclHandler = self._refuse_entity
        self._expat.SkippedEntityHandler = self._entity

    def parse(self, data: bytes) -> XmlElement:
        """The tree of a whole file in UTF-8."""
        self._data = data
        try:
            self._expat.Parse(data, True)
        except expat.ExpatError as error:
            raise NotWellFormedError(
                f"{self._name} line {error.lineno}: not well-formed XML: {expat.ErrorString(error.code)}; the file is "
                "damaged or was cut off: save or export it again"
            ) from None
        self._finish(len(data))
        self._join_texts()
        return self._root

    def _name_of(self, written: str) -> str:
        return written.rpartition(":")[2]

    def _raw(self, start: int, end: int) -> str:
        return self._data[start:end].decode()

    def _start_element(self, name: str, attributes: dict[str, str]) -> None:
        self._next_event("")
        self._join_texts()
        element = XmlElement(self._name_of(name), attributes)
        self._open[-1].children.append(element)
        self._open.append(element)
        self._last, self._ends = element, False
        if len(self._open) > MAX_DEPTH:
            self._refuse(f"elements are nested more than {MAX_DEPTH} deep; simplify the document")

    def _end_element(self, name: str) -> None:
        self._next_event("")
        self._join_texts()
        self._last, self._ends = self._open.pop(), True

    def _characters(self, text: str) -> None:
        if self._in_cdata:
            self._text.append(text)
        else:
            self._next_event(text)

    def _start_cdata(self) -> None:
        self._next_event("")
        self._in_cdata = True

    def _end_cdata(self) -> None:
        self._in_cdata = False

    def _entity(self, name: str, is_parameter: bool) -> None:
        self._next_event("" if is_parameter else html5.get(f"{name};", ""))

    def _next_event(self, text: str) -> None:
        """Store what the last event consists of, and note what the next one is."""
        self._finish(self._expat.CurrentByteIndex)
        self._text, self._last = [text], None

    def _finish(self, end: int) -> None:
        raw = self._raw(self._position, end)
        self._position = end
        if self._last and self._ends:
            self._last.end = raw
        elif self._last:
            self._last.start = raw
        elif raw and (text := "".join(self._text)):
            self._joined.append(XmlText(raw, text))
        elif raw:
            self._join_texts()
            self._open[-1].children.append(XmlText(raw))

    def _join_texts(self) -> None:
        """Add the texts that follow each other as one."""
        if self._joined:
            raw, text = ("".join(each) for each in zip(*((node.raw, node.text) for node in self._joined), strict=True))
            self._open[-1].children.append(XmlText(raw, text))
            self._joined.clear()

    def _refuse_entity(self, name: str, *_: object) -> NoReturn:
        self._refuse(f"declares the entity &{name}; which is not allowed; write the text itself")

    def _refuse(self, problem: str) -> NoReturn:
        raise UserError(f"{self._name} line {self._expat.CurrentLineNumber}: {problem}")
