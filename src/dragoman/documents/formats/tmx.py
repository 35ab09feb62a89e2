"""Translation memories (TMX): the target language is added to the units that lack it, or have it without a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from dragoman.corpus.translation_units import Variants
from dragoman.documents.formats.characters import read_xml
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.formats.inline_codes import code_parts
from dragoman.documents.passage import Part
from dragoman.errors import UserError
from dragoman.languages.codes import find_language
from dragoman.markup.units import tmx_variants, variant_language
from dragoman.markup.xml import XmlElement, XmlText, encode_xml, raw_xml, replace_elements, xml_text


def open_tmx(file: DocumentFile) -> PassageDocument:
    """The units without a text in the target language.

    Raises:
        UserError: It is not TMX, or no unit has a text in the source language.
    """
    root, characters = read_xml(file)
    units = list(root.find_all("tu"))
    if not any(element.name == "tmx" for element in root.elements()):
        raise UserError(f"{file.name}: is not a translation memory, because it contains no <tmx>; export it again")
    counts = Counter(tag for unit in units for tag in _with_text(unit))
    if units and find_language(file.languages[0], tuple(counts)) is None:
        raise UserError(
            f"{file.name}: has no text in {file.languages[0]}, only in {', '.join(sorted(counts)) or 'no language'}; "
            "choose other languages or another translator"
        )
    return PassageDocument(list(replace_elements(root.children, _Tmx(file, counts).read)), characters.encode)


class _Tmx:
    """A translation memory.

    Args:
        file: The file.
        counts: How often each language occurs; a new text in English becomes one in en-GB if the others are.
    """

    def __init__(self, file: DocumentFile, counts: Counter[str]) -> None:
        self._source, self._target = (Variants(language, counts) for language in file.languages)
        self._languages = file.languages
        usual = next((tag for tag, _ in counts.most_common() if self._target.find([tag])), None)
        self._label = file.languages[1] if usual is None or self._source.find([usual]) else usual
        self._writing = file.writing(encode_xml)

    def read(self, node: XmlElement) -> Iterator[Part] | None:
        """The parts of a unit, perhaps with a new text; None for other elements."""
        return self._unit(node) if node.name == "tu" else None

    def _unit(self, unit: XmlElement) -> Iterator[Part]:
        texts = _with_text(unit)
        source = self._source.find(texts) or find_language(self._languages[0], tuple(texts))
        target = self._target.find(texts)
        if source is None or (target is not None and target != source):
            yield raw_xml([unit])
            return
        variants = unit.elements("tuv")
        empty = [each for each in variants if self._is_empty_target(each, texts)]
        last = unit.children.index(variants[-1]) + 1
        space = unit.children[0].raw if isinstance(unit.children[0], XmlText) else ""
        label = variant_language(empty[0]) if empty else self._label
        segment = texts[source]
        parts = code_parts(segment.children, self._writing)
        kept = [each for each in unit.children[:last] if not any(each is other for other in empty)]
        yield from (unit.start, raw_xml(kept), f'{space}<tuv xml:lang="{label}">{segment.start}')
        yield from (*parts, f"{segment.end}</tuv>", raw_xml(unit.children[last:]), unit.end)

    def _is_empty_target(self, variant: XmlElement, texts: Collection[str]) -> bool:
        """Whether a variant in the target language has no text."""
        language = variant_language(variant)
        return language not in texts and self._target.find([language]) is not None


def _with_text(unit: XmlElement) -> dict[str, XmlElement]:
    """The text of each language that has one in a unit."""
    return {tag: texts[0] for tag, texts in tmx_variants(unit).items() if xml_text(texts[0]).strip()}
