"""Documents in files: their data, and what the caller knows about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dragoman.corpus.pair import Languages
from dragoman.documents.passage import Part, PassageText, Writing
from dragoman.documents.segment import SegmentedDocument
from dragoman.documents.sentences import WholeLines
from dragoman.text.translation import Translation


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


class EncodedDocument:
    """A document of characters in a file."""

    def __init__(self, document: SegmentedDocument[str], encode: Callable[[str], bytes]) -> None:
        self._document, self._encode = document, encode
        self.segments = document.segments

    def assemble(self, translations: Sequence[Translation]) -> bytes:
        """The file with the translation of each segment."""
        return self._encode(self._document.assemble(translations))


class PassageDocument(EncodedDocument):
    """A file with passages to translate, whose other parts are kept."""

    def __init__(self, parts: Sequence[Part], encode: Callable[[str], bytes]) -> None:
        super().__init__(PassageText(parts), encode)
