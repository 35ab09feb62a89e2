"""Which elements of an XML text of unknown vocabulary are its structure, and end a sentence."""

from __future__ import annotations

import re
from xml.etree.ElementTree import ParseError, fromstring

INLINE = frozenset(
    ("a", "b", "bpt", "bx", "em", "ept", "ex", "g", "i", "it", "mrk", "ph", "s", "span", "strong", "u", "x")
)
"""Elements of HTML, XLIFF and TMX that are inline, also without text beside them."""

_DECLARATION = re.compile(r"\s*<\?xml\s[^>]*\?>")


def structural_elements(xml: str) -> frozenset[str]:
    """The names, in lower case, of elements that never have text beside them, as DeepL detects the outline of XML.

    Args:
        xml: Elements, perhaps with text between them; there are no such names if they are not well-formed.
    """
    content = _DECLARATION.sub("", xml, count=1) if _DECLARATION.match(xml) else xml
    try:
        root = fromstring(f"<text>{content}</text>")  # a DTD, which could define entities, is not allowed here
    except ParseError:
        return frozenset()
    alone, beside_text = set[str](), set[str]()
    for parent in root.iter():
        has_text = any(text and not text.isspace() for text in (parent.text, *(child.tail for child in parent)))
        (beside_text if has_text else alone).update(child.tag.lower() for child in parent)
    return frozenset(alone - beside_text - INLINE)
