"""Changes to sentence pairs that occur in real text: capital letters, missing punctuation, typing errors."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import regex

from dragoman.languages.scripts import has_dotted_capital
from dragoman.languages.sentence_marks import without_end

LETTERS_OF_A_TYPO = 3
"""Shorter words get no typo: they would often become other words."""

WORDS_PER_TYPO = 8

_FIRST_LETTER = regex.compile(r"(?<!\S)([^\p{L}\p{N}\s]*)(\p{L})")
_WORD = regex.compile(r"[\p{L}\p{M}]+")
_CHARACTER = regex.compile(r"\X")  # with its combining marks


def to_upper_case(text: str, language: str) -> str:
    """The text in capital letters; scripts without case are unchanged."""
    return _with_dots(text, language).upper()


def to_title_case(text: str, language: str) -> str:
    """The text with a capital letter at the start of every word; the other letters are unchanged."""
    return _FIRST_LETTER.sub(lambda match: match[1] + _with_dots(match[2], language).title(), text)


def without_end_punctuation(source: str, target: str) -> tuple[str, str]:
    """A pair without the punctuation at the end, unless one side has none, or nothing else."""
    sides = source.rstrip(), target.rstrip()
    shorter = without_end(sides[0]), without_end(sides[1])
    if all(rest and rest != side for rest, side in zip(shorter, sides, strict=True)):
        return shorter
    return source, target


def add_typos(text: str, generator: Random) -> str:
    """The text with a typing error in every eighth word or so, but in one word at least."""
    words = list(_WORD.finditer(text))
    long = [word.span() for word in words if len(_CHARACTER.findall(word[0])) >= LETTERS_OF_A_TYPO]
    count = min(max(1, round(len(words) / WORDS_PER_TYPO)), len(long))
    for start, end in sorted(generator.sample(long, count), reverse=True):
        text = text[:start] + _misspell(text[start:end], text, generator) + text[end:]
    return text


def _misspell(word: str, text: str, generator: Random) -> str:
    """The word with two neighboring letters swapped, or one letter lost, doubled, or replaced by one of the text."""
    letters = _CHARACTER.findall(word)
    place = generator.randrange(len(letters))
    other = min(place + 1, len(letters) - 1)
    wrong = _CHARACTER.findall(generator.choice(_WORD.findall(text)))
    replaced = {
        "swap": [*letters[:place], letters[other], letters[place], *letters[other + 1 :]],
        "drop": [*letters[:place], *letters[place + 1 :]],
        "double": [*letters[: place + 1], *letters[place:]],
        "replace": [*letters[:place], generator.choice(wrong).lower(), *letters[place + 1 :]],
    }
    changed = "".join(replaced[generator.choice(list(replaced))])
    return changed if changed != word else "".join(replaced["double"])


def _with_dots(text: str, language: str) -> str:
    """The text with İ in place of i if that is its capital letter in this language."""
    return text.replace("i", "İ") if has_dotted_capital(language) else text


TextChange = Callable[[str, str, tuple[str, str], str], tuple[str, str]]
"""Changes a source and its target, given the codes of their languages and the seed of random changes."""

TEXT_CHANGES: dict[str, TextChange] = {
    "upper_case": lambda source, target, languages, _: (
        to_upper_case(source, languages[0]),
        to_upper_case(target, languages[1]),
    ),
    "title_case": lambda source, target, languages, _: (
        to_title_case(source, languages[0]),
        to_title_case(target, languages[1]),
    ),
    "no_end_punctuation": lambda source, target, _, __: without_end_punctuation(source, target),
    "typos": lambda source, target, _, seed: (add_typos(source, Random(seed)), target),
}
"""The changes by name, which is that of their setting."""
