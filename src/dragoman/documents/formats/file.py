"""Documents in files: their data, and what the caller knows about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dragoman.corpus.pair import Languages
from dragoman.documents.formats.items import Part
from dragoman.documents.formats.passage import Writing
from dragoman.documents.segment import Segment, SegmentedDocument, TranslatedSegment
from dragoman.documents.sentences import WholeLines


@dataclass(frozen=True)
class DocumentFile:
    """A document to open.

    Attributes:
        data: Its content.
        name: What error messages call it; the suffix is that of its format.
        languages: Codes of the source and the target.
        columns: The columns of a table to translate, by name or number; all if empty.
        whole_lines: Whether texts are not split into sentences, or which are not, see `TextTranslator.whole_lines`.
    """

    data: bytes
    name: str
    languages: Languages
    columns: Sequence[str] = ()
    whole_lines: WholeLines = False

    def writing(self, encode: Callable[[str], str], finish: Callable[[str, str], str] | None = None) -> Writing:
        """How translations are written, given what the file contains for a text; see `Writing`."""
        writing = Writing(self.languages[0], encode, whole_lines=self.whole_lines)
        return replace(writing, finish=finish) if finish else writing


OpenDocument: TypeAlias = Callable[[DocumentFile], SegmentedDocument[bytes]]


class PassageText:
    """A text with passages to translate, whose other parts are kept."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self.segments = list(find_segments(parts))

    def assemble(self, translations: Sequence[TranslatedSegment]) -> str:
        """The text with the translation of each segment."""
        remaining = iter(translations)
        written = write_parts(self._parts, remaining)
        assert next(remaining, None) is None, "one translation for each segment"
        return written


def find_segments(parts: Sequence[Part]) -> Iterator[Segment]:
    """The segments of parts, in the order in which they are written."""
    for part in parts:
        if not isinstance(part, str):
            yield from part.segments
            yield from find_segments(list(part.nested()))


def write_parts(parts: Sequence[Part], translations: Iterator[TranslatedSegment]) -> str:
    """What the file contains for parts whose segments have the next translations."""
    return "".join(
        part
        if isinstance(part, str)
        else part.write([next(translations) for _ in part.segments], lambda inner: write_parts(inner, translations))
        for part in parts
    )


class EncodedDocument:
    """A document of characters in a file."""

    def __init__(self, document: SegmentedDocument[str], encode: Callable[[str], bytes]) -> None:
        self._document, self._encode = document, encode
        self.segments = document.segments

    def assemble(self, translations: Sequence[TranslatedSegment]) -> bytes:
        """The file with the translation of each segment."""
        return self._encode(self._document.assemble(translations))


class PassageDocument(EncodedDocument):
    """A file with passages to translate, whose other parts are kept."""

    def __init__(self, parts: Sequence[Part], encode: Callable[[str], bytes]) -> None:
        super().__init__(PassageText(parts), encode)
