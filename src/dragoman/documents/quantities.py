"""Numbers with their signs, units and currencies, and whether a translation keeps them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import regex

from dragoman.text.normalization import WITHOUT_SPACES
from dragoman.text.placeholders import LETTER, SEPARATOR, Span, find_spans, match_between

MAX_SPELLED = 12
"""Numbers up to this one are often spelled as words."""

_NUMBER = rf"(?>\d{{1,3}}(?:[ \u00a0\u202f]\d{{3}})+(?!\d)|\d+(?:{SEPARATOR}\d+)*)"
_POINTS = str.maketrans({",": ".", "٫": ".", ":": "."})
_UNIT = rf"[\p{{L}}--[{WITHOUT_SPACES}]]{{1,4}}"  # in scripts without spaces, the next word follows
_NUMBERS = regex.compile(_NUMBER)
_PARTS = regex.compile(rf"\d+(?:{SEPARATOR}\d+)*")
"""Numbers, too, but a space always ends one: 555 123 may be 555,123, or two parts of a telephone number."""
_THOUSANDS = regex.compile(r"(?<=\d)[.,'’٬ \u00a0\u202f](?=\d{3}(?!\d))")
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
    (value,) = map(_value, _NUMBERS.findall(number)[:1])
    return max(sum(_value(other) == value for other in pattern.findall(text)) for pattern in (_NUMBERS, _PARTS))


def may_be_spelled(number: str) -> bool:
    """Whether a number is so small that a translation may write it as a word."""
    digits = "".join(_groups(number))
    return len(digits) <= len(str(MAX_SPELLED)) and int(digits) <= MAX_SPELLED


def lost_numbers(source: str, translation: str) -> Iterator[str]:
    """The numbers of a text of which nothing is in its translation; small ones may be spelled.

    Dates and times may be written in another way, so one group of digits is enough.
    """
    found = {group for number in _NUMBERS.findall(translation) for group in _groups(number)}
    for number in dict.fromkeys(_NUMBERS.findall(source)):
        groups = [group for group in _groups(number) if not may_be_spelled(group)]
        if groups and found.isdisjoint(groups) and not count_number(number, translation):
            yield number


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
