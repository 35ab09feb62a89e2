"""XLIFF 1.2 and 2: the targets that are missing are added, for review by a translator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman.corpus.language_tags import find_language
from dragoman.corpus.pair import Languages
from dragoman.corpus.xliff import UNTRANSLATED_STATES
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.formats.inline_codes import code_parts
from dragoman.documents.formats.xml_tree import (
    XmlElement,
    XmlNode,
    XmlText,
    encode_xml,
    raw_xml,
    read_xml,
    with_attribute,
    xml_text,
)
from dragoman.documents.passage import Part
from dragoman.errors import UserError

_LANGUAGES = {"file": ("source-language", "target-language"), "xliff": ("srcLang", "trgLang")}
_STATES = {"trans-unit": "needs-review-translation", "segment": "translated"}


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
        self._writing = file.writing(encode_xml)

    def parts(self, nodes: Sequence[XmlNode]) -> Iterator[Part]:
        for node in nodes:
            if isinstance(node, XmlText) or node.attributes.get("translate") == "no":
                yield raw_xml([node])
            elif node.name in _STATES:
                yield from self._unit(node)
            else:
                yield from (self._start(node), *self.parts(node.children), node.end)

    def _start(self, node: XmlElement) -> str:
        """The start tag, with the target language if it declares the source language."""
        source, target = _LANGUAGES.get(node.name, ("", ""))
        if source not in node.attributes:
            return node.start
        declared = node.attributes[source], node.attributes.get(target) or self._languages[1]
        _require_languages(declared, self._languages, self._name)
        return with_attribute(node.start, target, declared[1])

    def _unit(self, unit: XmlElement) -> Iterator[Part]:
        """A unit of XLIFF 1.2 or a segment of XLIFF 2, with a target if it has none yet."""
        sources, targets = unit.elements("source", "seg-source"), unit.elements("target")
        if not sources or _is_finished(unit, targets):
            yield raw_xml([unit])
            return
        state, source = _STATES[unit.name], sources[-1]
        unit_start = with_attribute(unit.start, "approved", "no") if "approved" in unit.attributes else unit.start
        yield with_attribute(unit_start, "state", state) if unit.name == "segment" else unit_start
        tag = (
            (targets or sources)[0]
            .start.strip("</>")
            .split()[0]
            .replace("seg-source", "target")
            .replace("source", "target")
        )
        start = targets[0].start.replace("/>", ">") if targets else f"<{tag}>"
        if unit.name == "trans-unit":
            start = with_attribute(start, "state", state)
        for node in unit.children:
            if not targets or node is not targets[0]:
                yield raw_xml([node])
            if node is (targets[0] if targets else source):
                indentation = "" if targets else _indentation(unit.children, sources[0])
                yield from (indentation, start, *code_parts(source.children, self._writing), f"</{tag}>")
        yield unit.end


def _require_languages(declared: Languages, languages: Languages, name: str) -> None:
    """Check that a file is in the languages of the translator.

    Raises:
        UserError: It is in others.
    """
    for found, language in zip(declared, languages, strict=True):
        if find_language(language, (found,)) is None:
            raise UserError(
                f"{name}: is from {declared[0]} to {declared[1]}, but the translator is from {languages[0]} to "
                f"{languages[1]}; choose another translator, or correct the languages in the file"
            )


def _is_finished(unit: XmlElement, targets: Sequence[XmlElement]) -> bool:
    states = {unit.attributes.get("state"), *(target.attributes.get("state") for target in targets)}
    return any(xml_text(target).strip() for target in targets) and not states & UNTRANSLATED_STATES


def _indentation(siblings: Sequence[XmlNode], node: XmlElement) -> str:
    """The white space before a node."""
    before = siblings[siblings.index(node) - 1] if siblings.index(node) else None
    return before.raw if isinstance(before, XmlText) and not before.raw.strip() else ""
