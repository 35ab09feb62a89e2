"""Translating segments by one model, or by two with a language between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from dragoman.documents.segment import Segment
from dragoman.documents.sentences import find_text_spans, join_parts
from dragoman.serving.fair_queue import Priority
from dragoman.serving.models import Route, ServedModel
from dragoman.serving.scheduler import Scheduler
from dragoman.text.link import chain_links
from dragoman.text.translation import Translation


@dataclass(frozen=True)
class Client:
    """Who asks, and how urgently.

    Args:
        name: The name of the API key, or the address.
        priority: Whether someone waits for the answer.
        is_accepted: Whether this is the rest of a request, which a full queue does not refuse.
    """

    name: str
    priority: Priority = Priority.INTERACTIVE
    is_accepted: bool = False


async def translate_segments(
    scheduler: Scheduler, route: Route, segments: Sequence[Segment], client: Client
) -> list[Translation]:
    """The translations of segments, in order.

    Documents are split for the first model, and what it translates is split again for the second one. The links lead
    from the last text to the first one. Terms of a glossary are for a route of one model.

    Raises:
        RequestError: The queue is full.
    """
    first, *others = route
    found = await _translate_by(scheduler, first, segments, client)
    for model in others:
        texts = [each.text for each in found]
        spans = [list(find_text_spans(text, model.source, model.whole_lines)) for text in texts]
        parts = [
            replace(segment, text=text[start:end])
            for segment, text, places in zip(segments, texts, spans, strict=True)
            for start, end in places
        ]
        translated = iter(await _translate_by(scheduler, model, parts, replace(client, is_accepted=True)))
        found = [
            _follow(before, join_parts(before.text, places, list(islice(translated, len(places)))))
            for before, places in zip(found, spans, strict=True)
        ]
    return found


async def _translate_by(
    scheduler: Scheduler, model: ServedModel, segments: Sequence[Segment], client: Client
) -> list[Translation]:
    return await scheduler.translate(
        model.translate, model.count_tokens, segments, client.name, client.priority, client.is_accepted
    )


def _follow(first: Translation, second: Translation) -> Translation:
    """The translation of a translation, as that of its source."""
    known = [each for each in (first.confidence, second.confidence) if each is not None]
    return replace(
        second,
        truncated=first.truncated or second.truncated,
        problems=[*first.problems, *second.problems],
        confidence=min(known, default=None),
        links=chain_links(first.links, second.links),
    )
