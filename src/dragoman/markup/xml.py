"""XML as trees: of a whole document, or of one unit of a translation file after the other, in bounded memory.

In a tree of a document, nodes keep what the file contains, so that everything unchanged is written byte for byte. Our
own use of expat instead of lxml, which rewrites quotes, empty elements and references, and merges CDATA, and instead of
ElementTree, which keeps the elements that it has passed and reports no line numbers.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.entities import html5
from typing import NoReturn, TypeAlias, TypeVar
from xml.parsers import expat
from xml.sax.saxutils import escape

from dragoman.errors import UserError

MAX_DEPTH = 200
MAX_CHARACTERS = 20_000_000
MAX_ELEMENTS = 400_000
"""Limits of a document."""
MAX_UNIT_BYTES = 4_000_000
"""Larger units, comments and tags of a translation file are refused; the longest sentence is a tenth of this."""
MAX_UNIT_DEPTH = 100
PARSED_CHARACTERS = 8192
"""Of a translation file, at once. Few units are freed before the garbage collector sees them; with eight times as many,
it needs a quarter of the time."""
_ADVICE = "; the file is damaged or was cut off: export or download it again"
_INVALID_TOKEN = (
    "if it is a < or & of the text, write &lt; or &amp;, or change all such &: "
    r"perl -pe 's/&(?!#?\w+;)/&amp;/g' < FILE > NEW"
)
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


@dataclass(slots=True, eq=False)
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

    @property
    def tag(self) -> str:
        """The name as it is written, with its prefix."""
        return re.split(r"[\s/>]", self.start[1:], maxsplit=1)[0]

    def elements(self, *names: str) -> list[XmlElement]:
        """The children with one of these names, or all of them."""
        return [
            child for child in self.children if isinstance(child, XmlElement) and (not names or child.name in names)
        ]

    def find_all(self, name: str) -> Iterator[XmlElement]:
        """The elements with a name in this one, outermost first, without those inside each other."""
        for child in self.elements():
            if child.name == name:
                yield child
            else:
                yield from child.find_all(name)


XmlNode: TypeAlias = XmlText | XmlElement
Content = TypeVar("Content")


def raw_xml(nodes: Sequence[XmlNode]) -> str:
    """What the file contains."""
    return "".join(
        node.raw if isinstance(node, XmlText) else f"{node.start}{raw_xml(node.children)}{node.end}" for node in nodes
    )


def replace_elements(
    nodes: Sequence[XmlNode], read: Callable[[XmlElement], Iterable[Content] | None]
) -> Iterator[str | Content]:
    """What the file contains, in order, with something else in place of some elements.

    Args:
        nodes: A part of the file.
        read: Returns what is in place of an element; None if only elements inside of it may be replaced.
    """
    for node in nodes:
        if isinstance(node, XmlText):
            yield node.raw
        elif (found := read(node)) is not None:
            yield from found
        else:
            yield from (node.start, *replace_elements(node.children, read), node.end)


def xml_text(node: XmlNode) -> str:
    """All text in a node."""
    return node.text if isinstance(node, XmlText) else "".join(map(xml_text, node.children))


def is_translated(attributes: Mapping[str, str], inherited: bool) -> bool:
    """What an element says about the translation of its content, or else the element around it."""
    return {"yes": True, "no": False}.get(attributes.get("translate", ""), inherited)


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


def _explain(error: expat.ExpatError, name: str) -> NotWellFormedError:
    """The error for a text that expat rejects."""
    problem = f"{name} line {error.lineno}: not well-formed XML: {expat.ErrorString(error.code)}"
    if error.code == expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]:
        return NotWellFormedError(f"{problem} at character {error.offset + 1}; {_INVALID_TOKEN}")
    return NotWellFormedError(f"{problem}{_ADVICE}")


# Characters that XML does not allow

_REFERENCE = r"&#(?:[xX][0-9a-fA-F]{1,8}|[0-9]{1,10});"
_SURROGATES = r"&#[xX]0*[dD][89abAB][0-9a-fA-F]{2};&#[xX]0*[dD][c-fC-F][0-9a-fA-F]{2};"
_ILLEGAL = re.compile(rf"[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|{_SURROGATES}|{_REFERENCE}")
_CONTROLS = bytes(code for code in range(1, 32) if chr(code) not in "\t\n\r")
_NONCHARACTERS = "\ufffe".encode(), "\uffff".encode()
_CUT_REFERENCE = re.compile(r"(?:&#[xX]0*[dD][89abAB][0-9a-fA-F]{2};)?(?:&(?:#\w{0,11})?)?\Z")
_MEANINGS = {0x1E: "-", 0x1F: "\xad"}
"""Word's hyphens, at which a line must not and may end; other characters become spaces, as in other text."""
_FIRST_PRIVATE, _LAST_PRIVATE = 0x10FF00, 0x10FFFD


