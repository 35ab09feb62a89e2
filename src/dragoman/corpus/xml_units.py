"""Read the translation units of an XML file one after the other, in bounded memory.

Our own use of expat instead of a library for translation files: those load the whole file, and ElementTree keeps the
elements that it has passed and reports no line numbers.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from dragoman.corpus.xml_encoding import decode_xml
from dragoman.errors import UserError

MAX_UNIT_BYTES = 4_000_000
"""Larger units, comments and tags are refused; the longest sentence is a tenth of this."""
MAX_DEPTH = 100
_ADVICE = "; the file is damaged or was cut off: export or download it again"


@dataclass(frozen=True, slots=True)
class Unit:
    """A translation unit.

    Attributes:
        element: The unit, with names without namespaces.
        context: Attributes of the elements around and before the unit that were requested, by their name.
        line: Where the unit starts.
    """

    element: Element
    context: Mapping[str, Mapping[str, str]]
    line: int


def read_units(
    stream: IO[bytes], name: str, encoding: str | None, units: Sequence[str], context: Collection[str] = ()
) -> Iterator[Unit]:
    """The units of an XML file.

    Args:
        stream: The file, decompressed.
        name: What error messages call it.
        encoding: Its encoding, if it is not the one that it declares.
        units: Names of the elements to return; they do not contain each other.
        context: Names of elements whose attributes are kept.

    Raises:
        UserError: With the line, for XML that is not well-formed or cut off, entities, deep nesting and huge units.
    """
    parser = _UnitParser(name, units, context)
    try:
        for text in decode_xml(stream, name, encoding):
            yield from parser.parse(text.encode())
        yield from parser.parse(b"", last=True)
    except expat.ExpatError as error:
        raise UserError(
            f"{name} line {error.lineno}: not well-formed XML: {expat.ErrorString(error.code)}{_ADVICE}"
        ) from None
    except (EOFError, zlib.error, OSError) as error:
        raise UserError(f"{name} line {parser.line}: cannot be read to the end ({error}){_ADVICE}") from None


class _UnitParser:
    """Builds a small tree for each unit; everything between units is skipped."""

    def __init__(self, name: str, units: Sequence[str], context: Collection[str]) -> None:
        self._name, self._units, self._names = name, units, context
        self._context: dict[str, Mapping[str, str]] = {}
        self._found: list[Unit] = []
        self._builder: TreeBuilder | None = None
        self._unit_depth = self._depth = self._start = self._line = self._fed = 0
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

    def parse(self, data: bytes, last: bool = False) -> list[Unit]:
        """The units that end in the next bytes of the file."""
        self._fed += len(data)
        self._expat.Parse(data, last)
        position = self._start if self._builder else self._expat.CurrentByteIndex
        if not last and self._fed - position > MAX_UNIT_BYTES:
            line = self._line if self._builder else self.line
            self._refuse(f"an element of more than {MAX_UNIT_BYTES:,} bytes", line)
        found, self._found = self._found, []
        return found

    def _start_element(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._refuse(f"elements are nested more than {MAX_DEPTH} deep", self.line)
        if self._builder is None:
            if tag in self._names:
                self._context = {**self._context, tag: attributes}
            if tag not in self._units:
                return
            self._builder, self._unit_depth = TreeBuilder(), self._depth
            self._start, self._line = self._expat.CurrentByteIndex, self.line
            self._expat.CharacterDataHandler = self._builder.data
        self._builder.start(tag, attributes)

    def _end_element(self, tag: str) -> None:
        self._depth -= 1
        if self._builder is None:
            return
        self._builder.end(tag.rpartition(":")[2])
        if self._depth < self._unit_depth:
            self._found.append(Unit(self._builder.close(), self._context, self._line))
            self._builder = self._expat.CharacterDataHandler = None

    def _refuse_entity(self, name: str, *_: object) -> NoReturn:
        self._refuse(f"the entity &{name}; is not allowed; write the character itself", self.line)

    def _refuse(self, problem: str, line: int) -> NoReturn:
        raise UserError(f"{self._name} line {line}: {problem}")
