"""Quantities: numbers with their signs and units, and whether a translation keeps them, in digits or in words.

A number is compared by its value (200万 is 2 million): separators, the order of a date, the name of its month, and the
clock may differ. A number that may be a word (up to twelve, also each part of a date) must be a word of the target
language, if its number words are known (`dragoman.languages.number_words`). Otherwise, it is lost only if the
translation has another number, or if a sign or unit is next to it. A number word of the source is lost if the
translation has another number instead.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import regex

from dragoman.languages.number_names import find_month_numbers, find_months, han_values, has_multiplier, multipliers
from dragoman.languages.number_words import NumberWords, number_words
from dragoman.languages.scripts import WITHOUT_SPACES
from dragoman.text.placeholders import LETTER, SEPARATOR, Span, find_spans, match_between
from dragoman.text.plain_numbers import NUMBER, in_ascii, number_value, plain_numbers, roman_value

MAX_SPELLED = 12
"""Numbers up to this one are often spelled as words."""

_UNIT = rf"[\p{{L}}--[{WITHOUT_SPACES}]]{{1,4}}"  # in scripts without spaces, the next word follows
_NUMBERS = regex.compile(NUMBER)
_PARTS = regex.compile(rf"\d+(?:{SEPARATOR}\d+)*")
"""Numbers, too, but a space always ends one: 555 123 may be 555,123, or two parts of a telephone number."""
_PART_OF_WORD = regex.compile(rf"[{LETTER}&&\p{{L}}]\d", regex.VERSION1)
_BETWEEN_VALUES = regex.compile("[-/:]")
"""What separates the values of a range, a score, a file number, a date, or a time."""
_SHORT_RANGE = regex.compile(r"(?<![\d.,])\d{1,3} ?[-–] ?\d{1,3}[., ]\d{3}(?!\d)")
"""5-15.000 is 5.000-15.000."""
_RANGE = regex.compile(rf"\d ?(?:\p{{L}}{{1,4}}|[-–~]) ?({NUMBER})")
"""2 to 3 million are 2 million to 3 million."""
_CLOCK = regex.compile(r"(\d{1,2})[.:](\d\d)")
_NEGATIVE = regex.compile(rf"(?<![^\s(\[{{„“«\"'])[-−]\p{{Sc}}?({NUMBER})")
_AFTER_DASH = regex.compile(rf"[-−–‑]\s?\p{{Sc}}?\s?({NUMBER})")
"""Numbers that may be negative, or follow a hyphen: a name such as Apollo -11 may be written Apollo-11."""
_TIME = r"\d{1,2}(?:[.:]\d\d)?"
_TIMES = regex.compile(_TIME)
_HALF_DAY = regex.compile(
    rf"(?:{_TIME}[ \u00a0]?(?:[-–]|to|and|until|or)[ \u00a0]?)?{_TIME}[ \u00a0]?(?P<half>[ap])\.?m\b", regex.IGNORECASE
)
"""Times of the clock with twelve hours; "5 to 6 pm" are two."""
_HALF_BEFORE = regex.compile(r"\b(?:halb|halv|half|půl|fél)\s+$", regex.IGNORECASE)
"""What precedes the hour that comes next: "halb vier" is 3:30, except in English."""
_ROMAN = regex.compile(rf"(?<!{LETTER})([IVXLCDM]{{2,}}|[VX])(?:th|st|nd|rd|e|er|ème)?(?!{LETTER})", regex.VERSION1)
_DECADE = regex.compile(r"(?:18|19|20)([1-9]0)")
_NEAR = 10
"""Characters between numbers that may be written as one: "Artikel 6 Absatz 1", "6.1"."""
_MOST_TOGETHER = 4
"""Groups of digits that may be written as one number."""
_QUANTITY = regex.compile(
    rf"(?<!{LETTER}|[.,])[-+−]?\p{{Sc}}?{NUMBER}(?:{_UNIT}(?:/{_UNIT})?)?(?!{LETTER})"
    rf"(?:[ \u00a0]?[%‰°\p{{Sc}}][CF]?(?!{LETTER}))?",
    regex.VERSION1,
)
_LONGEST_SPELLED = 15
"""Digits of a number that is looked for in words."""

_UNITS = """
    mg mcg µg μg kg g t ml mL cl cL dl dL l L mm cm dm km m mm² cm² dm² km² m² cm³ dm³ km³ m³ ha kB KB MB GB TB mW kW MW
    GW W mV kV V mA A kHz MHz GHz Hz hPa kPa Pa bar Nm kWh Wh kcal cal kJ J ms min km/h m/s mph °C °F ° % ‰ € $ £ ¥ ₹
    EUR USD GBP
