"""Segments of limited length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from dragoman.documents.division import divide
from dragoman.documents.joining import join_segments
from dragoman.documents.segment import Segment, TranslatedSegment


class DividedSegments:
    """Segments as parts of at most so many characters.

    What a model would translate at once stays together if it is not longer, because a text is always divided at the
    same places.

    Args:
        segments: The segments.
        most: Maximum number of characters of a part.
    """

    def __init__(self, segments: Sequence[Segment], most: int) -> None:
        self._segments = segments
        self._spans = [divide(segment.text, lambda part: len(part) <= most) for segment in segments]
        self.parts = [
            replace(segment, text=segment.text[start:end])
            for segment, spans in zip(segments, self._spans, strict=True)
            for start, end in spans
        ]

    def join(self, translations: Sequence[TranslatedSegment]) -> list[TranslatedSegment]:
        """The translation of each segment, given those of the parts."""
        remaining = iter(translations)
        return [
            join_segments(segment.text, spans, list(islice(remaining, len(spans))))
            if len(spans) > 1
            else next(remaining)
            for segment, spans in zip(self._segments, self._spans, strict=True)
        ]
