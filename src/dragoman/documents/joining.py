"""Joining the translations of the parts of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import regex

from dragoman.documents.segment import TranslatedSegment
from dragoman.languages.scripts import WITHOUT_SPACES
from dragoman.text.link import Link
from dragoman.text.match import worst_match
from dragoman.text.normalization import visible_positions
from dragoman.text.translation import Translation

_NEEDS_NO_SPACE = regex.compile(rf"[{WITHOUT_SPACES}\u3000-\u303f\uff01-\uff65]")


def join_translations(text: str, spans: Sequence[tuple[int, int]], translations: Sequence[str]) -> str:
    """A text with a translation in place of each span, in order; all else is kept.

    A space is added between spans without one if the source needs none there but the translation does, for example
    from Chinese to English. If a translation lacks the final point of its sentence, and another sentence follows on the
    line, the point is added, because the sentences would run together.
    """
    return join_with_places(text, spans, translations)[0]


def join_segments(
    text: str, spans: Sequence[tuple[int, int]], translations: Sequence[TranslatedSegment]
) -> TranslatedSegment:
    """The translation of a segment whose parts were translated as segments.

    The first alternative joins the first alternatives of all parts; the confidence is the lowest.
    """
    texts = [each.text for each in translations]
    alternatives = zip(*(each.alternatives for each in translations), strict=False)  # as many as every part has
    return TranslatedSegment(
        text=join_translations(text, spans, texts),
        links=join_links(text, spans, texts, [each.links for each in translations]),
        problems=tuple(problem for each in translations for problem in each.problems),
        confidence=min((each.confidence for each in translations if each.confidence is not None), default=None),
        alternatives=tuple(join_translations(text, spans, each) for each in alternatives),
        terms=tuple(dict.fromkeys(term for each in translations for term in each.terms)),
        match=worst_match(each.match for each in translations),
    )


def join_parts(text: str, spans: Sequence[tuple[int, int]], translations: Sequence[Translation]) -> Translation:
    """The translation of a text whose parts were translated separately; see `dragoman.TextTranslator.stream`."""
    if len(translations) == 1 and spans[0] == (0, len(text)):
        return translations[0]
    alternatives = min((len(each.alternatives) for each in translations), default=0)
    ranked = [[each.alternatives[rank] for each in translations] for rank in range(alternatives)]
    return Translation(
        text=join_translations(text, spans, [each.text for each in translations]),
        tokens=[token for each in translations for token in each.tokens],
        log_probabilities=[value for each in translations for value in each.log_probabilities],
        log_probability=sum(each.log_probability for each in translations),
        score=sum(each.score for each in translations),
        truncated=any(each.truncated for each in translations),
        alternatives=[join_parts(text, spans, each) for each in ranked],
        problems=[problem for each in translations for problem in each.problems],
        terms=list(dict.fromkeys(term for each in translations for term in each.terms)),
        match=worst_match(each.match for each in translations),
        confidence=min((each.confidence for each in translations if each.confidence is not None), default=None),
    )


def join_links(
    text: str, spans: Sequence[tuple[int, int]], translations: Sequence[str], links: Sequence[Sequence[Link]]
) -> tuple[Link, ...]:
    """The links of a text whose parts were translated separately, given those of each part."""
    places = join_with_places(text, spans, translations)[1]
    return tuple(
        Link(start + link.source_start, start + link.source_end, place + link.target_start, place + link.target_end)
        for (start, _), place, each in zip(spans, places, links, strict=True)
        for link in each
    )


def with_invisible(text: str, links: Sequence[Link]) -> tuple[Link, ...]:
    """The links of a text, given those of the text without invisible characters, which was translated."""
    positions = visible_positions(text)
    return tuple(
        link._replace(source_start=positions[link.source_start], source_end=positions[link.source_end - 1] + 1)
        for link in links
    )


def join_with_places(text: str, spans: Sequence[tuple[int, int]], translations: Sequence[str]) -> tuple[str, list[int]]:
    """The joined text as `join_translations` returns it, and where each translation begins in it."""
    assert len(spans) == len(translations), "one translation for each span"
    parts: list[str] = []
    places: list[int] = []
    last = length = 0
    for index, ((start, end), translation) in enumerate(zip(spans, translations, strict=True)):
        separator = " " * (index > 0 and start == last and lost_separator(text[last - 1], parts[-1]))
        if _is_followed(text, spans, index):
            translation += _lost_stop(text[end - 1], translation)
        parts += [separator, text[last:start], translation]
        places.append(length + len(separator) + start - last)
        length, last = places[-1] + len(translation), end
    return "".join([*parts, text[last:]]), places


def add_stops(
    text: str, spans: Sequence[tuple[int, int]], translations: Sequence[TranslatedSegment]
) -> list[TranslatedSegment]:
    """The translations of the spans of a text, with the final points that `join_translations` would add."""
    return [
        add_stop(text[slice(*spans[index])], each) if _is_followed(text, spans, index) else each
        for index, each in enumerate(translations)
    ]


def add_stop(source: str, translated: TranslatedSegment) -> TranslatedSegment:
    """The translation of a sentence before another one, with the final point that it lost, and its link."""
    if not (stop := _lost_stop(source[-1:], translated.text)):
        return translated
    end = len(translated.text)
    links = (*translated.links, Link(len(source) - 1, len(source), end, end + 1)) if translated.links else ()
    return replace(translated, text=translated.text + stop, links=links)


def _is_followed(text: str, spans: Sequence[tuple[int, int]], index: int) -> bool:
    """Whether another span follows a span on the same line."""
    return index + 1 < len(spans) and "\n" not in text[spans[index][1] : spans[index + 1][0]]


def lost_separator(source_end: str, translation: str) -> bool:
    """Whether the source needs no space after its last character, but the translation does."""
    return bool(_NEEDS_NO_SPACE.match(source_end)) and not _NEEDS_NO_SPACE.match(translation[-1:])


def _lost_stop(source_end: str, translation: str) -> str:
    """The last character of the source if it ends a sentence, and the translation ends in a letter or a digit."""
    end = translation[-1:]
    has_stops = end.isdigit() or end.lower() != end.upper()  # scripts without case have other ones
    return source_end if source_end in ".!?" and has_stops else ""
