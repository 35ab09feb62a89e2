"""Placeholders, URLs and numbers with their units, and whether a translation keeps them."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import regex

from dragoman.documents.marks import Mark, place_marks
from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.documents.sentences import has_words
from dragoman.languages.scripts import WITHOUT_SPACES
from dragoman.text.link import Link
from dragoman.text.placeholders import LETTER, SEPARATOR, Span, SpanKind, find_spans, match_between
from dragoman.text.translation import Translation

Translate = Callable[[Sequence[Segment]], Sequence[Translation]]
Align = Callable[[Sequence[str], Sequence[str]], Sequence[tuple[Link, ...]]]

_TAG_NAME = regex.compile(r"(?<=</?)[\w:.-]+")
_CLOSING = ".,;:!?…)]}»”’।。"


def check_spans(source: str, translation: str) -> list[str]:
    """Which spans of a source its translation lacks or repeats: "missing: %s", "repeated: 12".

    References of HTML that only the translation has are invented: some training texts contain "&amp;".
    """
    problems = []
    for span, kind in dict.fromkeys(
        (source[start:end], kind) for start, end, kind in find_spans_with_quantities(source)
    ):
        expected, found = _count(span, kind, source), _count(span, kind, translation)
        if found > expected:
            problems.append(f"repeated: {span}")
        elif found < expected and not (kind == "number" and _is_kept(span, translation)):
            problems.append(f"missing: {span}")
    problems += [f"missing: {number}" for number in lost_signs(source, translation)]
    if "&" not in translation:
        return problems
    invented = (translation[start:end] for start, end, _ in find_spans(translation) if translation[start] == "&")
    return [*problems, *(f"invented: {span}" for span in dict.fromkeys(invented) if span not in source)]


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
    segments: Sequence[Segment], translations: Sequence[Translation], translate: Translate, align: Align
) -> list[Translation]:
    """The translations with the spans of their sources; only those that lack some, or repeat them, are changed.

    Their sources are translated again without the spans, which are put where the alignment of words suggests.
    """
    results, texts = list(translations), [segment.text for segment in segments]
    faulty = [index for index, text in enumerate(texts) if _lost_spans(text, results[index].text)]
    if not faulty:
        return results
    shortened = [_without_spans(texts[index]) for index in faulty]
    again = translate([replace(segments[index], text=text) for index, (text, _) in zip(faulty, shortened, strict=True)])
    links = align([text for text, _ in shortened], [each.text for each in again])
    for index, (text, places), found, linked in zip(faulty, shortened, again, links, strict=True):
        inserted = _insert(text, places, TranslatedSegment(found.text, linked)) if has_words(text) else texts[index]
        results[index] = replace(found, text=inserted, alternatives=results[index].alternatives)
    return results


def _count(span: str, kind: SpanKind, text: str) -> int:
    return count_number(span, text) if kind == "number" else text.count(span)


def _is_kept(number: str, translation: str) -> bool:
    return may_be_spelled(number) or is_kept(number, translation)


def _copied(text: str) -> list[Span]:
    """The spans of a text that a translation must contain."""
    spans = find_spans_with_quantities(text)
    return [span for span in spans if span.kind != "number" or not may_be_spelled(text[span.start : span.end])]


def _lost_spans(source: str, translation: str) -> bool:
    """Whether spans are missing, or repeated, which numbers may be."""
    spans = {(source[start:end], kind) for start, end, kind in _copied(source)}
    return any(
        not _is_kept(span, translation) if kind == "number" else source.count(span) != translation.count(span)
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


def _insert(source: str, places: Sequence[_Place], translated: TranslatedSegment) -> str:
    """A translation with spans at the places that translate their places in the source, and spaces around them."""
    marks = [Mark(place.position, place.position, number) for number, place in enumerate(places)]
    text = translated.text
    for mark in reversed(place_marks(marks, source, translated)):
        place, before, after = places[mark.number], text[: mark.start], text[mark.start :]
        is_word = not place.span.startswith("<")  # a tag may touch the word before or after it
        left = place.after_space or (is_word and before[-1:].isalnum())
        right = (place.before_space and after[:1] not in _CLOSING) or (is_word and after[:1].isalnum())
        before += " " if left and before and not before[-1].isspace() else ""
        text = before + place.span + (" " if right and after and not after[0].isspace() else "") + after
    return text


MAX_SPELLED = 12
"""Numbers up to this one are often spelled as words."""

_NUMBER = rf"(?>\d{{1,3}}(?:[ \u00a0\u202f]\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:{SEPARATOR}\d+)*)"
_POINTS = str.maketrans({",": ".", "٫": ".", ":": "."})
_UNIT = rf"[\p{{L}}--[{WITHOUT_SPACES}]]{{1,4}}"  # in scripts without spaces, the next word follows
_NUMBERS = regex.compile(_NUMBER)
_PARTS = regex.compile(rf"\d+(?:{SEPARATOR}\d+)*")
"""Numbers, too, but a space always ends one: 555 123 may be 555,123, or two parts of a telephone number."""
_THOUSANDS = regex.compile(r"(?<=\d)[.,'’٬ \u00a0\u202f](?=\d{3}(?!\d))")
_BETWEEN_VALUES = regex.compile("[-/:]")
"""What separates the values of a range, a score, a file number, a date, or a time."""
_CLOCK = regex.compile(r"(\d{1,2})[.:](\d\d)")
_NEGATIVE = regex.compile(rf"(?<![^\s(\[{{„“«\"'])[-−]\p{{Sc}}?({_NUMBER})")
_AFTER_DASH = regex.compile(rf"[-−–‑]\s?\p{{Sc}}?\s?({_NUMBER})")
"""Numbers that may be negative, or follow a hyphen: a name such as Apollo -11 may be written Apollo-11."""
_AFTERNOON = regex.compile(r"(\d{1,2})(?:[.:](\d\d))?[ \u00a0]?p\.?m\b", regex.IGNORECASE)
_QUANTITY = regex.compile(
    rf"(?<!{LETTER}|[.,])[-+−]?\p{{Sc}}?{_NUMBER}(?:{_UNIT}(?:/{_UNIT})?)?(?!{LETTER})"
    rf"(?:[ \u00a0]?[%‰°\p{{Sc}}][CF]?(?!{LETTER}))?",
    regex.VERSION1,
)


def find_spans_with_quantities(text: str) -> list[Span]:
    """What `find_spans` finds, but numbers with their signs, units and currencies, such as "-5 °C" and "120km/h"."""
    others = [span for span in find_spans(text) if span.kind != "number"]
    quantities = (Span(start, end, "number") for start, end in match_between(_QUANTITY, text, others))
    return sorted([*others, *quantities])


def count_number(number: str, text: str) -> int:
    """How often a text contains a number, perhaps with other separators or digits, and with another unit."""
    value = _value(_NUMBERS.findall(number)[0])
    return max(sum(_value(other) == value for other in pattern.findall(text)) for pattern in (_NUMBERS, _PARTS))


def may_be_spelled(number: str) -> bool:
    """Whether a number is so small that a translation may write it as a word."""
    return all(map(_is_small, _groups(number)))


def lost_numbers(source: str, translation: str) -> Iterator[str]:
    """The numbers of a text that its translation lacks, or whose minus signs it lacks; small ones may be spelled."""
    for number in dict.fromkeys(_NUMBERS.findall(source)):
        if not may_be_spelled(number) and not is_kept(number, translation):
            yield number
    yield from lost_signs(source, translation)


def lost_signs(source: str, translation: str) -> Iterator[str]:
    """The numbers of a text that a translation has only without their minus signs."""
    for number in dict.fromkeys(_NEGATIVE.findall(source)):
        value = _value(number)
        signed = any(_value(other) == value for other in _AFTER_DASH.findall(translation))
        if not signed and "minus" not in translation.casefold() and count_number(number, translation):
            yield f"-{number}"


def is_kept(number: str, text: str) -> bool:
    """Whether a text contains a number, perhaps as people write it in another language.

    Separators, the order of a date, the name of its month and the words between the values of a range may differ, and
    so may the clock (7:30 pm, 19:30), the digits of a decade (1990s, 90er) and the spelled zeros of a large number
    (4,700,000 and 4.7 million).
    """
    number = _NUMBERS.findall(number)[0]  # without its sign, unit and currency
    others = [other for pattern in (_NUMBERS, _PARTS) for other in pattern.findall(text)]
    found = {_shortest(_value(part)) for other in others for part in (other, *_BETWEEN_VALUES.split(other))}
    found.update(_in_afternoon(*clock) for clock in _AFTERNOON.findall(text))
    if (clock := _CLOCK.fullmatch(number)) and _in_afternoon(*clock.groups()) in found:
        return True
    value = _value(number)
    if any(_may_be_same(_shortest(value), other) for other in found):
        return True
    if len(_groups(value)) > 2:  # a date or a version
        found.update(group.lstrip("0") for other in others for group in _groups(other))
        return all(_is_small(group) or group.lstrip("0") in found for group in _groups(value))
    parts = _BETWEEN_VALUES.split(number)
    return len(parts) > 1 and found.issuperset(_shortest(_value(part)) for part in parts)


def _in_afternoon(hour: str, minutes: str) -> str:
    return _shortest(_value(f"{int(hour) + 12}:{minutes}"))


def _may_be_same(value: str, other: str) -> bool:
    """Whether two values may be the same: those of a decade, or a large number whose zeros are spelled."""
    if value == other:
        return True
    shorter, longer = sorted((value, other), key=_size)
    if longer.isdigit() and len(longer) == 4 and longer[:2] in {"18", "19", "20"} and longer[2:] == shorter:
        return True
    return _size(longer) - _size(shorter) > 2 and longer.strip("0") == shorter.replace(".", "").strip("0")


def _size(value: str) -> int:
    """The number of digits before the point."""
    return len(value.partition(".")[0])


def _is_small(group: str) -> bool:
    digits = group.lstrip("0")
    return len(digits) <= len(str(MAX_SPELLED)) and int(digits or 0) <= MAX_SPELLED


def _shortest(value: str) -> str:
    """A value without zeros that change nothing."""
    return value.lstrip("0").rstrip("0").rstrip(".") if "." in value else value.lstrip("0")


def _value(number: str) -> str:
    """A number in the digits of ASCII, without separators of thousands, and with a point before decimals.

    The parts of a time may be separated by a point, too.
    """
    return _THOUSANDS.sub("", _in_ascii(number)).translate(_POINTS)


def _groups(number: str) -> list[str]:
    """The groups of digits of a number, in those of ASCII."""
    return regex.findall("[0-9]+", _in_ascii(number))


def _in_ascii(text: str) -> str:
    """The text with the digits of ASCII in place of all others."""
    return "".join(str(unicodedata.decimal(each)) if each.isdecimal() else each for each in text)


_ACCELERATOR = regex.compile(r"(?<!\S)[&_~](?=\p{L})")


def attach_accelerator(source: str, translation: Translation) -> Translation:
    """The translation with the mark of an accelerator directly before its letter, as in its source.

    Models learn the mark as a word: "&Öffnen" would become "& Open", in which the space is the accelerator.
    """
    if len(marks := _ACCELERATOR.findall(source)) != 1:
        return translation
    text = regex.sub(rf"(?<!\S){regex.escape(marks[0])} (?=\p{{L}})", marks[0], translation.text, count=1)
    return replace(translation, text=text)
