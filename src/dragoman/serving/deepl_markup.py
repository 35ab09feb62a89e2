"""HTML and XML in DeepL's API, with the tags that a client names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.documents.formats.html import HtmlText
from dragoman.documents.formats.xml_text import (
    XmlFragment,
    name_numbers,
    parse_fragment,
    restore_numbers,
    structural_elements,
)
from dragoman.documents.passage import Writing
from dragoman.documents.segment import SegmentedDocument
from dragoman.errors import UserError
from dragoman.markup.elements import BLOCK, HTML, WORD, Elements
from dragoman.markup.xml import NotWellFormedError, encode_xml
from dragoman.serving.errors import RequestError
from dragoman.serving.models import ServedModel
from dragoman.serving.parameters import Parameters
from dragoman.serving.texts import OpenText
from dragoman.text.translation import Translation


def read_markup(parameters: Parameters) -> OpenText:
    """What splits the texts of a request in HTML or XML.

    Raises:
        RequestError: A tag of HTML is named that cannot be kept in a sentence, or a value is unknown.
    """
    is_xml = parameters.text("tag_handling") == "xml"
    ignored, splitting, joining = (
        frozenset(
            tag if is_xml else tag.lower()
            for value in parameters.texts(name)
            for tag in value.replace(",", " ").split()
        )
        for name in ("ignore_tags", "splitting_tags", "non_splitting_tags")
    )
    if is_xml:
        outline = str(parameters["outline_detection"]).lower()
        if outline not in ("none", "0", "1", "false", "true"):
            raise RequestError(400, "Value for 'outline_detection' not supported; it must be 0 or 1")
        has_outline = outline not in ("0", "false")
        return _XmlTags(ignored, splitting, joining, has_outline).open
    if kept := sorted(name for name in joining if HTML.find(name).ends):
        raise RequestError(400, f"Parameter 'non_splitting_tags': {kept[0]} always splits sentences.")
    elements = _named(ignored, splitting - joining)
    return lambda html, model: HtmlText(html, model.source, model.whole_lines, elements)


def _named(ignored: frozenset[str], splitting: frozenset[str]) -> Elements:
    """HTML in which elements with these names are copied, or end sentences."""
    return HTML.with_rows(BLOCK, splitting).with_rows(WORD, ignored)


@dataclass(frozen=True)
class _XmlTags:
    """What tags of XML mean.

    Attributes:
        ignored: Those of elements that are copied.
        splitting: Those that end sentences.
        joining: Those that do not, although they seem to be structure.
        has_outline: Whether structure is detected.
    """

    ignored: frozenset[str]
    splitting: frozenset[str]
    joining: frozenset[str]
    has_outline: bool

    def open(self, xml: str, model: ServedModel) -> SegmentedDocument[str]:
        """Split an XML text; one that is not well-formed is read as HTML.

        Raises:
            RequestError: It is huge or deeply nested, or declares entities.
        """
        try:
            nodes = parse_fragment(xml)
        except NotWellFormedError:
            named = self.ignored, self.splitting - self.joining
            return _LikeHtml(xml, model, _named(*(frozenset(map(_html_name, tags)) for tags in named)))
        except UserError as error:
            raise RequestError(400, str(error)) from None
        structure = structural_elements(nodes) if self.has_outline else frozenset[str]()
        writing = Writing(model.source, encode_xml, whole_lines=model.whole_lines)
        return XmlFragment(nodes, writing, self.ignored, (self.splitting | structure) - self.joining)


class _LikeHtml:
    """A text that is not well-formed XML, as HTML in which names may be numbers."""

    def __init__(self, xml: str, model: ServedModel, elements: Elements) -> None:
        self._html = HtmlText(name_numbers(xml), model.source, model.whole_lines, elements)
        self.segments = self._html.segments

    def assemble(self, translations: Sequence[Translation]) -> str:
        """The text with the translation of each segment."""
        return restore_numbers(self._html.assemble(translations))


def _html_name(tag: str) -> str:
    return name_numbers(f"<{tag.lower()}")[1:]
