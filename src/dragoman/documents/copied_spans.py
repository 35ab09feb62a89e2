"""Placeholders, URLs and numbers in the translations of models that do not mask them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from dragoman.documents.marks import Mark, place_marks
from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.documents.sentences import has_words
from dragoman.text.link import Link
from dragoman.text.number_forms import count_numbers
from dragoman.text.placeholders import find_spans
from dragoman.text.translation import Translation

Translate = Callable[[Sequence[Segment]], Sequence[Translation]]
Align = Callable[[Sequence[str], Sequence[str]], Sequence[tuple[Link, ...]]]

MAX_SPELLED = 12
"""Numbers up to this one may be spelled as words, so they are reported but not put back."""

_CLOSING = ".,;:!?…)]}»”’।。"


def check_spans(source: str, translation: str) -> list[str]:
    """Which spans of a source its translation lacks or repeats: "missing: %s", "repeated: 12"."""
    problems = []
    for span in dict.fromkeys(source[span.start : span.end] for span in find_spans(source)):
        expected, found = _count(span, source), _count(span, translation)
        if expected != found:
            problems.append(f"{'missing' if found < expected else 'repeated'}: {span}")
    return problems


def restore_spans(
    segments: Sequence[Segment], translations: Sequence[Translation], translate: Translate, align: Align
) -> list[Translation]:
    """The translations with the spans of their sources; only those that lack some, or repeat them, are changed.

    Their sources are translated again without the spans, which are put where the alignment of words suggests.
    """
    results, texts = list(translations), [segment.text for segment in segments]
    faulty = [index for index, text in enumerate(texts) if _lost_spans(text, results[index].text)]
    shortened = [_without_spans(texts[index]) for index in faulty]
    again = translate([replace(segments[index], text=text) for index, (text, _) in zip(faulty, shortened, strict=True)])
    links = align([text for text, _ in shortened], [each.text for each in again])
    for index, (text, places), found, linked in zip(faulty, shortened, again, links, strict=True):
        inserted = _insert(text, places, TranslatedSegment(found.text, linked)) if has_words(text) else texts[index]
        results[index] = replace(found, text=inserted, alternatives=results[index].alternatives)
    return results


def _pattern(span: str) -> str:
    """Matches a span; a number must not be a part of another one."""
    escaped = re.escape(span)
    return rf"(?<!\d)(?<!\d[.,:/-]){escaped}(?![.,:/-]?\d)" if span[0].isdigit() else escaped


def _count(span: str, text: str) -> int:
    return len(re.findall(_pattern(span), text))


def _copied(text: str) -> list[tuple[int, int]]:
    """The spans of a text that a translation must contain unchanged."""
    return [
        (start, end)
        for start, end, kind in find_spans(text)
        if kind != "number" or not _may_be_spelled(text[start:end])
    ]


def _may_be_spelled(number: str) -> bool:
    digits = _digits(number)
    return len(digits) <= len(str(MAX_SPELLED)) and int(digits) <= MAX_SPELLED


def _lost_spans(source: str, translation: str) -> bool:
    """Whether spans are missing or repeated; numbers that are written in another way are not."""
    spans = {source[start:end] for start, end in _copied(source)}
    return any(
        _count(span, source) != _count(span, translation)
        and not (span[0].isdigit() and any(_is_same_number(span, number) for number in count_numbers(translation)))
        for span in spans
    )


def _is_same_number(one: str, other: str) -> bool:
    """Whether two numbers differ only in their separators, such as 1.500 and 1,500; a time such as 1:55 needs some."""
    return _digits(one) == _digits(other) and not (":" in one and other.isdigit())


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


class _Place(NamedTuple):
    """Where a span was in a text, in characters of the text without spans, and whether spaces were around it."""

    position: int
    span: str
    after_space: bool
    before_space: bool


def _without_spans(text: str) -> tuple[str, list[_Place]]:
    """A text without its spans, and their places in it."""
    shortened, last, places = "", 0, []
    for start, end in _copied(text):
        shortened += text[last:start]
        before, after = text[start - 1 : start].isspace(), text[end : end + 1].isspace()
        places.append(_Place(len(shortened), text[start:end], before, after))
        doubled = after and (not shortened or shortened[-1].isspace())
        last = end + 1 if doubled else end
    return shortened + text[last:], places


def _insert(source: str, places: Sequence[_Place], translated: TranslatedSegment) -> str:
    """A translation with spans at the places that translate their places in the source, and spaces around them."""
    marks = [Mark(place.position, place.position, number) for number, place in enumerate(places)]
    text = translated.text
    for mark in reversed(place_marks(marks, source, translated)):
        place, before, after = places[mark.number], text[: mark.start], text[mark.start :]
        left = place.after_space or before[-1:].isalnum()
        right = (place.before_space and after[:1] not in _CLOSING) or after[:1].isalnum()
        before += " " if left and before and not before[-1].isspace() else ""
        text = before + place.span + (" " if right and after and not after[0].isspace() else "") + after
    return text
