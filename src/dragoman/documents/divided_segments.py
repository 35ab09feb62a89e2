"""Segments of limited length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from dragoman.documents.division import divide
from dragoman.documents.joining import join_segments
from dragoman.documents.segment import Segment, TranslatedSegment

CountTokens = Callable[[str], int]
"""The number of tokens of a text, at least 1."""


class DividedSegments:
    """Segments as parts of at most so many tokens.

    What a model would translate at once stays together if it is not longer, because a text is always divided at the
    same places.

    Args:
        segments: The segments.
        count_tokens: How long a text is.
        most: Maximum number of tokens of a part, unless it is a single character.

    Attributes:
        parts: The parts of all segments, in order.
        sizes: The number of tokens of each part.
    """

    def __init__(self, segments: Sequence[Segment], count_tokens: CountTokens, most: int) -> None:
        counts: dict[str, int] = {}

        def count(text: str) -> int:
            if text not in counts:
                counts[text] = count_tokens(text)
            return counts[text]

        self._segments = segments
        self._spans = [divide(segment.text, lambda part: count(part) <= most) for segment in segments]
        self.parts = [
            segment if end - start == len(segment.text) else replace(segment, text=segment.text[start:end])
            for segment, spans in zip(segments, self._spans, strict=True)
            for start, end in spans
        ]
        self.sizes = [count(part.text) for part in self.parts]

    def join(self, translations: Sequence[TranslatedSegment]) -> list[TranslatedSegment]:
        """The translation of each segment, given those of the parts."""
        remaining = iter(translations)
        return [
            join_segments(segment.text, spans, list(islice(remaining, len(spans))))
            if len(spans) > 1
            else next(remaining)
            for segment, spans in zip(self._segments, self._spans, strict=True)
        ]
