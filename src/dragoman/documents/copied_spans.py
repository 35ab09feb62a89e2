"""Placeholders, URLs and numbers with their units: what a translation lacks is reported, or put back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import regex

from dragoman.corpus.pair import Languages
from dragoman.documents.marks import Mark, place_marks
from dragoman.documents.segment import Segment
from dragoman.documents.sentences import has_words
from dragoman.languages.sentence_marks import UNSPACED_BEFORE
from dragoman.text.link import Link
from dragoman.text.placeholders import Span, SpanKind, find_spans
from dragoman.text.quantities import (
    check_quantities,
    count_number,
    find_spans_with_quantities,
    may_be_spelled,
)
from dragoman.text.translation import Translation

Translate = Callable[[Sequence[Segment]], Sequence[Translation]]
Align = Callable[[Sequence[str], Sequence[str]], Sequence[tuple[Link, ...]]]

_TAG_NAME = regex.compile(r"(?<=</?)[\w:.-]+")


def check_spans(source: str, translation: str, languages: Languages) -> list[str]:
    """Which spans of a source its translation lacks or repeats: "missing: %s", "repeated: 12".

    References of HTML that only the translation has are invented: some training texts contain "&amp;".
    """
    problems = []
    quantities = list(check_quantities(source, translation, languages))
    for span, kind in dict.fromkeys(
        (source[start:end], kind) for start, end, kind in find_spans_with_quantities(source)
    ):
        expected, found = _count(span, kind, source), _count(span, kind, translation)
        inside = [each for each in quantities if kind == "number" and _has_number(span, each.removeprefix("missing: "))]
        quantities = [each for each in quantities if each not in inside]
        if found > expected:
            problems.append(f"repeated: {span}")
        elif inside or (kind != "number" and found < expected):
            problems.append(f"missing: {span}")
    problems += quantities
    if "&" not in translation:
        return problems
    invented = (translation[start:end] for start, end, _ in find_spans(translation) if translation[start] == "&")
    return [*problems, *(f"invented: {span}" for span in dict.fromkeys(invented) if span not in source)]


def _has_number(span: str, number: str) -> bool:
    """Whether a span contains a number, which is no part of a longer one: 15 kg does not contain 5."""
    return regex.search(rf"(?<![\d.,]){regex.escape(number)}(?!\d|[.,]\d)", span) is not None


def misplaced_tags(source: str, translation: str) -> list[str]:
    """The closing tags that a translation has before their opening ones, unless the source has them there, too."""
    return [f"misplaced: {tag}" for tag in _unopened(translation) if tag not in _unopened(source)]


def _unopened(text: str) -> list[str]:
    """The closing tags of a text without an opening one before them."""
    opened: Counter[str] = Counter()
    unopened = []
    for tag in (text[start:end] for start, end, kind in find_spans(text) if kind == "tag"):
        name = _TAG_NAME.findall(tag)[0]
        if not tag.startswith("</"):
            opened[name] += 1
        elif opened[name]:
            opened[name] -= 1
        else:
            unopened.append(tag)
    return unopened


def restore_spans(
    segments: Sequence[Segment],
    translations: Sequence[Translation],
    languages: Languages,
    translate: Translate,
    align: Align,
) -> list[Translation]:
    """The translations with the spans of their sources; only those that lack some, or repeat them, are changed.

    Their sources are translated again without the spans, which are put where the alignment of words suggests.
    """
    results, texts = list(translations), [segment.text for segment in segments]
    faulty = [index for index, text in enumerate(texts) if _lost_spans(text, results[index].text, languages)]
    if not faulty:
        return results
    shortened = [_without_spans(texts[index]) for index in faulty]
    again = translate([replace(segments[index], text=text) for index, (text, _) in zip(faulty, shortened, strict=True)])
    links = align([text for text, _ in shortened], [each.text for each in again])
    for index, (text, places), found, linked in zip(faulty, shortened, again, links, strict=True):
        inserted = _insert(text, places, Translation(found.text, links=linked)) if has_words(text) else texts[index]
        results[index] = replace(found, text=inserted, alternatives=results[index].alternatives)
    return results


def _count(span: str, kind: SpanKind, text: str) -> int:
    return count_number(span, text) if kind == "number" else text.count(span)


def _copied(text: str) -> list[Span]:
    """The spans of a text that a translation must contain."""
    spans = find_spans_with_quantities(text)
    return [span for span in spans if span.kind != "number" or not may_be_spelled(text[span.start : span.end])]


def _lost_spans(source: str, translation: str, languages: Languages) -> bool:
    """Whether spans are missing, or repeated, which numbers may be."""
    spans = {(source[start:end], kind) for start, end, kind in _copied(source)}
    has_numbers = any(kind == "number" for _, kind in spans)
    quantities = list(check_quantities(source, translation, languages)) if has_numbers else []
    return any(
        any(_has_number(span, each.removeprefix("missing: ")) for each in quantities)
        if kind == "number"
        else source.count(span) != translation.count(span)
        for span, kind in spans
    )


class _Place(NamedTuple):
    """Where a span was in a text, in characters of the text without spans, and whether spaces were around it."""

    position: int
    span: str
    after_space: bool
    before_space: bool


def _without_spans(text: str) -> tuple[str, list[_Place]]:
    """A text without its spans, and their places in it."""
    shortened, last, places = "", 0, []
    for start, end, _ in _copied(text):
        shortened += text[last:start]
        before, after = text[start - 1 : start].isspace(), text[end : end + 1].isspace()
        places.append(_Place(len(shortened), text[start:end], before, after))
        doubled = after and (not shortened or shortened[-1].isspace())
        last = end + 1 if doubled else end
    return shortened + text[last:], places


def _insert(source: str, places: Sequence[_Place], translated: Translation) -> str:
    """A translation with spans at the places that translate their places in the source, and spaces around them."""
    marks = [Mark(place.position, place.position, number) for number, place in enumerate(places)]
    text = translated.text
    for mark in reversed(place_marks(marks, source, translated)):
        place, before, after = places[mark.number], text[: mark.start], text[mark.start :]
        is_word = not place.span.startswith("<")  # a tag may touch the word before or after it
        left = place.after_space or (is_word and before[-1:].isalnum())
        right = (place.before_space and after[:1] not in UNSPACED_BEFORE) or (is_word and after[:1].isalnum())
        before += " " if left and before and not before[-1].isspace() else ""
        text = before + place.span + (" " if right and after and not after[0].isspace() else "") + after
    return text


_ACCELERATOR = regex.compile(r"(?<!\S)[&_~](?=\p{L})")


def attach_accelerator(source: str, translation: Translation) -> Translation:
    """The translation with the mark of an accelerator directly before its letter, as in its source.

    Models learn the mark as a word: "&Öffnen" would become "& Open", in which the space is the accelerator.
    """
    if len(marks := _ACCELERATOR.findall(source)) != 1:
        return translation
    text = regex.sub(rf"(?<!\S){regex.escape(marks[0])} (?=\p{{L}})", marks[0], translation.text, count=1)
    return replace(translation, text=text)
