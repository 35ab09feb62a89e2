"""Translations with the terms of a glossary, by models that follow it: the source says how terms are translated."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.documents.segment import Segment
from dragoman.text.term_matcher import TermMatcher
from dragoman.text.translation import Translation
from dragoman.translator import Translator


class MarkedTermSearch:
    """Translates segments whose terms are marked.

    The model decides in which form it uses a term. It may also ignore a term that does not fit.

    Args:
        translator: The translator.
        matcher: Finds the terms.
    """

    def __init__(self, translator: Translator, matcher: TermMatcher) -> None:
        self._search = translator.text_search
        self._matcher = matcher

    def translate(self, segments: Sequence[Segment]) -> list[Translation]:
        """The translation of each segment."""
        terms = [self._matcher.find(segment.text, segment.glossary) for segment in segments]
        sources = self._search.encode_with_terms([segment.text for segment in segments], terms)
        return list(map(self._search.translation, sources, self._search.search(sources)))
