"""Numbers as languages write them, in plain digits: 2000000 for "2 million", 200万 and 20 लाख, 14:30 for 14h30."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from math import prod

import regex

from dragoman.languages.codes import primary_language
from dragoman.languages.number_names import MIN_INFLECTED, NUKTA, decimal_mark, fold_name, month_names, multipliers
from dragoman.languages.scripts import WITHOUT_SPACES
from dragoman.text.placeholders import LETTER, SEPARATOR

NUMBER = rf"(?>\d{{1,3}}(?:[ \u00a0\u202f]\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:{SEPARATOR}\d+)*)"
"""Digits, perhaps with separators; a space may separate thousands."""

_POINTS = str.maketrans({",": ".", "٫": ".", ":": "."})
_THOUSANDS = regex.compile(
    r"(?<=\d)[.,'’٬ \u00a0\u202f](?=\d{3}(?!\d))|(?<=^\d\d?(?:,\d\d){0,6}),(?=(?:\d\d,){1,6}\d{3}(?:\.\d+)?$)"
)
"""What separates thousands, as in India, too: 1,25,000."""

_HOURS = regex.compile(r"\b(\d{1,2})[ \u00a0\u202f]?[hH][ \u00a0\u202f]?(\d\d)\b")
"""A time as in French: 14h30, 14 h 30."""
_FRACTION = regex.compile("([0-9]?)([¼-¾⅐-⅞])")

_AMOUNT = r"(?>\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,'’٫٬\u00a0\u202f-]\d+)*)"
"""A number that is no time, date or fraction, or a range such as 2-3."""

_SPACED_DECIMALS = r"\d{1,3}\. \d{1,2}(?!\d)"
"""The decimals of many Indian texts before "lakh" and the like: 2. 19 crore."""

_SPACE = r"[ \u00a0\u202f]?"
_JOINED = rf"[\p{{Hangul}}{WITHOUT_SPACES}]"
"""Letters of scripts in which other words follow the name of a number without a space."""

_SHARES: dict[str, tuple[str, Callable[[Decimal], Decimal]]] = {
    "ja": ("割", lambda tenths: 10 * tenths),
    "zh": ("折(?![页頁叠疊])", lambda kept: 100 - (10 * kept if kept < 10 else kept)),
}
"""Words for a share in percent: 3割 are 30 %, and at 7折, 30 % are taken off."""

_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}

_ERAS = r"พ\.?\s?ศ\.?|ព\.?\s?ស\.?|ພ\.?\s?ສ\.?"
_BUDDHIST_YEAR = r"(?<!\d)[2๒២໒][3-6๓-๖៣-៦໓-໖]\d\d(?!\d|,\d)"
_BUDDHA = 543
"""Years from the era of Buddha to the common era."""


def plain_numbers(text: str, language: str) -> tuple[str, dict[str, str]]:
    """A text with its numbers in plain digits.

    Fractions are in digits (5 3/4 for 5¾), times as in most languages (14:30 for 14h30), large numbers without their
    names (2000000 for 200万), shares in percent, and years in the common era.

    Returns:
        The text, and how it wrote the numbers that are new in it.
    """
    if not any(map(str.isnumeric, text)):
        return text, {}
    written: dict[str, str] = {}

    def in_digits(match: regex.Match[str], number: str) -> str:
        if number != match[0]:
            written[number] = match[0].rstrip(".")
        return number

    text = _HOURS.sub(r"\1:\2", unicodedata.normalize("NFC", text))
    text = _buddhist_years(language).sub(lambda match: in_digits(match, str(int(match[0]) - _BUDDHA)), text)
    if large := _large_numbers(language):
        text = large.sub(lambda match: in_digits(match, _multiplied(match, language)), text)
    if share := _SHARES.get(primary_language(language)):
        name, percent = share
        text = regex.sub(
            rf"(?<![第\d.])(\d+(?:\.\d)?){name}",
            lambda match: in_digits(match, _in_full(percent(Decimal(match[1])))) + "%",
            text,
        )
    return _FRACTION.sub(
        lambda match: f"{match[1]} {unicodedata.normalize('NFKC', match[2]).replace('⁄', '/')}".lstrip(), text
    ), written


def number_value(number: str) -> str:
    """A number in the digits of ASCII, without separators of thousands, and with a point before decimals.

    The parts of a time may be separated by a point, too.
    """
    return _THOUSANDS.sub("", in_ascii(number)).translate(_POINTS)


def roman_value(numeral: str) -> int:
    """The number that Roman numerals mean, in capitals; 0 if other letters are among them."""
    digits = [_ROMAN_DIGITS.get(each, 0) for each in numeral]
    if not all(digits):
        return 0
    return sum(-one if one < other else one for one, other in zip(digits, [*digits[1:], 0], strict=True))


def in_ascii(text: str) -> str:
    """The text with the digits of ASCII in place of all others."""
    return "".join(str(unicodedata.decimal(each)) if each.isdecimal() else each for each in text)


@cache
def _large_numbers(language: str) -> regex.Pattern[str] | None:
    """Finds numbers with the names of large ones: "2 million", "1 lakh crore", 1億2000万, 3万5000, 51 हजार 694."""
    names = sorted(multipliers(language), key=len, reverse=True)
    if not names:
        return None
    any_name = "|".join(map(_name_pattern, names))
    thousand = "|".join(_name_pattern(name) for name in names if multipliers(language)[name] == 1000)
    amount = rf"{_SPACED_DECIMALS}|{_AMOUNT}" if decimal_mark(language) == "." else _AMOUNT
    term = rf"(?P<number>{amount})(?P<names>(?:{_SPACE}(?:{any_name}))+)"
    rest = (
        rf"(?<={_JOINED})(?P<number>{_AMOUNT})|(?<={thousand or '(?!)'}) (?P<number>\d{{3}})(?!{LETTER}|{SEPARATOR}\d)"
    )
    return regex.compile(
        rf"(?<!{LETTER}|[%{{\\:/第]|제|\d[.,'’]){term}(?:,?{_SPACE}{term})*(?:{rest})?",
        regex.IGNORECASE | regex.VERSION1,
    )


def _name_pattern(name: str) -> str:
    letters = "".join(rf"{letter}{NUKTA}?" if letter.isalpha() else regex.escape(letter) for letter in name)
    if regex.search(rf"{_JOINED}$", name, regex.VERSION1):
        return letters
    is_inflected = len(name) >= MIN_INFLECTED and name != "mille"  # "milles" are miles
    ending = r"[\p{L}\p{M}]{0,3}" if is_inflected else ""
    return rf"{letters}(?!\p{{M}}){ending}(?:\.|(?!{LETTER}))"


def _multiplied(match: regex.Match[str], language: str) -> str:
    """The number that digits and the names of large numbers mean: the sum of 1億 and 2000万, both values of a range."""
    numbers = match.captures("number")
    factors = [_factor(names, language) for names in match.captures("names")]
    factors += [1] * (len(numbers) - len(factors))
    values = [_amounts(number, language) for number in numbers]
    if not all(values):
        return match[0]
    terms = [[value * factor for value in each] for each, factor in zip(values, factors, strict=True)]
    if all(len(later) == 1 and later[0] < factor for later, factor in zip(terms[1:], factors, strict=False)):
        terms = [[value + sum(later[0] for later in terms[1:]) for value in terms[0]]]
    return " ".join("-".join(map(_in_full, each)) for each in terms)


def _factor(names: str, language: str) -> int:
    """What the names of large numbers multiply a number with: 100,000 times 10,000,000 for "lakh crore"."""
    known = multipliers(language)
    any_name = "|".join(map(regex.escape, sorted(known, key=len, reverse=True)))
    return prod(known[name] for name in regex.findall(any_name, fold_name(names)))


def _amounts(number: str, language: str) -> list[Decimal]:
    """The values of a number before the name of a large one, or of a range; none if it is something else."""
    mark = decimal_mark(language)
    values = []
    for part in in_ascii(number).replace(". ", ".").split("-"):
        has_decimals = mark and part.count(mark) == 1 and part.replace(mark, "").isdecimal()
        # 1.234 billion are no thousands
        values.append(part.replace(mark, ".") if has_decimals else number_value(part))
    is_plain = all(value.replace(".", "", 1).isdecimal() for value in values)
    return list(map(Decimal, values)) if is_plain else []


def _in_full(value: Decimal) -> str:
    """A value without an exponent, and without zeros that change nothing."""
    return f"{value.normalize():f}"


@cache
def _buddhist_years(language: str) -> regex.Pattern[str]:
    """Finds years in the era of Buddha: after its name, and in Thai also after a month or the word for a year."""
    before = _ERAS
    if primary_language(language) == "th":
        before += "|".join(
            ("", "ปี", *(rf"{regex.escape(name)}\.?" for name in month_names("th")), r"\b\d{1,2}[/.-]\d{1,2}[/.-]")
        )
    return regex.compile(rf"(?<=(?:{before})\s?){_BUDDHIST_YEAR}|{_BUDDHIST_YEAR}(?=\s?B\.?E\b)")
