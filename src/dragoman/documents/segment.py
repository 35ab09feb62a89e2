"""The interface between documents and translators: segments to translate, and their translations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from dragoman.text.glossary import Glossary
from dragoman.text.link import Link
from dragoman.text.match import NO_MATCH, Match
from dragoman.text.term_matcher import CheckedTerm

Content = TypeVar("Content", str, bytes, covariant=True)


@dataclass(frozen=True)
class Segment:
    """A text to translate at once: a sentence, or a part of a long one, without markup.

    `aligned` says that the document needs the links of the translation, for example to place tags. `glossary` has the
    terms that the translation must use.
    """

    text: str
    aligned: bool = False
    glossary: Glossary | None = None


def with_glossary(segments: Iterable[Segment], glossary: Glossary | None) -> list[Segment]:
    """Segments whose translations must use the terms of a glossary, if there is one."""
    return [replace(segment, glossary=glossary) for segment in segments] if glossary else list(segments)


@dataclass(frozen=True)
class TranslatedSegment:
    """The translation of a segment.

    Attributes:
        text: The translation.
        links: What each part of the translation is a translation of, in the order of the translation; empty if the
            segment is not `aligned`.
        problems: What is probably wrong with the translation, such as "missing: %s".
        confidence: The estimated probability that the translation is good, from 0 to 1; None if it is unknown.
        alternatives: Other translations of the segment, best first, if the settings of the search ask for them.
        terms: The terms of the glossary in the segment, and whether the translation uses them.
        match: What the translation took from a translation memory.
    """

    text: str
    links: tuple[Link, ...] = ()
    problems: tuple[str, ...] = ()
    confidence: float | None = None
    alternatives: tuple[str, ...] = ()
    terms: tuple[CheckedTerm, ...] = ()
    match: Match = NO_MATCH


TranslateSegments = Callable[[Sequence[Segment]], Sequence[TranslatedSegment]]
"""Translates segments, in order; segments without a letter or a number never get here."""


class SegmentedDocument(Protocol[Content]):
    """A document (a text, a fragment of HTML, a file) that is split into segments.

    Everything between segments is kept: spaces, line breaks, tags. Assembling with the unchanged segments gives the
    original document, byte for byte where the format allows it.
    """

    @property
    def segments(self) -> Sequence[Segment]:
        """The segments in reading order."""
        ...

    def assemble(self, translations: Sequence[TranslatedSegment]) -> Content:
        """The document with the translation of each segment."""
        ...
