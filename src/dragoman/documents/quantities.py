"""Numbers with their signs, units and currencies, and whether a translation keeps them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import regex

from dragoman.text.placeholders import SEPARATOR, Span, find_spans, match_between

MAX_SPELLED = 12
"""Numbers up to this one are often spelled as words."""

_NUMBER = rf"(?>\d{{1,3}}(?:[ \u00a0\u202f]\d{{3}})+(?!\d)|\d+(?:{SEPARATOR}\d+)*)"
_UNIT = r"\p{L}{1,4}(?:/\p{L}{1,4})?"
_NUMBERS = regex.compile(_NUMBER)
_QUANTITY = regex.compile(
    rf"(?<![\w.,])[-+−]?\p{{Sc}}?{_NUMBER}(?:{_UNIT})?(?!\w)(?:[ \u00a0]?[%‰°\p{{Sc}}][CF]?(?!\w))?"
)


def find_spans_with_quantities(text: str) -> list[Span]:
    """What `find_spans` finds, but numbers with their signs, units and currencies, such as "-5 °C" and "120km/h"."""
    others = [span for span in find_spans(text) if span.kind != "number"]
    quantities = (Span(start, end, "number") for start, end in match_between(_QUANTITY, text, others))
    return sorted([*others, *quantities])


def count_number(number: str, text: str) -> int:
    """How often a text contains a number, perhaps with other separators or digits, and with another unit."""
    return sum(_is_same(number, other) for other in _NUMBERS.findall(text))


def may_be_spelled(number: str) -> bool:
    """Whether a number is so small that a translation may write it as a word."""
    digits = _digits(number)
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


def _is_same(one: str, other: str) -> bool:
    """Whether two numbers differ only in their separators, such as 1.500 and 1,500; a time such as 1:55 needs some."""
    return _digits(one) == _digits(other) and not (":" in one and other.isdigit())


def _digits(text: str) -> str:
    """The digits of a text as those of ASCII."""
    return "".join(str(unicodedata.decimal(each)) for each in text if each.isdecimal())


def _groups(number: str) -> list[str]:
    return [_digits(group) for group in regex.findall(r"\d+", number)]
