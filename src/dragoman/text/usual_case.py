"""The usual case of words: models have hardly seen sentences in capital letters, so they are written as usual.

As in truecasing (Lita et al. 2003), the usual case of a word is the most frequent one in the training text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import regex

from dragoman.languages.sentence_marks import starts_sentence
from dragoman.text.augmentation import to_title_case
from dragoman.text.placeholders import Span

Case = Literal["usual", "upper", "title"]
"""How a sentence is written: as usual, in capital letters, or with a capital letter at the start of every word."""

MAX_WORDS = 20_000
"""Number of words, the most frequent ones, whose usual case is stored."""

MAX_TITLES = 0.01
"""If more sentences of the training text are in title case, that is usual, too."""

MAX_COUNTED = 500_000  # spellings; above, those that occurred once are forgotten
MIN_WORDS = 3  # of a sentence in title case
MIN_LOWERED = 2  # of its words are usually in lower case
MIN_CHANGED = 0.25  # of its words, too

WORD = regex.compile(r"[\p{L}\p{M}]+")
_START = regex.compile(r"(?<!\P{White_Space})[^\p{L}\p{M}\p{N}\p{White_Space}]*\K[\p{L}\p{M}]+")
LOWER_START = regex.compile(r"(?<!\P{White_Space})[^\p{L}\p{N}\p{White_Space}]*\p{Ll}")

CASELESS = regex.compile(r"(?!\p{Lowercase})\p{Lo}")  # a letter of a script without case; ª is none


@dataclass(frozen=True)
class UsualCase:
    """How the sources of a training text usually write their most frequent words.

    Attributes:
        words: The words as they are usually written, separated by spaces.
        has_titles: Whether sentences in title case are usual.
    """

    words: str
    has_titles: bool = False

    def apply(self, text: str, spans: Iterable[Span] = ()) -> tuple[str, Case]:
        """A sentence as it is usually written, and the case in which it is written. The length is the same.

        Capital letters within a script without case, such as Devanagari, are an abbreviation or a name, and remain.

        Args:
            text: The sentence.
            spans: Parts of it that remain, in order.
        """
        letters = _without_spans(text, spans)
        if CASELESS.search(letters):
            return text, "usual"
        if letters.isupper():
            words = {word.span(): word[0] for word in WORD.finditer(letters)}
            changed = _respell(
                text, {place: self._usual.get(word.lower(), word.lower()) for place, word in words.items()}
            )
            is_known = any(self._usual.get(word.lower(), word) != word for word in words.values())
            return (changed, "upper") if is_known and changed != text else (text, "usual")
        if not self.has_titles and is_in_title_case(letters):
            starts = list(_START.finditer(letters))
            changed = _respell(text, {word.span(): word[0].lower() for word in starts if self._is_lowered(word[0])})
            count = sum(one != other for one, other in zip(text, changed, strict=True))
            return (changed, "title") if count >= max(MIN_LOWERED, MIN_CHANGED * len(starts)) else (text, "usual")
        return text, "usual"

    @cached_property
    def _usual(self) -> dict[str, str]:
        return {word.lower(): word for word in self.words.split(" ")}

    def _is_lowered(self, word: str) -> bool:
        """Whether a word with a capital letter at its start only is usually in lower case."""
        lower = word.lower()
        return word == word[:1] + lower[1:] and self._usual.get(lower) == lower


def is_in_title_case(text: str) -> bool:
    """Whether there are several words, which all start with a capital letter; scripts without case do not count."""
    return not LOWER_START.search(text) and sum(word[0][0].isupper() for word in _START.finditer(text)) >= MIN_WORDS


def change_case(text: str, case: Case) -> str:
    """A text in the case of another."""
    if case == "upper":
        return text.upper()
    return to_title_case(text, "") if case == "title" else text


def without_capitals(text: str) -> str:
    """A text in lower case except for the first letters of sentences; the length is the same."""
    return _respell(text, {word.span(): word[0].lower() for word in WORD.finditer(text)})


def _without_spans(text: str, spans: Iterable[Span]) -> str:
    """The text with digits in place of spans."""
    characters = list(text)
    for start, end, _ in spans:
        characters[start:end] = "0" * (end - start)
    return "".join(characters)


def _respell(text: str, spellings: dict[tuple[int, int], str]) -> str:
    """The text with other spellings of words, unless their length differs; sentences start as before."""
    characters = list(text)
    for (start, end), spelling in spellings.items():
        if len(spelling) == end - start:
            first = text[start] if starts_sentence(text, start) else spelling[0]
            characters[start:end] = first + spelling[1:]
    return "".join(characters)


class CaseCounts:
    """Counts the spellings of words, except the first one of each text, which is usually a sentence."""

    def __init__(self) -> None:
        self._words: Counter[str] = Counter()
        self._sentences = self._titles = 0

    def add(self, text: str) -> None:
        """Count the words of a sentence."""
        words = WORD.findall(text)
        self._words.update(words[1:])
        if len(self._words) > MAX_COUNTED:
            self._drop_rare_words()
        if len(words) >= MIN_WORDS:
            self._sentences += 1
            self._titles += is_in_title_case(text)

    def _drop_rare_words(self) -> None:
        """Drop the rarest words until at most half of the limit are left, so that this happens rarely."""
        least = 1
        while len(self._words) > MAX_COUNTED // 2:
            least += 1
            self._words = Counter({word: count for word, count in self._words.items() if count >= least})

    def usual(self) -> UsualCase:
        """The usual case of the most frequent words."""
        spellings: dict[str, Counter[str]] = {}
        for word, count in self._words.items():
            if len(lower := word.lower()) == len(word) and lower != word.upper():
                spellings.setdefault(lower, Counter())[word] += count
        frequent = sorted(spellings, key=lambda lower: (-spellings[lower].total(), lower))[:MAX_WORDS]
        usual = (max(spellings[lower].items(), key=lambda item: (item[1], item[0]))[0] for lower in frequent)
        return UsualCase(" ".join(sorted(usual)), self._titles > MAX_TITLES * self._sentences)
