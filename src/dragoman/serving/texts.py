"""Translating texts of several sentences through the scheduler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dragoman.documents.html.html_text import HtmlText
from dragoman.documents.plain_text import PlainText
from dragoman.documents.segment import SegmentedDocument, TranslatedSegment
from dragoman.documents.terms import with_terms
from dragoman.serving.fair_queue import Priority
from dragoman.serving.models import Route, ServedModel
from dragoman.serving.scheduler import Scheduler
from dragoman.text.glossary import Glossary, Term

OpenText = Callable[[str, ServedModel], SegmentedDocument[str]]


def open_plain_text(text: str, model: ServedModel) -> SegmentedDocument[str]:
    """Split a plain text as a model needs it."""
    return PlainText(text, model.source, model.whole_lines)


def open_html_text(html: str, model: ServedModel) -> SegmentedDocument[str]:
    """Split HTML into sentences and attributes."""
    return HtmlText(html, model.source)


TEXT_FORMATS: dict[str, OpenText] = {"text": open_plain_text, "html": open_html_text}
"""The formats of texts in requests, with what splits a text into segments for a model."""


@dataclass(frozen=True)
class Client:
    """Who asks, and how urgently.

    Args:
        name: The name of the API key, or the address.
        priority: Whether someone waits for the answer.
    """

    name: str
    priority: Priority = Priority.INTERACTIVE


@dataclass(frozen=True)
class TranslatedText:
    """The translation of a text.

    Args:
        text: The translation.
        alternatives: Other translations, best first.
        problems: What is probably wrong with it.
        terms: The terms of a glossary that it uses.
        segments: The translations of its segments, from the last model of the route.
    """

    text: str
    alternatives: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()
    segments: tuple[TranslatedSegment, ...] = ()


async def translate_texts(
    scheduler: Scheduler,
    route: Route,
    texts: Sequence[str],
    text_format: str,
    client: Client,
    glossary: Glossary | None = None,
) -> list[TranslatedText]:
    """The translations of texts, in order; without a route, the texts themselves.

    A glossary is for a route of one model.
    """
    assert glossary is None or len(route) == 1, "terms of a pivot language are not in the glossary"
    translated = [TranslatedText(text) for text in texts]
    for model in route:
        before = translated
        translated = await _translate_once(
            scheduler, model, [each.text for each in before], text_format, client, glossary
        )
        translated = [
            replace(after, problems=(*first.problems, *after.problems))
            for first, after in zip(before, translated, strict=True)
        ]
    return translated


async def _translate_once(
    scheduler: Scheduler,
    model: ServedModel,
    texts: Sequence[str],
    text_format: str,
    client: Client,
    glossary: Glossary | None,
) -> list[TranslatedText]:
    documents = [TEXT_FORMATS[text_format](text, model) for text in texts]
    segments = with_terms([segment for document in documents for segment in document.segments], glossary)
    found = iter(await scheduler.translate(model.translate, segments, client.name, client.priority))
    return [_assemble(document, [next(found) for _ in document.segments]) for document in documents]


def _assemble(document: SegmentedDocument[str], segments: Sequence[TranslatedSegment]) -> TranslatedText:
    best = document.assemble(segments)
    alternatives = []
    for rank in range(max((len(segment.alternatives) for segment in segments), default=0)):
        others = [
            replace(segment, text=segment.alternatives[rank], links=()) if rank < len(segment.alternatives) else segment
            for segment in segments
        ]
        alternatives.append(document.assemble(others))
    problems = tuple(problem for segment in segments for problem in segment.problems)
    distinct = tuple(dict.fromkeys(text for text in alternatives if text != best))
    terms = tuple(dict.fromkeys(term for segment in segments for term in segment.terms))
    return TranslatedText(best, distinct, problems, terms, tuple(segments))
