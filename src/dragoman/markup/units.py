"""What a translation unit consists of, in any format: segments, each with a source and a translation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Generic, TypeVar

import langcodes

from dragoman.markup.xml import XmlElement, is_translated, xml_text

Text = TypeVar("Text")
"""How a format stores the text of a segment: a string, or an element of XML."""


class State(Enum):
    """Whether a segment is translated."""

    MISSING = "missing"
    """It has no translation, or one that its file declares to be none yet, such as a copy of the source."""
    DRAFT = "draft"
    """Nobody has confirmed the translation: a fuzzy message, for example, or a rejected segment."""
    FINISHED = "finished"
    KEPT = "kept"
    """Its file says that it is not translated, as names are, or it is locked and has no translation."""


@dataclass(frozen=True, slots=True)
class UnitSegment(Generic[Text]):
    """A part of a unit that is translated by itself: a sentence, a plural form, or the whole unit.

    Attributes:
        source: The text.
        target: Its translation; None if the unit has no place for it yet.
        state: Whether it is translated. A finished translation may be blank if the source is, too.
        line: Where the unit starts in its file.
        key: What the file calls it: the number of an `mrk` element, or a keyword such as ``msgstr[1]``; empty if it is
            the whole unit.
    """

    source: Text
    target: Text | None
    state: State
    line: int
    key: str = ""


# XLIFF 1.2 (with SDLXLIFF) and 2

_UNTRANSLATED = {"new", "needs-translation", "initial"}
"""States of targets that are no translations yet; often they are copies of the source."""
_DRAFTS = {
    *("Draft", "RejectedTranslation", "RejectedSignOff"),  # SDLXLIFF (Trados)
    *("NotStarted", "Pretranslated", "MachineTranslated", "AssembledFromFragments", "PartiallyEdited", "Rejected"),
    "unconfirmed",
}
"""States of segments that nobody has confirmed, or a reviewer has rejected, in SDLXLIFF, MQXLIFF and MXLIFF."""
_LOCKED = {"true", "locked", "1"}


def xliff_segments(unit: XmlElement, translate: bool = True, line: int = 0) -> list[UnitSegment[XmlElement]]:
    """The segments of a unit of XLIFF, in the order of the source.

    A `trans-unit` of XLIFF 1.2 has one, unless its source is divided by `mrk` elements of the type "seg". Each of these
    is translated by the element with the same number, unless the translation is not divided.

    Args:
        unit: A `trans-unit` (1.2), or a `unit` (2) with its `segment` elements.
        translate: Whether the elements around it say that it is translated.
        line: Where it starts.
    """
    translate = is_translated(unit.attributes, translate)
    if unit.name == "unit":
        return [
            _xliff_segment(source, next(iter(segment.elements("target")), None), [segment.attributes], translate, line)
            for segment in unit.elements("segment")
            for source in segment.elements("source")[:1]
        ]
    sources, target = unit.elements("source", "seg-source"), next(iter(unit.elements("target")), None)
    if not sources:
        return []
    divided = segments_inside(sources[-1])
    translations = segments_inside(target) if target else {}
    is_divided = bool(translations) or not target or _is_missing(target, [target.attributes.get("state", "")])
    if not divided or not is_divided:
        source = sources[-1] if divided else sources[0]
        return [_xliff_segment(source, target, [unit.attributes], translate, line)]
    stated = [unit.attributes, *([target.attributes] if target else [])]
    known = {
        each.attributes.get("id"): each.attributes for defs in unit.elements("seg-defs") for each in defs.elements()
    }
    return [
        _xliff_segment(source, translations.get(key), [*stated, known.get(key, {})], translate, line, key)
        for key, source in divided.items()
    ]


def _xliff_segment(
    source: XmlElement,
    target: XmlElement | None,
    stated: Sequence[Mapping[str, str]],
    translate: bool,
    line: int,
    key: str = "",
) -> UnitSegment[XmlElement]:
    """A segment, given the attributes of elements that state how far its translation is."""
    values = [
        (name.rpartition(":")[2], value)
        for attributes in (*stated, target.attributes if target else {})
        for name, value in attributes.items()
    ]
    states = {value for name, value in values if name in ("state", "conf", "status")}
    if ("confirmed", "0") in values:
        states.add("unconfirmed")
    is_locked = any(name == "locked" and value in _LOCKED for name, value in values)
    if not translate:
        state = State.KEPT
    elif _is_missing(target, states):
        state = State.KEPT if is_locked else State.MISSING
    else:
        state = State.DRAFT if states & _DRAFTS else State.FINISHED
    return UnitSegment(source, target, state, line, key)


def _is_missing(target: XmlElement | None, states: Collection[str]) -> bool:
    return target is None or not _UNTRANSLATED.isdisjoint(states) or not xml_text(target).strip()


def is_segment(node: XmlElement) -> bool:
    """Whether an element of XLIFF 1.2 is a segment of a unit."""
    return node.name == "mrk" and node.attributes.get("mtype") == "seg"


def segments_inside(element: XmlElement) -> dict[str, XmlElement]:
    """The segments in a source or target of XLIFF 1.2, by number; a number that is missing or repeated is counted."""
    found: dict[str, XmlElement] = {}

    def add(parent: XmlElement) -> None:
        for element in parent.elements():
            if not is_segment(element):
                add(element)
                continue
            key = element.attributes.get("mid", "")
            found[key if key and key not in found else f"{key}#{len(found)}"] = element

    add(element)
    return found


def is_seam(before: str, after: str) -> bool:
    """Whether two segments follow each other without a space between their texts."""
    return bool(before and after) and not before[-1].isspace() and not after[0].isspace()


@cache
def has_spaces(language: str) -> bool:
    """Whether there is a space between sentences in a language; True for unknown ones."""
    try:
        return langcodes.Language.get(language).maximize().script not in _SCRIPTS_WITHOUT_SPACES
    except ValueError:
        return True


_SCRIPTS_WITHOUT_SPACES = {"Hans", "Hant", "Hani", "Jpan", "Thai", "Laoo", "Khmr", "Mymr"}


# TMX


def variant_language(variant: XmlElement) -> str:
    """The tag of the language of a `tuv`."""
    return variant.attributes.get("xml:lang") or variant.attributes.get("lang") or ""


def tmx_variants(unit: XmlElement) -> dict[str, list[XmlElement]]:
    """The texts of a `tu`, by the tag of their language; those that are not blank come first."""
    variants: dict[str, list[XmlElement]] = {}
    for variant in unit.elements("tuv"):
        language = variant_language(variant)
        if language and (segments := variant.elements("seg")):
            variants.setdefault(language, []).append(segments[0])
    for segments in variants.values():
        if len(segments) > 1:
            segments.sort(key=lambda segment: not xml_text(segment).strip())
    return variants