"""
"""Units whose symbols are the same in all languages that use them."""

_CYRILLIC_UNITS = """
    мг мкг кг г т мл л мм см дм км м мм² см² км² м² см³ м³ га КБ МБ ГБ ТБ мВт кВт МВт Вт кГц МГц ГГц Гц кПа Па кДж Дж
    ккал мс мин км/ч м/с
"""
_LATIN_UNITS = """
    mg µg kg g t ml l mm cm dm km m mm² cm² km² m² cm³ m³ ha kB MB GB TB mW kW MW W kHz MHz GHz Hz kPa Pa kJ J
    kcal ms min km/h m/s
"""
"""The same units in the same order."""

_SAME_UNITS = {
    **{"mcg": "µg", "μg": "µg", "KB": "kB", "EUR": "€", "USD": "$", "GBP": "£", "L": "l", "mL": "ml", "cL": "cl"},
    **{"dL": "dl", "кБ": "kB", "хв": "min"},
    **dict.fromkeys(
        ("kmh", "kph", "km/t", "km/u", "km/tim", "km/Std", "km/hod", "km/godz", "km/óra", "км/год"), "km/h"
    ),
    **dict(zip(_CYRILLIC_UNITS.split(), _LATIN_UNITS.split(), strict=True)),
}
"""Other symbols of these units, by script and language."""

_SIGN_WORDS = {
    "%": regex.compile(r"pe?r[ -]?[czs]|pct|pour cent|por ?c|pro[czs]|százal|yüzde|проц|відс|प्रतिशत|फ़ीसदी|फीसदी"),
    "€": regex.compile(r"eur|evr|евр|євро|यूरो"),
    "$": regex.compile(r"usd|dol|dól|долл|डॉलर"),
}
"""What may be written in place of a sign. Other signs and units are not looked for."""

_SYMBOLS = "|".join(map(regex.escape, sorted({*_UNITS.split(), *_SAME_UNITS}, key=len, reverse=True)))
_WITH_UNIT = regex.compile(
    rf"(?P<before>[%\p{{Sc}}])?[ \u00a0]?[-−]?(?<!{LETTER}|[.,])(?P<number>{NUMBER})"
    rf"(?:[ \u00a0\u202f]?(?P<after>{_SYMBOLS.replace('/', ' ?/ ?')})(?!{LETTER}))?",
    regex.VERSION1,
)
"""Numbers, with a known unit or without one."""


def find_spans_with_quantities(text: str) -> list[Span]:
    """What `find_spans` finds, but numbers with their signs, units and currencies, such as "-5 °C" and "120km/h"."""
    others = [span for span in find_spans(text) if span.kind != "number"]
    quantities = (Span(start, end, "number") for start, end in match_between(_QUANTITY, text, others))
    return sorted([*others, *quantities])


def count_number(number: str, text: str) -> int:
    """How often a text contains a number, perhaps with other separators or digits, and with another unit."""
    value = number_value(_NUMBERS.findall(number)[0])
    return max(sum(number_value(other) == value for other in pattern.findall(text)) for pattern in (_NUMBERS, _PARTS))


def may_be_spelled(number: str) -> bool:
    """Whether a number is so small that a translation may write it as a word."""
    return all(map(_is_small, _groups(number_value(number))))


def check_quantities(source: str, translation: str, languages: tuple[str, str]) -> Iterator[str]:
    """The quantities that a translation lacks, changes or adds: "missing: 15", "missing: 5 mg", "invented: 27"."""
    ours, theirs = map(_Quantities.of, (source, translation), languages)
    ours.may_differ_in_zeros = theirs.may_differ_in_zeros = (ours.has_thousands or theirs.has_thousands) and (
        ours.may_spell_zeros or theirs.may_spell_zeros or ours.measures != theirs.measures
    )
    lost = [*_lost_numbers(ours, theirs), *lost_signs(ours.text, theirs.text), *_changed_units(ours, theirs)]
    yield from (f"missing: {ours.as_written(each)}" for each in lost)
    if not lost and ours.language:
        yield from (
            f"invented: {theirs.as_written(each)}"
            for each in theirs.numbers
            if not ours.may_mean(each) and not ours.has(each, theirs) and not theirs.is_part_of(each, ours)
        )


def _lost_numbers(ours: _Quantities, theirs: _Quantities) -> Iterator[str]:
    """The numbers and number words of a source that a translation lacks, or has another one for."""
    if not ours.counts:
        return
    lost = [
        number
        for number in ours.numbers
        if not theirs.has(number, ours) and not theirs.has_in_date(number, ours) and not ours.is_part_of(number, theirs)
    ]
    fewer = [
        word
        for word, value in ours.words
        if theirs.language and _lacks(theirs, ours, str(value)) and not any(map(theirs.keeps, ours.other_hours(word)))
    ]
    has_others = bool(lost or fewer) and any(
        _lacks(ours, theirs, number) for number in (*theirs.numbers, *(str(value) for _, value in theirs.words))
    )
    for number in lost:
        may_be_word = may_be_spelled(ours.as_written(number)) and (not theirs.language or number_value(number) == "1")
        if not may_be_word or has_others or number in ours.numbers_with_signs:
            yield number
    if has_others:
        yield from dict.fromkeys(fewer)


def _lacks(one: _Quantities, other: _Quantities, number: str) -> bool:
    """Whether a text has a number less often than another one, or not at all."""
    value = _shortest(number_value(number))
    return not one.has(number, other) or 0 < one.counts[value] < other.counts[value]


@dataclass
class _Quantities:
    """The quantities of a text.

    Attributes:
        text: The text with plain numbers.
        written: How the text wrote some of them.
        code: The code of its language.
        language: The number words of its language, if they are known.
        may_differ_in_zeros: Whether 1.25 may be 1,250,000, because one of two texts says "million" or "km", or may.
    """

    text: str
    written: Mapping[str, str]
    code: str
    language: NumberWords | None
    may_differ_in_zeros: bool = True

    @classmethod
    def of(cls, text: str, language: str) -> _Quantities:
        """The quantities of a text in a language."""
        return cls(*plain_numbers(text, language), language, number_words(language))

    def as_written(self, quantity: str) -> str:
        """A quantity as the text wrote its number: "2 million" for 2000000."""
        return _NUMBERS.sub(lambda match: self.written.get(match[0], match[0]), quantity)

    @cached_property
    def numbers(self) -> list[str]:
        """The different numbers in digits, without those in placeholders, links and the like."""
        return list(dict.fromkeys(self._all_numbers))

    @cached_property
    def words(self) -> list[tuple[str, int]]:
        """The words that certainly mean a number above one, and that number."""
        return [each for each in self.language.find(self.text) if each[1] > 1] if self.language else []

    @cached_property
    def counts(self) -> Counter[str]:
        """How often the text has each value, in digits or in words."""
        digits = (_shortest(number_value(number)) for number in self._all_numbers)
        return Counter([*digits, *(str(value) for _, value in self.words)])

    @cached_property
    def _all_numbers(self) -> list[str]:
        """The numbers in digits; small ones after a letter are part of a word, as in "B2B" and "m2"."""
        others = [span for span in find_spans(self.text) if span.kind != "number"]
        found = ((start, self.text[start:end]) for start, end in match_between(_NUMBERS, self.text, others))
        return [
            each
            for start, each in found
            if not (may_be_spelled(each) and _PART_OF_WORD.match(self.text, max(0, start - 1)))
        ]

    @cached_property
    def units(self) -> dict[str, dict[str, str]]:
        """By value, the known units of a number, and how the text writes it with each; "" for none of them."""
        units: dict[str, dict[str, str]] = defaultdict(dict)
        for match in _WITH_UNIT.finditer(self.text):
            unit = (match["before"] or match["after"] or "").replace(" ", "")
            units[_shortest(number_value(match["number"]))][_SAME_UNITS.get(unit, unit)] = match[0]
        return units

    @property
    def has_thousands(self) -> bool:
        """Whether a number has so many digits that its zeros may be spelled."""
        return any(len(each) > 3 for each in self.numbers)

    @property
    def measures(self) -> set[str]:
        """The known units except signs and currencies, one of which may be a thousand times another one."""
        return {unit for units in self.units.values() for unit in units if unit[:1].isalpha()}

    @property
    def may_spell_zeros(self) -> bool:
        """Whether the text may have a word such as "million", apart from those after digits."""
        if self.language is None and not multipliers(self.code):
            return True
        in_words = self.language.spells_zeros(self.text) if self.language else has_multiplier(self.text, self.code)
        is_range = any(match[1] in self.written for match in _RANGE.finditer(self.text))
        return in_words or is_range or _SHORT_RANGE.search(self.text) is not None

    @cached_property
    def numbers_with_signs(self) -> set[str]:
        """The numbers with a known unit."""
        return {match["number"] for match in _WITH_UNIT.finditer(self.text) if match["before"] or match["after"]}

    @cached_property
    def months(self) -> frozenset[str]:
        """The numbers of the months that the text may name in words."""
        return frozenset(map(str, find_months(self.text, self.code)))

    def has(self, number: str, other: _Quantities) -> bool:
        """Whether the text has a number of another one, perhaps on the other clock, or as the name of a month.

        Of 1.5 million, one number must be a word: "one and a half million".
        """
        if any(map(self.keeps, (number, *other.other_hours(number)))):
            return True
        if number in other.month_numbers:
            return str(int(number)) in self.months
        written = other.as_written(number)
        parts = _groups(written) if written != number and may_be_spelled(written) else []
        words = self.language
        return words is not None and len(parts) > 1 and any(words.may_spell(int(part), self.text) for part in parts)

    def has_in_date(self, number: str, other: _Quantities) -> bool:
        """Whether a number is one of a date in digits whose month another text names: 3 of 3.05.2020, May 3, 2020."""
        if not other.months:
            return False
        dates = [groups for each in self.numbers if len(groups := _groups(each)) > 1]
        return any(
            number.lstrip("0") in (group.lstrip("0") for group in date)
            and _has_month(date, other.numbers, other.months)
            for date in dates
        )

    @cached_property
    def _han_values(self) -> frozenset[str]:
        return frozenset(map(str, han_values(self.text)))

    @cached_property
    def month_numbers(self) -> frozenset[str]:
        return find_month_numbers(self.text, self.code)

    def other_hours(self, written: str) -> list[str]:
        """The same hour on the other clock (21 for 9 pm), or the one before it ("halb vier" is 3:30)."""
        others = [other for hour, other in _half_days(self.text) if hour == written]
        is_hour = written.isdecimal() and len(written) < 3
        value = int(written) if is_hour else dict(self.words).get(written, 0)
        if value in range(2, 13) and any(
            _HALF_BEFORE.search(self.text, 0, match.start())
            for match in regex.finditer(rf"\b{written}\b", self.text, regex.IGNORECASE)
        ):
            others.append(str(value - 1))
        return others

    @cached_property
    def together(self) -> dict[str, frozenset[str]]:
        """What numbers are if they are written as one, with the groups of their digits: "6 Absatz 1", "6.1"."""
        groups = list(regex.finditer("[0-9]+", in_ascii(self.text)))
        found = {}
        for first in range(len(groups)):
            for last in range(first + 1, min(first + _MOST_TOGETHER, len(groups))):
                if groups[last].start() - groups[last - 1].end() > _NEAR:
                    break
                digits = [group[0] for group in groups[first : last + 1]]
                found["".join(digits)] = frozenset(digits)
        return found

    def is_part_of(self, number: str, other: _Quantities) -> bool:
        """Whether a number of this text is a part of one that the other text writes as one, or the opposite."""
        groups = _groups(number)
        if len(groups) > 1 and "".join(groups) in other.together:
            return True
        written = {"".join(each) for each in map(_groups, other.numbers) if len(each) > 1}
        return any(
            parts.issuperset(groups) and sum(map(len, groups)) <= len(digits)
            for digits, parts in self.together.items()
            if digits in written
        )

    @cached_property
    def _groups(self) -> set[str]:
        """The groups of digits of all numbers, and 1, which may be an article."""
        return {"1", *(group.lstrip("0") for other in self.numbers for group in _groups(other))}

    def _reverses(self, number: str) -> bool:
        """Whether the text has the two values of a score or a ratio in the other order only: 2-3 for 3:2."""
        values = number.split(":")
        written = [regex.split("[-–:]", other) for other in self.numbers]
        return len(values) == 2 and values[::-1] in written and values not in written

    def may_mean(self, number: str) -> bool:
        """Whether a number of a translation may come from this text."""
        others = ["2"] if number == "50" else []  # "half" for 50 %
        if number.isdecimal() and int(number) <= 24:
            others += [str(int(number) % 12), str(int(number) + 12)]  # the other clock
        is_part = self._groups.issuperset(group.lstrip("0") for part in number.split() for group in _groups(part))
        return is_part or any(map(self.keeps, (number, *others)))

    def keeps(self, number: str) -> bool:
        """Whether the text contains a number, in digits or in words."""
        if self._reverses(number):
            return False
        value, groups = number_value(number), _groups(number)
        if _is_kept(number, self.text, self.months, self.may_differ_in_zeros) or value in self._han_values:
            return True
        if not self.language:
            return False
        if value.isdigit():
            if len(value) > _LONGEST_SPELLED:
                return False
            decade = _DECADE.fullmatch(value)
            values = [int(value), *([int(decade[1])] if decade else [])]  # the fifties
            return any(self.language.may_spell(each, self.text) for each in values)
        if clock := _CLOCK.fullmatch(number):
            hours = [str(hour + later) for hour in (int(clock[1]), int(clock[1]) % 12) for later in (0, 1)]
            # "half past ten", "halb elf", "Viertel vor eins"
            return int(clock[2]) % 15 == 0 and any(
                hour in self.numbers or self.language.may_spell(int(hour), self.text) for hour in hours
            )
        if not may_be_spelled(number):
            return False
        kept = [self.keeps(group) for group in groups]
        return all(kept) if _BETWEEN_VALUES.search(number) else any(kept)


def _changed_units(ours: _Quantities, theirs: _Quantities) -> Iterator[str]:
    """The numbers that a translation has with other units only, or without their sign."""
    text = theirs.text.casefold()
    for value, units in ours.units.items():
        found = theirs.units.get(value, {})
        for unit, written in units.items():
            if not unit or not found or any(_is_same_unit(unit, other) for other in found):
                continue
            if "" not in found or (unit in _SIGN_WORDS and not _SIGN_WORDS[unit].search(text)):
                yield written.strip()


def _is_same_unit(unit: str, other: str) -> bool:
    """Whether two units are the same; those of temperatures, °C and °F, need not be named."""
    return unit == other or ("°" in (unit, other) and unit[:1] == other[:1])


def lost_signs(source: str, translation: str) -> Iterator[str]:
    """The numbers of a text that a translation has only without their minus signs."""
    for number in dict.fromkeys(_NEGATIVE.findall(source)):
        value = number_value(number)
        signed = any(number_value(other) == value for other in _AFTER_DASH.findall(translation))
        if not signed and "minus" not in translation.casefold() and count_number(number, translation):
            yield f"-{number}"


def _is_kept(number: str, text: str, months: Collection[str] = (), may_differ_in_zeros: bool = True) -> bool:
    """Whether a text contains a number, perhaps as people write it in another language.

    Separators, the order of a date, the name of its month and the words between the values of a range may differ, and
    so may the clock (7:30 pm, 19:30), the digits of a decade (1990s, 90er), numerals (18, XVIII), and, if allowed, the
    spelled zeros of a large number (4,700,000 and 4.7 million).
    """
    number = _NUMBERS.findall(number)[0]  # without its sign, unit and currency
    others, found = _written_numbers(text)
    if (clock := _CLOCK.fullmatch(number)) and not found.isdisjoint(_other_times(*clock.groups())):
        return True
    value = number_value(number)
    if any(_may_be_same(_shortest(value), other, may_differ_in_zeros) for other in found):
        return True
    if len(_groups(value)) > 2:
        return _is_date_kept(value, others, months)
    if len(_groups(value)) == 2 and _has_month(_groups(value), others, months):
        return True
    parts = _BETWEEN_VALUES.split(number)
    values = [_shortest(number_value(part)) for part in parts]
    return len(parts) > 1 and all(
        any(_may_be_same(value, other, may_differ_in_zeros) for other in found) for value in values
    )


@lru_cache(maxsize=16)
def _written_numbers(text: str) -> tuple[Sequence[str], frozenset[str]]:
    """The numbers of a text as it writes them, and the values that they may have."""
    others = [other for pattern in (_NUMBERS, _PARTS) for other in pattern.findall(text)]
    found = {_shortest(number_value(part)) for other in others for part in (other, *_BETWEEN_VALUES.split(other))}
    found.update(_shortest(number_value(other)) for _, other in _half_days(text))
    found.update(str(roman_value(match[1])) for match in _ROMAN.finditer(text))
    return others, frozenset(found)


def _half_days(text: str) -> Iterator[tuple[str, str]]:
    """The times of a text on the clock with twelve hours, and the same on the other clock: 9, 21; 12:30, 0:30."""
    for match in _HALF_DAY.finditer(text):
        later = 12 * (match["half"] in "pP")
        for time in _TIMES.findall(match[0]):
            hour, *minutes = regex.split("[.:]", time)
            yield time, ":".join([str(int(hour) % 12 + later), *minutes])


def _is_date_kept(date: str, others: Sequence[str], months: Collection[str]) -> bool:
    """Whether numbers contain those of a date or a version, in any order, or the name of its month is written."""
    groups = [group.lstrip("0") for group in _groups(date)]
    if dates := [each for other in others if len(each := _groups(other)) == len(groups)]:
        return any(_sorted_date(_groups(date)) == _sorted_date(each) for each in dates)
    if months:
        return _has_month(groups, others, months)
    found = _all_groups(others)
    small = [group for group in groups if _is_small(group)]
    return found.issuperset(set(groups) - set(small)) and (len(small) < 2 or not found.isdisjoint(small))


def _has_month(date: Sequence[str], others: Sequence[str], months: Collection[str]) -> bool:
    """Whether a month is named that one number of a date may mean, and others are those that the rest means."""
    groups, found = [group.lstrip("0") for group in date], _all_groups(others)
    return any(
        month in months and found.issuperset([*groups[:index], *groups[index + 1 :]])
        for index, month in enumerate(groups)
    )


def _all_groups(numbers: Sequence[str]) -> set[str]:
    return {group.lstrip("0") for number in numbers for group in _groups(number)}


def _sorted_date(groups: Sequence[str]) -> list[str]:
    """The numbers of a date, whose year may lack its century."""
    return sorted(group[-2:].lstrip("0") for group in groups)


def _other_times(hour: str, minutes: str) -> Iterator[str]:
    """The values of a time twelve hours later or earlier, which a text need not state if it is clear."""
    yield from (
        _shortest(number_value(f"{int(hour) + 12 * sign}:{minutes}")) for sign in (1, -1) if int(hour) + 12 * sign >= 0
    )


def _may_be_same(value: str, other: str, may_differ_in_zeros: bool) -> bool:
    """Whether two values may be the same: those of a decade, or a large number whose zeros may be spelled."""
    if value == other:
        return True
    shorter, longer = sorted((value, other), key=_size)
    if longer.isdigit() and len(longer) == 4 and longer[:2] in {"18", "19", "20"} and longer[2:] == shorter:
        return True
    differ_in_zeros = _size(longer) - _size(shorter) > 2 and longer.strip("0") == shorter.replace(".", "").strip("0")
    return may_differ_in_zeros and differ_in_zeros


def _size(value: str) -> int:
    """The number of digits before the point."""
    return len(value.partition(".")[0])


def _is_small(group: str) -> bool:
    digits = group.lstrip("0")
    return len(digits) <= len(str(MAX_SPELLED)) and int(digits or 0) <= MAX_SPELLED


def _shortest(value: str) -> str:
    """A value without zeros that change nothing."""
    return value.lstrip("0").rstrip("0").rstrip(".") if "." in value else value.lstrip("0")


def _groups(number: str) -> list[str]:
    """The groups of digits of a number, in those of ASCII."""
    return regex.findall("[0-9]+", in_ascii(number))