class IllegalCharacters:
    """Characters that XML does not allow, such as `&#x1E;`, which many programs write nevertheless.

    While a text is parsed, private characters stand for them, one for each way in which they are written.

    Attributes:
        count: How many there were.
        first: What the first one is, such as "&#x1E;" or "U+001E".
    """

    def __init__(self) -> None:
        self.count = 0
        self.first = ""
        self._private: dict[str, str] = {}
        self._written: dict[int, str] = {}
        self._meanings: dict[int, str] = {}

    def hide(self, text: str) -> str:
        """A text without them, which can be parsed."""
        return _ILLEGAL.sub(self._hide, text) if _may_be_illegal(text.encode("utf-8", "surrogatepass")) else text

    def written(self, text: str) -> str:
        """A part of the text as the file contains it."""
        return text.translate(self._written) if self._written else text

    def read(self, text: str) -> str:
        """A part of the text as a person reads it."""
        return text.translate(self._meanings) if self._meanings else text

    def _hide(self, match: re.Match[str]) -> str:
        written = match[0]
        if written not in self._private:
            if (meaning := _meaning_of(written)) is None:
                return written
            code = min(_FIRST_PRIVATE + len(self._private), _LAST_PRIVATE)
            self._private[written] = chr(code)
            self._written[code], self._meanings[code] = written, meaning
        self.count += 1
        self.first = self.first or (written if len(written) > 1 else f"U+{ord(written):04X}")
        return self._private[written]


def _may_be_illegal(data: bytes) -> bool:
    """Whether XML may contain such characters; twenty times as fast as searching for them."""
    return len(data.translate(None, _CONTROLS)) < len(data) or any(each in data for each in (b"&#", *_NONCHARACTERS))


def _meaning_of(written: str) -> str | None:
    """What a character stands for, or a reference to it; None if XML allows it."""
    if len(written) == 1:
        return _MEANINGS.get(ord(written), " ")
    codes = [int(code[1:], 16) if code[0] in "xX" else int(code) for code in re.findall(r"#(\w+)", written)]
    if len(codes) == 2:
        return chr(0x10000 + ((codes[0] & 0x3FF) << 10) + (codes[1] & 0x3FF))
    if codes[0] == 0:  # the file is damaged
        return None
    if codes[0] > 0x10FFFF or _NOT_IN_XML.match(chr(codes[0])):
        return _MEANINGS.get(codes[0], " ")
    return None


