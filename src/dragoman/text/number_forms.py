"""Forms of numbers: which a translator copies, in which it exchanges point and comma, and which it sees as text."""

from __future__ import annotations

from collections import Counter

import regex

from dragoman.text.placeholders import find_spans

MIN_COUNT = 20
"""A form that occurs less often in the training text is assumed to be copied."""

MIN_COPIED = 0.5
"""A form stays text if the target repeats less than this share of its numbers, also with point and comma exchanged.

Measured on interface texts in German and English: 2 to 19 % of decimals, thousands and dates are repeated, and 75 to
99 % of all other numbers, the rest of which is mostly spelled as words or missing.
"""

LONG_NUMBER = 10
"""Digits of a number that is probably an ISBN or a telephone number, which is never a text like 2024-01-05."""

_DIGITS = regex.compile(r"\d+")
_EXCHANGE = str.maketrans(".,", ",.")


def number_form(number: str) -> str:
    """The form of a number: its number of digits, or its first two separators and the kind of its groups.

    Forms are "0" (one digit), "00" (two), "000" (more), and for example "0.0" (2.5), "0,000" (1,500), "0:0" (12:30),
    "0..0" (1.2.3 and 192.168.0.1) and "0..0000" (31.12.1999): the last groups are "000" if all of them have three
    digits, and "0000" if the last has four. All numbers of at least `LONG_NUMBER` digits have the same form.
    """
    first, *others = _DIGITS.findall(number)
    if sum(map(len, others), len(first)) >= LONG_NUMBER:
        return LONG_NUMBER * "0"
    if not others:
        return "0" * min(len(first), 3)
    thousands, year = all(len(group) == 3 for group in others), len(others[-1]) == 4
    separators = "".join(_DIGITS.split(number)[1:-1])[:2]
    return f"0{separators}{'000' if thousands else '0000' if year else '0'}"


def exchange_separators(number: str) -> str:
    """The number with commas for points and points for commas: 1.500,25 in German is 1,500.25 in English."""
    return number.translate(_EXCHANGE)


class NumberCounts:
    """Counts, for each form, the numbers of sources, and how many of them their targets repeat.

    Numbers are repeated as they are, or with point and comma exchanged.
    """

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self.copied: Counter[str] = Counter()
        self.exchanged: Counter[str] = Counter()

    def add(self, source: str, target: str) -> None:
        """Count the numbers of a pair."""
        expected, repeated = count_numbers(source), count_numbers(target)
        for number, count in expected.items():
            form = number_form(number)
            self.found[form] += count
            self.copied[form] += min(count, repeated[number])
            self.exchanged[form] += min(count, repeated[exchange_separators(number)])

    def as_text(self) -> frozenset[str]:
        """The forms that are not masked, because targets do not repeat them."""
        return self._not_copied() - self.with_exchange()

    def with_exchange(self) -> frozenset[str]:
        """The forms that targets repeat with point and comma exchanged.

        A rare form with both (1.500,25) is one of them if thousands (1.500) and decimals (0,25) are. Millions
        (1.234.567,89) have the form of dates, and are only exchanged if those are.
        """
        usual = frozenset(form for form in self._not_copied() if self._is_usual(self.exchanged, form))
        separators = [(one, other) for one, other in (".,", ",.") if {f"0{one}000", f"0{other}0"} <= usual]
        with_both = (f"0{one}{other}{rest}" for one, other in separators for rest in ("0", "000", "0000"))
        return usual | {form for form in with_both if self.found[form] < MIN_COUNT}

    def _not_copied(self) -> frozenset[str]:
        return frozenset(
            form for form, count in self.found.items() if count >= MIN_COUNT and not self._is_usual(self.copied, form)
        )

    def _is_usual(self, counts: Counter[str], form: str) -> bool:
        return counts[form] >= MIN_COPIED * self.found[form]


def count_numbers(text: str) -> Counter[str]:
    """The numbers of a text, as they are written, and how often each occurs."""
    return Counter(text[start:end] for start, end, kind in find_spans(text) if kind == "number")
