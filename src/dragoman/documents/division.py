"""Dividing what is too long for a model, and joining the translations of the parts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import regex

from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.languages.scripts import WITHOUT_SPACES
from dragoman.languages.sentence_marks import BETWEEN_SENTENCES
from dragoman.text.link import Link
from dragoman.text.match import worst_match
from dragoman.text.normalization import visible_positions
from dragoman.text.placeholders import find_spans
from dragoman.text.translation import Translation

_AFTER_CLAUSE = regex.compile(r"(?<=[,;:،؛])\s+(?=\S)|(?<!\s)\s++(?=[–—-]\s)|(?<=[、，；：])(?=\S)")
_SPACE = regex.compile(r"(?<!\s)\s++(?=\S)")
_CHARACTER = regex.compile(r"\X")  # with its accents
MIN_SHARE = 0.2  # of the characters, in the shorter of the two parts around a punctuation mark
MOST_ACCENTS = 100  # of one character; a letter of any language has fewer

Cut = tuple[int, int]
"""Where the first part ends and the second one starts."""


def divide(text: str, fits: Callable[[str], bool]) -> list[tuple[int, int]]:
    """The start and the end of parts that fit, in order, without the spaces between them; one part if the text fits.

    A text is divided after the sentence or clause that ends nearest to its middle, otherwise at a space, and only if
    there is none, inside a word. Placeholders, URLs and numbers stay in one part as long as they fit.
    """
    return list(_divide(text, 0, len(text), fits))


def _divide(text: str, start: int, end: int, fits: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    if fits(text[start:end]) or (cut := _best_cut(text[start:end])) is None:
        yield start, end
        return
    first_end, second_start = cut
    yield from _divide(text, start, start + first_end, fits)
    yield from _divide(text, start + second_start, end, fits)


def _best_cut(text: str) -> Cut | None:
    """The cut nearest to the middle among those of the best kind; None for a single character."""
    spans = [(span.start, span.end) for span in find_spans(text)]
    for pattern, share in ((BETWEEN_SENTENCES, MIN_SHARE), (_AFTER_CLAUSE, MIN_SHARE), (_SPACE, 0)):
        cuts = (match.span() for match in pattern.finditer(text))
        if cut := _nearest_cut(text, cuts, spans, share):
            return cut
    edges = {edge for span in spans for edge in span}
    characters = [(place, place) for place in sorted({*_ends_of_characters(text), *edges})]
    middle = len(text) // 2, len(text) // 2
    return (
        _nearest_cut(text, characters, spans)
        or _nearest_cut(text, characters, ())
        or (middle if len(text) > MOST_ACCENTS else None)
    )


def _ends_of_characters(text: str) -> Iterator[int]:
    """Where characters end near the middle; a search of a whole text would be slow if it consists of flags."""
    start = max(0, len(text) // 2 - MOST_ACCENTS)
    end = start + 2 * MOST_ACCENTS
    for match in _CHARACTER.finditer(text, start, end):
        if match.end() < min(end, len(text)):
            yield match.end()


def _nearest_cut(text: str, cuts: Iterable[Cut], spans: Sequence[tuple[int, int]], share: float = 0) -> Cut | None:
    """The cut outside of spans that is nearest to the middle, if both parts have a share of the text."""

    def is_outside(cut: Cut) -> bool:
        index = bisect_left(spans, (cut[1],)) - 1  # the last span that begins before the end of the cut
        return index < 0 or spans[index][1] <= cut[0]

    margin = share * len(text)
    possible = [cut for cut in cuts if margin < cut[0] < len(text) - margin and is_outside(cut)]
    return min(possible, key=lambda cut: abs(sum(cut) - len(text)), default=None)


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
