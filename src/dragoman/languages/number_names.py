"""What languages write next to digits, as CLDR has it: the names of large numbers and months. And numerals of Han."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache

import regex
from babel import Locale, UnknownLocaleError

from dragoman.languages.codes import primary_language
from dragoman.languages.scripts import WITHOUT_SPACES

_VARIANTS = {"en": ("en", "en_IN"), "zh": ("zh", "zh_Hant"), "sr": ("sr", "sr_Latn")}
"""Languages that write these names in several ways."""

_HAN = {"百万": 10**6, "百萬": 10**6, "千万": 10**7, "千萬": 10**7}
_MORE_MULTIPLIERS = {
    "de": {"mill": 10**6},
    "en": {"hundred": 100, "bn": 10**9},
    "hi": {"सौ": 100, "मिलियन": 10**6, "बिलियन": 10**9, "ट्रिलियन": 10**12},
    "ja": _HAN,
    "vi": {"ngàn": 1000, "tỉ": 10**9},
    "yue": _HAN,
    "zh": _HAN,
}
"""What CLDR lacks."""

_MORE_MONTH_MARKS = {"km": {("ខែ", "")}}
NUKTA = "\u093c"
"""The dot below letters of Devanagari, which many texts leave out."""

MIN_INFLECTED = 4
"""Letters of a name that may have other endings than CLDR knows."""

_LETTER = rf"[\p{{L}}--[{WITHOUT_SPACES}]]"
_ZEROS = regex.compile("0+")
_DIGITS = regex.compile(r"\d+")

_HAN_DIGITS = {digit: value for value, digit in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
_HAN_POWERS = {"十": 10, "百": 100, "千": 1000}
_HAN_MYRIADS = {**dict.fromkeys("万萬", 10**4), **dict.fromkeys("亿億", 10**8), "兆": 10**12}
_HAN_NUMERAL = regex.compile(f"[{''.join([*_HAN_DIGITS, *_HAN_POWERS, *_HAN_MYRIADS])}]{{1,40}}")


@cache
def multipliers(language: str) -> Mapping[str, int]:
    """The words that multiply the number before them, folded: "million", "万", "करोड". None has a single letter.

    Only single words are here: "lakh" and "crore", not "lakh crore".
    """
    found = dict(_MORE_MULTIPLIERS.get(primary_language(language), {}))
    for locale in _locales(language):
        for forms in locale.compact_decimal_formats.values():
            for powers in forms.values():
                for power, pattern in powers.items():
                    if zeros := _ZEROS.match(pattern.pattern):
                        name = fold_name(pattern.pattern[zeros.end() :].replace("'", ""))
                        found[name] = int(power) // 10 ** (len(zeros[0]) - 1)
    return {name: value for name, value in found.items() if value > 1 and not regex.search(r"[\s;]|^[a-z]?$", name)}


def has_multiplier(text: str, language: str) -> bool:
    """Whether a text has a word for a thousand or more, or a word with its letters."""
    folded = fold_name(text)
    return any(value >= 1000 and name in folded for name, value in multipliers(language).items())


@cache
def month_names(language: str) -> frozenset[str]:
    """The names of months, folded, without those that contain a number."""
    return frozenset(name for name, _ in _months(language) if len(name) > 1 and not _DIGITS.search(name))


def find_months(text: str, language: str) -> frozenset[int]:
    """The numbers of the months that a text may name in words: 5 for "May", which may be another word, too."""
    folded = fold_name(text)
    return frozenset(month for month, pattern in _month_words(language).items() if pattern.search(folded))


def find_month_numbers(text: str, language: str) -> frozenset[str]:
    """The numbers in digits that are names of months, with what is next to them: 5 of "tháng 5" and 5月."""
    pattern = _numbered_months(language)
    return frozenset(number for match in pattern.finditer(fold_name(text)) for number in match.groups() if number)


@cache
def _month_words(language: str) -> Mapping[int, regex.Pattern[str]]:
    """A pattern for each month whose name has no number; its last letter and the ending may differ."""
    forms: dict[int, set[str]] = {}
    for name, month in _months(language):
        if len(name) > 1 and not _DIGITS.search(name):
            is_long = len(name) >= MIN_INFLECTED and name[-1].isalpha()
            forms.setdefault(month, set()).add(
                rf"{regex.escape(name[:-1])}[\p{{L}}\p{{M}}]{{0,4}}" if is_long else regex.escape(name)
            )
    return {
        month: regex.compile(rf"(?<!{_LETTER})(?:{'|'.join(sorted(names))})(?!{_LETTER})", regex.VERSION1)
        for month, names in forms.items()
    }


@cache
def _numbered_months(language: str) -> regex.Pattern[str]:
    """Finds the numbers of months before and after marks such as 月 and "tháng"."""
    marks = set(_MORE_MONTH_MARKS.get(primary_language(language), ()))
    for name, _ in _months(language):
        if len(parts := _DIGITS.split(name)) == 2 and any(parts):
            marks.add((parts[0].strip(), parts[1].strip()))
    forms = (
        rf"{regex.escape(before)}(?<!\d)\s?(\d\d?)(?!\d)\s?{regex.escape(after)}" for before, after in sorted(marks)
    )
    return regex.compile("|".join(forms) or "(?!)")


def _months(language: str) -> Iterator[tuple[str, int]]:
    """The names of months, and their numbers."""
    for locale in _locales(language):
        for widths in locale.months.values():
            for width in ("wide", "abbreviated"):
                yield from ((fold_name(name), month) for month, name in widths[width].items())


def decimal_mark(language: str) -> str:
    """The mark before decimals; empty if it is not known."""
    return next((str(locale.number_symbols["latn"]["decimal"]) for locale in _locales(language)), "")


def fold_name(name: str) -> str:
    """A name, or a text with names, in the form in which it is compared."""
    return unicodedata.normalize("NFC", name.casefold()).replace(NUKTA, "").strip().rstrip(".")


def _locales(language: str) -> Iterator[Locale]:
    """The locales of a language that CLDR has."""
    primary = primary_language(language)
    for name in _VARIANTS.get(primary, (primary,)):
        try:
            yield Locale.parse(name)
        except (UnknownLocaleError, ValueError):
            return


def han_values(text: str) -> frozenset[int]:
    """The numbers that a text may spell with Han characters: 20 for 二十, 3,000,000 for 三百万, 2020 for 二〇二〇."""
    return frozenset(_han_value(match[0]) for match in _HAN_NUMERAL.finditer(text))


def _han_value(numeral: str) -> int:
    if all(each in _HAN_DIGITS for each in numeral):
        return int("".join(str(_HAN_DIGITS[each]) for each in numeral))
    total = below_myriad = digit = 0
    for each in numeral:
        if each in _HAN_DIGITS:
            digit = _HAN_DIGITS[each]
        elif each in _HAN_POWERS:
            below_myriad += max(digit, 1) * _HAN_POWERS[each]
            digit = 0
        else:
            total += max(below_myriad + digit, 1) * _HAN_MYRIADS[each]
            below_myriad = digit = 0
    return total + below_myriad + digit
