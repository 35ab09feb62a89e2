"""Glossaries: how the terms of a text must be translated."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import regex

from dragoman.errors import UserError
from dragoman.text.normalization import WITHOUT_SPACES

_WORD = regex.compile(rf"[{WITHOUT_SPACES}]|[\w--[{WITHOUT_SPACES}]]+|[^\w\s]", regex.VERSION1)
"""A word, a punctuation mark, or a letter of a script without spaces."""


@dataclass(frozen=True)
class Term:
    """A term of the source language, and its translation."""

    source: str
    target: str


class FoundTerm(NamedTuple):
    """Characters of a text that are a term."""

    start: int
    end: int
    term: Term


class Glossary:
    """Terms with their translations.

    >>> glossary = dragoman.Glossary.parse(["Hund\\thound", "kleiner Hund\\tpuppy"])
    >>> [found.term.target for found in glossary.find("Ein kleiner Hund und ein Hund.")]
    ['puppy', 'hound']

    Args:
        terms: The terms; their sources differ in more than their case and their spaces.

    Raises:
        UserError: A term is empty, or has two translations; all such terms are reported together.
    """

    def __init__(self, terms: Iterable[Term]) -> None:
        targets: defaultdict[tuple[str, ...], dict[str, Term]] = defaultdict(dict)
        for term in terms:
            key = tuple(_fold(term.source[start:end]) for start, end in _words(term.source))
            if not key or not term.target.strip():
                raise UserError(f"the glossary has an empty term: {term.source!r} = {term.target!r}")
            targets[key].setdefault(term.target, term)
        if conflicts := [list(found.values()) for found in targets.values() if len(found) > 1]:
            listed = "; ".join(f"{found[0].source}: {', '.join(term.target for term in found)}" for found in conflicts)
            raise UserError(f"terms of the glossary have several translations ({listed}); choose one for each")
        self._terms = {key: term for key, found in targets.items() for term in found.values()}
        self._longest = max(map(len, self._terms), default=0)

    @classmethod
    def parse(cls, lines: Iterable[str], name: str = "glossary", separator: str = "\t") -> Glossary:
        """The glossary in lines with a term, a separator and its translation; empty lines are skipped.

        Raises:
            UserError: A line has another number of columns, or the terms are not a glossary.
        """
        terms = []
        for number, line in enumerate(lines, start=1):
            columns = [column.strip() for column in line.split(separator)]
            if len(columns) != 2 and line.strip():
                sign = "a tab" if separator == "\t" else separator
                raise UserError(f"{name}:{number}: expected a term, {sign} and its translation, not {line[:40]!r}")
            if line.strip():
                terms.append(Term(*columns))
        try:
            return cls(terms)
        except UserError as error:
            raise UserError(f"{name}: {error}") from None

    @property
    def terms(self) -> list[Term]:
        """All terms, in their order."""
        return list(self._terms.values())

    def find(self, text: str) -> Iterator[FoundTerm]:
        """The terms in a text, in order: whole words in any case, the longest of several that begin at a word."""
        words = _words(text)
        folded = [_fold(text[start:end]) for start, end in words]
        begin = 0
        while begin < len(words):
            for end in range(min(len(words), begin + self._longest), begin, -1):
                if term := self._terms.get(tuple(folded[begin:end])):
                    yield FoundTerm(words[begin][0], words[end - 1][1], term)
                    begin = end
                    break
            else:
                begin += 1

    def terms_in(self, text: str) -> tuple[Term, ...]:
        """The different terms in a text, in order."""
        return tuple(dict.fromkeys(found.term for found in self.find(text)))


def contains_term(text: str, target: str) -> bool:
    """Whether a translation contains the translation of a term as whole words; its first letter may be capitalized."""
    words = _words(text)
    starts, ends = {start for start, _ in words}, {end for _, end in words}
    if words and text.startswith(capitalize(target), words[0][0]) and words[0][0] + len(target) in ends:
        return True
    start = text.find(target)
    while start >= 0 and not (start in starts and start + len(target) in ends):
        start = text.find(target, start + 1)
    return start >= 0


def capitalize(text: str) -> str:
    """A text with its first letter in uppercase."""
    return text[:1].upper() + text[1:]


def _words(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _WORD.finditer(text)]


def _fold(word: str) -> str:
    return unicodedata.normalize("NFC", word).casefold()
