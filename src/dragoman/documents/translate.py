"""Stand-in until the real one is merged."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.translator import Translator


class TextTranslator:
    """Translates segments."""

    def __init__(self, translator: Translator) -> None:
        self.translator = translator

    def translate_segments(self, segments: Sequence[Segment]) -> list[TranslatedSegment]:
        """Translate segments."""
        found = self.translator.stream([segment.text for segment in segments])
        return [
            TranslatedSegment(
                each.text,
                problems=tuple(each.problems),
                alternatives=tuple(other.text for other in each.alternatives),
            )
            for each in found
        ]
