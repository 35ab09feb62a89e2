"""The interface between documents and translators: segments to translate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from dragoman.text.glossary import Glossary
from dragoman.text.translation import Translation

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


TranslateSegments = Callable[[Sequence[Segment]], Sequence[Translation]]
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

    def assemble(self, translations: Sequence[Translation]) -> Content:
        """The document with the translation of each segment."""
        ...
