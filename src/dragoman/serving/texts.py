"""Translating texts of several sentences through the scheduler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman.documents.formats.html import HtmlText
from dragoman.documents.segment import SegmentedDocument, with_glossary
from dragoman.documents.sentences import PlainText
from dragoman.serving.models import Route, ServedModel
from dragoman.serving.scheduler import Scheduler, run_by_size
from dragoman.serving.segments import Client, translate_segments
from dragoman.text.glossary import Glossary
from dragoman.text.match import NO_MATCH, Match, worst_match
from dragoman.text.placeholders import find_spans, text_between
from dragoman.text.term_matcher import CheckedTerm
from dragoman.text.translation import Translation

_CONFIDENCE_DIGITS = 3
_ANY_LANGUAGE = "en"  # words are the same in all languages
OpenText = Callable[[str, ServedModel], SegmentedDocument[str]]


def open_plain_text(text: str, model: ServedModel) -> SegmentedDocument[str]:
    """Split a plain text as a model needs it."""
    return PlainText(text, model.source, model.whole_lines)


def open_html_text(html: str, model: ServedModel) -> SegmentedDocument[str]:
    """Split HTML into sentences and attributes."""
    return HtmlText(html, model.source, model.whole_lines)


TEXT_FORMATS: dict[str, OpenText] = {"text": open_plain_text, "html": open_html_text}
"""The formats of texts in requests, with what splits a text into segments for a model."""


@dataclass(frozen=True)
class TranslatedText:
    """The translation of a text.

    Args:
        text: The translation.
        alternatives: Other translations, best first.
        problems: What is probably wrong with it.
        confidence: The lowest confidence of a segment, from any model of the route; None if none is known.
        terms: The terms of a glossary in the text, and whether it uses them.
        segments: The translations of its segments, from the last model of the route.
        match: What it took from a translation memory, of the last model.
    """

    text: str
    alternatives: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    confidence: float | None = None
    terms: tuple[CheckedTerm, ...] = ()
    segments: tuple[Translation, ...] = ()
    match: Match = NO_MATCH


async def translate_texts(
    scheduler: Scheduler,
    route: Route,
    texts: Sequence[str],
    open_text: OpenText,
    client: Client,
    glossary: Glossary | None = None,
) -> list[TranslatedText]:
    """The translations of texts, in order; without a route, the texts themselves.

    A glossary is for a route of one model.
    """
    assert glossary is None or len(route) == 1, "terms of a pivot language are not in the glossary"
    if not route:
        return [TranslatedText(text) for text in texts]
    size = sum(map(len, texts))
    documents = await run_by_size(size, lambda: [open_text(text, route[0]) for text in texts])
    segments = with_glossary([segment for document in documents for segment in document.segments], glossary)
    found = iter(await translate_segments(scheduler, route, segments, client))
    return await run_by_size(
        size, lambda: [_assemble(document, [next(found) for _ in document.segments]) for document in documents]
    )


async def read_words(texts: Sequence[str], text_format: str) -> str:
    """What people read of texts, for detecting their language: no tags, placeholders and addresses."""
    return await run_by_size(sum(map(len, texts)), lambda: "\n".join(_words_of(text, text_format) for text in texts))


def _words_of(text: str, text_format: str) -> str:
    if text_format == "html":
        text = "\n".join(segment.text for segment in HtmlText(text, _ANY_LANGUAGE).segments)
    return " ".join(text_between(text, find_spans(text)))


def _assemble(document: SegmentedDocument[str], segments: Sequence[Translation]) -> TranslatedText:
    best = document.assemble(segments)
    alternatives = []
    for rank in range(max((len(segment.alternatives) for segment in segments), default=0)):
        others = [segment.alternatives[rank] if rank < len(segment.alternatives) else segment for segment in segments]
        alternatives.append(document.assemble(others))
    problems = tuple(problem for segment in segments for problem in segment.problems)
    distinct = tuple(dict.fromkeys(text for text in alternatives if text != best))
    terms = tuple(dict.fromkeys(term for segment in segments for term in segment.terms))
    confidence = _lowest(*(segment.confidence for segment in segments))
    match = worst_match(segment.match for segment in segments)
    return TranslatedText(best, distinct, problems, confidence, terms, tuple(segments), match)


def _lowest(*confidences: float | None) -> float | None:
    """The lowest of the confidences that are known, rounded."""
    known = [each for each in confidences if each is not None]
    return round(min(known), _CONFIDENCE_DIGITS) if known else None
