"""XLIFF 1.2 and 2: the targets that are missing are added, for review by a translator."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from dragoman.corpus.pair import Languages
from dragoman.documents.formats.characters import read_xml
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.formats.inline_codes import code_parts
from dragoman.documents.passage import Part
from dragoman.errors import UserError
from dragoman.languages.codes import find_language
from dragoman.markup.units import State, has_spaces, is_seam, is_segment, segments_inside, xliff_segments
from dragoman.markup.xml import (
    XmlElement,
    XmlNode,
    XmlText,
    encode_xml,
    is_translated,
    raw_xml,
    with_attribute,
    xml_text,
)

_LANGUAGES = {"file": ("source-language", "target-language"), "xliff": ("srcLang", "trgLang")}


def open_xliff(file: DocumentFile) -> PassageDocument:
    """The segments without a translation, or whose state is that of an untranslated one.

    Raises:
        UserError: It is not XLIFF, or its languages are others.
    """
    root, characters = read_xml(file)
    if not any(element.name == "xliff" for element in root.elements()):
        raise UserError(f"{file.name}: is not XLIFF, because it contains no <xliff>; export it again")
    return PassageDocument(list(_Xliff(file).parts(root.children)), characters.encode)


class _Xliff:
    def __init__(self, file: DocumentFile) -> None:
        self._name, self._languages = file.name, file.languages
        self._separator = " " if has_spaces(file.languages[1]) else ""
        self._writing = file.writing(encode_xml)

    def parts(self, nodes: Sequence[XmlNode], translate: bool = True) -> Iterator[Part]:
        for node in nodes:
            if isinstance(node, XmlText):
                yield node.raw
            elif node.name in ("trans-unit", "unit"):
                yield from self._unit(node, translate)
            else:
                inside = self.parts(node.children, is_translated(node.attributes, translate))
                yield from (self._start(node), *inside, node.end)

    def _start(self, node: XmlElement) -> str:
        """The start tag, with the target language if it declares the source language."""
        source, target = _LANGUAGES.get(node.name, ("", ""))
        if source not in node.attributes:
            return node.start
        declared = node.attributes[source], node.attributes.get(target) or self._languages[1]
        _require_languages(declared, self._languages, self._name)
        return with_attribute(node.start, target, declared[1])

    def _unit(self, unit: XmlElement, translate: bool) -> Iterator[Part]:
        missing = {
            segment.key or str(number): segment.source
            for number, segment in enumerate(xliff_segments(unit, translate))
            if segment.state == State.MISSING and xml_text(segment.source).strip()
        }
        if not missing:
            yield raw_xml([unit])
        elif unit.name == "unit":
            yield from (unit.start, *self._segments(unit, set(map(id, missing.values()))), unit.end)
        else:
            start = with_attribute(unit.start, "approved", "no") if "approved" in unit.attributes else unit.start
            target = next(iter(unit.elements("target")), None)
            source = unit.elements("source", "seg-source")[-1]
            if segments_inside(source):
                content = list(self._divided(source, target if target and segments_inside(target) else None, missing))
            else:
                content = self._translate(source)
            filled = self._with_target(unit, content, state="needs-review-translation")
            yield from (start, *_mark_drafts(filled, unit, missing), unit.end)

    def _translate(self, source: XmlElement) -> list[Part]:
        return code_parts(source.children, self._writing)

    def _with_target(self, unit: XmlElement, content: Sequence[Part], state: str = "") -> Iterator[Part | XmlElement]:
        """What is in a unit or segment, with another content of its target; elements in it stay as they are."""
        sources, targets = unit.elements("source", "seg-source"), unit.elements("target")
        target = targets[0] if targets else None
        tag = target.tag if target else sources[0].tag.replace("source", "target")
        start = _opening(target.start) if target else f"<{tag}>"
        start = with_attribute(start, "state", state) if state else start
        for node in unit.children:
            if node is not target:
                yield node.raw if isinstance(node, XmlText) else node
            if node is (target or sources[-1]):
                indentation = "" if target else _indentation(unit.children, sources[0])
                yield from (indentation, start, *content, f"</{tag}>")

    def _divided(
        self, source: XmlElement, target: XmlElement | None, missing: Mapping[str, XmlElement]
    ) -> Iterator[Part]:
        """A target of XLIFF 1.2 whose source is divided into segments, of which some are missing.

        New segments are where their elements are in the target, or else before the next segment, or at the end.
        """
        order = {key: place for place, key in enumerate(segments_inside(source))}
        placed = segments_inside(target) if target else segments_inside(source)
        waiting = deque(key for key in order if key in missing and key not in placed)
        seam = _Seam(self._separator)

        def write(key: str, element: XmlElement) -> Iterator[Part]:
            yield seam.before(xml_text(missing[key]), is_new=True)
            yield from (_opening(element.start), *self._translate(missing[key]))
            yield f"</{element.tag}>"

        def walk(nodes: Sequence[XmlNode]) -> Iterator[Part]:
            for node in nodes:
                if isinstance(node, XmlText):
                    seam.pass_text(node.text)
                    yield node.raw
                elif not is_segment(node):
                    yield from (node.start, *walk(node.children), node.end)
                else:
                    key = keys[id(node)]
                    while waiting and key in order and order[waiting[0]] < order[key]:
                        earlier = waiting.popleft()
                        yield from write(earlier, missing[earlier])
                    if key in missing:
                        yield from write(key, node)
                    else:
                        yield seam.before(xml_text(node), is_new=False)
                        yield raw_xml([node])

        keys = {id(element): key for key, element in placed.items()}
        yield from walk((target or source).children)
        for key in waiting:
            yield from write(key, missing[key])

    def _segments(self, unit: XmlElement, missing: Collection[int]) -> Iterator[Part]:
        """The content of a unit of XLIFF 2; `missing` are the `id` of the sources to translate."""
        segments = [each for each in unit.elements("segment", "ignorable") if each.elements("source")]
        sources = [each.elements("source")[0] for each in segments]
        is_new = [id(source) in missing for source in sources]
        texts = [
            xml_text(source if new else (segment.elements("target") or [source])[0])
            for segment, source, new in zip(segments, sources, is_new, strict=True)
        ]
        places = {id(segment): place for place, segment in enumerate(segments)}
        for node in unit.children:
            place = places.get(id(node), -1)
            if isinstance(node, XmlText) or place < 0 or not is_new[place]:
                yield raw_xml([node])
                continue
            before = self._separator * (place > 0 and is_seam(texts[place - 1], texts[place]))
            is_followed = place + 1 < len(segments) and not is_new[place + 1]
            after = self._separator * (is_followed and is_seam(texts[place], texts[place + 1]))
            yield with_attribute(node.start, "state", "translated")
            for part in self._with_target(node, [before, *self._translate(sources[place]), after]):
                yield raw_xml([part]) if isinstance(part, XmlElement) else part
            yield node.end


class _Seam:
    """Where a segment follows another one without a space, which the translation needs if one of them is new."""

    def __init__(self, separator: str) -> None:
        self._separator, self._text, self._is_new = separator, "", False

    def pass_text(self, text: str) -> None:
        """Note a text between segments."""
        self._text = text or self._text

    def before(self, text: str, is_new: bool) -> str:
        """What is written before a segment with a text."""
        needed = (is_new or self._is_new) and is_seam(self._text, text)
        self._text, self._is_new = text or self._text, is_new
        return self._separator if needed else ""


def _mark_drafts(parts: Iterable[Part | XmlElement], unit: XmlElement, missing: Collection[str]) -> Iterator[Part]:
    """The content of a unit; SDLXLIFF states in it that new segments are not confirmed."""
    for part in parts:
        if not isinstance(part, XmlElement):
            yield part
            continue
        if part.name != "seg-defs":
            yield raw_xml([part])
            continue
        yield part.start
        for node in part.children:
            is_new = isinstance(node, XmlElement) and node.attributes.get("id") in missing
            if isinstance(node, XmlElement) and is_new:
                yield with_attribute(node.start, "conf", "Draft") + raw_xml(node.children) + node.end
            else:
                yield raw_xml([node])
        yield part.end


def _opening(start: str) -> str:
    """A start tag that may be that of an empty element, before content."""
    return re.sub(r"\s*/>$", ">", start)


def _require_languages(declared: Languages, languages: Languages, name: str) -> None:
    """Check that a file is in the languages of the translator.

    Raises:
        UserError: It is in others.
    """
    for found, language in zip(declared, languages, strict=True):
        if find_language(language, (found,)) is None:
            raise UserError(
                f"{name}: is from {declared[0]} to {declared[1]}, but the translator is from {languages[0]} to "
                f"{languages[1]}; choose other languages or another translator, or correct those in the file"
            )


def _indentation(siblings: Sequence[XmlNode], node: XmlElement) -> str:
    """The white space before a node."""
    before = siblings[siblings.index(node) - 1] if siblings.index(node) else None
    return before.raw if isinstance(before, XmlText) and not before.raw.strip() else ""
