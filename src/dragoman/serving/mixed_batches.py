"""Batches of several directions: sentences of all directions of a model go through its engine together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from dragoman.documents.segment import Segment, TranslateSegments
from dragoman.documents.translate import TextTranslator, translate_mixed
from dragoman.text.translation import Translation


@dataclass(frozen=True)
class DirectionTranslator:
    """Translates segments in one direction of a model; a `TranslateSegments` whose work can be mixed with others'."""

    texts: TextTranslator

    def __call__(self, segments: Sequence[Segment]) -> list[Translation]:
        """The translations of segments."""
        return self.texts.translate_segments(segments)


def mixing_key(translate: TranslateSegments) -> Hashable:
    """What is the same for all functions whose segments can be in one batch."""
    return id(translate.texts.translator.engine) if isinstance(translate, DirectionTranslator) else translate


def translate_jobs(jobs: Sequence[tuple[TranslateSegments, Segment]]) -> list[Translation]:
    """The translation of each segment by its function; all have the same `mixing_key`."""
    places: dict[TranslateSegments, list[int]] = {}
    for place, (translate, _) in enumerate(jobs):
        places.setdefault(translate, []).append(place)
    segments = {translate: [jobs[place][1] for place in each] for translate, each in places.items()}
    if len(segments) == 1:
        ((translate, only),) = segments.items()
        return list(translate(only))
    work = [(each.texts, segments[each]) for each in segments if isinstance(each, DirectionTranslator)]
    found = dict(zip(segments, translate_mixed(work), strict=True))
    translated = {
        place: result for translate, own in places.items() for place, result in zip(own, found[translate], strict=True)
    }
    return [translated[place] for place in range(len(jobs))]
