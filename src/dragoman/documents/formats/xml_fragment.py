"""XML texts that are not whole files: fragments without a root, with unknown entities, and with numbers as names."""

from __future__ import annotations

import re

from dragoman.markup.xml import NotWellFormedError, TreeParser, XmlNode, refuse_huge_xml

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
