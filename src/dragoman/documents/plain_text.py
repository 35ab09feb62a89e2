"""Stand-in until the real splitting of sentences is merged."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.documents.segment import Segment, TranslatedSegment


class PlainText:
    """Lines of a text."""

    def __init__(self, text: str, language: str) -> None:
        self._parts = re.split(r"(\s*\n\s*|(?<=[.!?])\s+|^\s+|\s+$)", text)
        self._places = [index for index, part in enumerate(self._parts) if re.search(r"\w", part)]

    @property
    def segments(self) -> Sequence[Segment]:
        """The sentences."""
        return [Segment(self._parts[index]) for index in self._places]

    def assemble(self, translations: Sequence[TranslatedSegment]) -> str:
        """The text with translations."""
        parts = list(self._parts)
        for index, translation in zip(self._places, translations, strict=True):
            parts[index] = translation.text
        return "".join(parts)
