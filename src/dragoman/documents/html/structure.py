"""Which elements of an XML text of unknown vocabulary are its structure, and end a sentence."""

from __future__ import annotations

from xml.parsers import expat

from dragoman.documents.html.tokens import UNTOUCHED

INLINE = UNTOUCHED | frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i", "ins"),
        *("label", "mark", "q", "rb", "rp", "rt", "ruby", "s", "small", "span", "strike", "strong", "sub", "sup"),
        *("time", "tt", "u"),
        *("bpt", "bx", "cp", "ec", "em", "ept", "ex", "g", "hi", "it", "mrk", "pc", "ph", "sc", "ut", "x"),
    )
)
"""Elements of HTML, and of XLIFF and TMX, that are inline, also where there is no other text."""


def structural_elements(xml: str) -> frozenset[str]:
    """The names, in lower case, of elements whose parents have no text, as DeepL detects the outline of XML.

    Elements that are always empty, such as images, are not among them.

    Args:
        xml: A document, or elements, perhaps with text between them; there are no such names if they are not
            well-formed.
    """
    for document in (xml.strip(), f"<text>{xml}</text>"):
        reader = _Reader()
        try:
            reader.read(document)
        except expat.ExpatError:
            continue
        return frozenset(reader.alone - reader.with_text - INLINE)
    return frozenset()


class _Reader:
    """Collects the names of elements whose parents have no text, and of those whose parents have some.

    Unlike ElementTree, it keeps the prefixes of names, and accepts those that are not declared.
    """

    def __init__(self) -> None:
        self.alone, self.with_text = set[str](), set[str]()
        self._children: list[set[str]] = []  # of the open elements: those that are not empty
        self._have_text: list[bool] = []
        self._parser = expat.ParserCreate("utf-8")
        self._parser.UseForeignDTD()  # the names of HTML's entities are then allowed
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.SkippedEntityHandler = lambda name, is_parameter: self._text(name)

    def read(self, xml: str) -> None:
        """Read all of it; raises ExpatError if it is not well-formed."""
        self._parser.Parse(xml.encode("utf-8", "surrogatepass"), True)

    def _start(self, name: str, attributes: object) -> None:
        self._children.append(set())
        self._have_text.append(False)

    def _end(self, name: str) -> None:
        children, has_text = self._children.pop(), self._have_text.pop()
        (self.with_text if has_text else self.alone).update(children)
        if self._children and (children or has_text):
            self._children[-1].add(name.lower())

    def _text(self, text: str) -> None:
        if not text.isspace():
            self._have_text[-1] = True