class TreeParser:
    """Builds the tree of a document; what an event consists of is known when the next one starts.

    Args:
        name: What error messages call the file.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._root = XmlElement("", {})
        self._open = [self._root]
        self._position = 0
        self._data = b""
        self.illegal = IllegalCharacters()
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

    def parse(self, text: str) -> XmlElement:
        """The tree of a whole document. The name of the root is empty, and its children are all that it contains."""
        self._data = self.illegal.hide(text).encode("utf-8", "surrogatepass")  # expat refuses lone surrogates
        try:
            self._expat.Parse(self._data, True)
        except expat.ExpatError as error:
            raise _explain(error, self._name) from None
        self._finish(len(self._data))
        self._join_texts()
        return self._root

    def _name_of(self, written: str) -> str:
        return written.rpartition(":")[2]

    def _raw(self, start: int, end: int) -> str:
        return self.illegal.written(self._data[start:end].decode())

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
            self._joined.append(XmlText(raw, self.illegal.read(text)))
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


# Translation files, one unit after the other


@dataclass(frozen=True, slots=True)
class Unit:
    """A translation unit.

    Attributes:
        element: The unit; its nodes do not keep what the file contains.
        context: Attributes of the elements around and before the unit that were requested, by their name.
        translate: Whether the elements around it say that it is translated.
        line: Where the unit starts.
    """

    element: XmlElement
    context: Mapping[str, Mapping[str, str]]
    translate: bool
    line: int


def read_units(
    blocks: Iterable[str],
    name: str,
    units: Sequence[str],
    context: Collection[str] = (),
    illegal: IllegalCharacters | None = None,
) -> Iterator[Unit]:
    """The units of an XML file.

    Args:
        blocks: The characters of the file.
        name: What error messages call it.
        units: Names of the elements to return; they do not contain each other.
        context: Names of elements whose attributes are kept.
        illegal: Counts the characters that XML does not allow.

    Raises:
        UserError: With the line, for XML that is not well-formed or cut off, entities, deep nesting and huge units.
    """
    parser = _UnitParser(name, units, context, illegal or IllegalCharacters())
    try:
        for text in blocks:
            for start in range(0, len(text), PARSED_CHARACTERS):
                yield from parser.parse(text[start : start + PARSED_CHARACTERS])
        yield from parser.parse("", last=True)
    except expat.ExpatError as error:
        raise _explain(error, name) from None
    except (EOFError, zlib.error, OSError) as error:
        raise UserError(f"{name} line {parser.line}: cannot be read to the end ({error}){_ADVICE}") from None


class _UnitParser:
    """Builds a small tree for each unit; everything between units is skipped."""

    def __init__(self, name: str, units: Sequence[str], context: Collection[str], illegal: IllegalCharacters) -> None:
        self._name, self._units, self._names, self._illegal = name, units, context, illegal
        self._context: dict[str, Mapping[str, str]] = {}
        self._found: list[Unit] = []
        self._open: list[XmlElement] = []  # the unit, and elements in it
        self._translated = [True]  # of the elements around the unit
        self._cut = ""  # the end of a block, which may be a part of a reference
        self._depth = self._start = self._line = self._fed = 0
        self._expat = expat.ParserCreate("utf-8")
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start_element
        self._expat.EndElementHandler = self._end_element
        self._expat.EntityDeclHandler = self._refuse_entity
        self._expat.SkippedEntityHandler = self._refuse_entity

    @property
    def line(self) -> int:
        """The current line."""
        return self._expat.CurrentLineNumber

    def parse(self, text: str, last: bool = False) -> list[Unit]:
        """The units that end in the next characters of the file."""
        text = self._cut + text
        cut = _CUT_REFERENCE.search(text, max(0, len(text) - 30))
        self._cut = cut[0] if cut and not last else ""
        data = self._illegal.hide(text.removesuffix(self._cut)).encode()
        self._fed += len(data)
        self._expat.Parse(data, last)
        position = self._start if self._open else self._expat.CurrentByteIndex
        if not last and self._fed - position > MAX_UNIT_BYTES:
            line = self._line if self._open else self.line
            self._refuse(f"an element of more than {MAX_UNIT_BYTES:,} bytes", line)
        found, self._found = self._found, []
        return found

    def _start_element(self, tag: str, attributes: dict[str, str]) -> None:
        if ":" in tag:
            tag = tag.rpartition(":")[2]
        self._depth += 1
        if self._depth > MAX_UNIT_DEPTH:
            self._refuse(f"elements are nested more than {MAX_UNIT_DEPTH} deep", self.line)
        opened = self._open
        if opened:
            element = XmlElement(tag, attributes, "", "", [])
            opened[-1].children.append(element)
            opened.append(element)
            return
        if tag in self._names:
            self._context = {**self._context, tag: attributes}
        if tag not in self._units:
            self._translated.append(is_translated(attributes, self._translated[-1]))
            return
        self._start, self._line = self._expat.CurrentByteIndex, self.line
        self._expat.CharacterDataHandler = self._characters
        opened.append(XmlElement(tag, attributes, "", "", []))

    def _characters(self, text: str) -> None:
        self._open[-1].children.append(XmlText("", self._illegal.read(text) if self._illegal.count else text))

    def _end_element(self, tag: str) -> None:
        self._depth -= 1
        if not self._open:
            self._translated.pop()
            return
        element = self._open.pop()
        if not self._open:
            self._found.append(Unit(element, self._context, self._translated[-1], self._line))
            self._expat.CharacterDataHandler = None

    def _refuse_entity(self, name: str, *_: object) -> NoReturn:
        self._refuse(f"the entity &{name}; is not allowed; write the character itself", self.line)

    def _refuse(self, problem: str, line: int) -> NoReturn:
        raise UserError(f"{self._name} line {line}: {problem}")
