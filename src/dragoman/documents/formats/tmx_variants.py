"""Translation memories (TMX): the target language is added to the units that lack it, or have it without a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman.corpus.language_tags import find_language
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.formats.inline_codes import code_parts
from dragoman.documents.formats.xml_tree import XmlElement, XmlNode, XmlText, encode_xml, raw_xml, read_xml, xml_text
from dragoman.documents.passage import Part
from dragoman.errors import UserError


def open_tmx(file: DocumentFile) -> PassageDocument:
    """The units without a text in the target language.

    Raises:
        UserError: It is not TMX, or no unit has a text in the source language.
    """
    root, characters = read_xml(file)
    units = list(root.find_all("tu"))
    if not any(element.name == "tmx" for element in root.elements()):
        raise UserError(f"{file.name}: is not a translation memory, because it contains no <tmx>; export it again")
    found = dict.fromkeys(language for unit in units for language in _find_variants(unit))
    if units and find_language(file.languages[0], tuple(found)) is None:
        raise UserError(
            f"{file.name}: has no text in {file.languages[0]}, only in {', '.join(sorted(found)) or 'no language'}; "
            "choose another translator"
        )
    return PassageDocument(list(_Tmx(file, tuple(found)).parts(root.children)), characters.encode)


class _Tmx:
    """A translation memory.

    Args:
        file: The file.
        found: The languages of its texts; a new text in English becomes one in en-GB if the others are.
    """

    def __init__(self, file: DocumentFile, found: tuple[str, ...]) -> None:
        self._source, self._target = file.languages
        usual = find_language(self._target, found)
        self._label = self._target if usual in (None, find_language(self._source, found)) else usual
        self._writing = file.writing(encode_xml)

    def parts(self, nodes: Sequence[XmlNode]) -> Iterator[Part]:
        for node in nodes:
            if isinstance(node, XmlText):
                yield node.raw
            elif node.name == "tu":
                yield from self._unit(node)
            else:
                yield from (node.start, *self.parts(node.children), node.end)

    def _unit(self, unit: XmlElement) -> Iterator[Part]:
        variants = _find_variants(unit)
        empty = [each for each in unit.elements("tuv") if self._is_empty_target(each, variants)]
        source, target = (find_language(language, tuple(variants)) for language in (self._source, self._target))
        if source is None or (target is not None and target != source):
            yield raw_xml([unit])
            return
        last = unit.children.index(unit.elements("tuv")[-1]) + 1
        segment = variants[source].elements("seg")[0]
        parts = code_parts(segment.children, self._writing)
        space = unit.children[0].raw if isinstance(unit.children[0], XmlText) else ""
        label = _language_of(empty[0]) if empty else self._label
        start = f'{space}<tuv xml:lang="{label}">{segment.start}'
        kept = [each for each in unit.children[:last] if not any(each is other for other in empty)]
        yield from (unit.start, raw_xml(kept), start, *parts, f"{segment.end}</tuv>")
        yield from (raw_xml(unit.children[last:]), unit.end)

    def _is_empty_target(self, variant: XmlElement, variants: dict[str, XmlElement]) -> bool:
        """Whether a variant in the target language has no text."""
        language = _language_of(variant)
        return language not in variants and find_language(self._target, (language,)) is not None


def _language_of(variant: XmlElement) -> str:
    return variant.attributes.get("xml:lang") or variant.attributes.get("lang") or ""


def _find_variants(unit: XmlElement) -> dict[str, XmlElement]:
    """The first variant of each language that has a text."""
    variants: dict[str, XmlElement] = {}
    for variant in unit.elements("tuv"):
        language, segments = _language_of(variant), variant.elements("seg")
        if language and segments and xml_text(segments[0]).strip():
            variants.setdefault(language, variant)
    return variants
