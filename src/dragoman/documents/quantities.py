"""Numbers with their signs, units and currencies, and whether a translation keeps them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import regex

from dragoman.languages.scripts import WITHOUT_SPACES
from dragoman.text.placeholders import LETTER, SEPARATOR, Span, find_spans, match_between

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
