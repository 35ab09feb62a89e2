"""A translation that gets the terms that it lacks, one after another."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import NamedTuple

import regex

from dragoman.documents.marks import Mark, place_marks
from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.documents.term_place import SPACED, TermPlace
from dragoman.engines.text_search import SourceText
from dragoman.languages.sentence_marks import starts_sentence
from dragoman.text.glossary import FoundTerm, Term
from dragoman.text.link import Link
from dragoman.text.placeholders import find_spans, text_between
from dragoman.text.term_matcher import TermMatcher, is_copied
from dragoman.text.translation import Translation
from dragoman.text.word_forms import FindForms, is_compound

_AFTER_WORD = regex.compile(r"[\p{Pe}\p{Pf}.,;:!?%]")
"""Punctuation after a word, which is followed by a space in scripts that have spaces between words."""

LONG_WORD = 5
"""Letters of a word that is probably no article or preposition."""


def find_terms(matcher: TermMatcher, segment: Segment) -> list[FoundTerm]:
    """The terms of a segment that a search can use."""
    return [each for each in matcher.find(segment.text, segment.glossary) if not is_copied(each.term.source)]


class Spot(NamedTuple):
    """The words of a translation, from `start` up to but not including `end`, that translate a term of the source.

    `is_own` states whether they translate nothing else, and do not contain the translation of the term.
    """

    found: FoundTerm
    start: int
    end: int
    is_own: bool


@dataclass
class TermDraft:
    """A translation that may lack terms."""

    segment: Segment
    source: SourceText
    translation: Translation
    matcher: TermMatcher
    forms: FindForms
    fixed: int = 0  # number of characters at the beginning that must not change, because they contain terms
    tried: set[FoundTerm] = field(default_factory=set)
    rounds: int = 0  # number of times that a place for one term was looked for

    @cached_property
    def _found(self) -> list[FoundTerm]:
        return find_terms(self.matcher, self.segment)

    @cached_property
    def _targets(self) -> list[str]:
        """The translations of all terms, also of those that a search cannot use."""
        found = self.matcher.find(self.segment.text, self.segment.glossary)
        return list(dict.fromkeys(each.term.target for each in found))

    @cached_property
    def _wanted(self) -> dict[Term, int]:
        """How often the translation should contain each term.

        A word of the translation counts once, also if it is a form of the translations of several terms.
        """
        needed = Counter(each.term for each in self._found)
        return {term: sum(needed[each] * self._count(each.target, term.target) for each in needed) for term in needed}

    @cached_property
    def _count(self) -> Callable[[str, str], int]:
        return cache(self.matcher.count)

    @property
    def missing(self) -> list[FoundTerm]:
        """The places in the source of terms that the translation contains less often, which were not tried."""
        missing = {term for term in self._wanted if self._has_too_few(term)}
        return [each for each in self._found if each.term in missing and each not in self.tried]

    def _has_too_few(self, term: Term) -> bool:
        return self._count(self.translation.text, term.target) < self._wanted[term]

    def place_term(self, links: tuple[Link, ...]) -> TermPlace | None:
        """The first place in the translation that gets a term: that of the words that translate it.

        None if there is none, because the translation expresses several places of the term in one. These are not tried
        again.
        """
        self.rounds += 1
        spots = self._find_spots(links)
        spot = next(filter(self._gets_term, spots), None)
        if spot is None:
            self.tried.update(each.found for each in spots)
            return None
        return self.place_at(self._keep_terms(spot))

    def find_spots(self, links: tuple[Link, ...]) -> list[Spot]:
        """Where all missing terms belong, in order; none of them is tried again."""
        spots = list(map(self._keep_terms, self._find_spots(links)))
        self.tried.update(each.found for each in spots)
        return sorted(spots, key=lambda each: (each.start, each.start == each.end))

    def places(self, spots: Iterable[Spot]) -> Iterator[TermPlace]:
        """The places that get a term, in order; each must be used before the next one is requested."""
        before, begin = len(self.translation.text), 0
        for spot in spots:
            if self._has_too_few(spot.found.term) and self._gets_term(spot):
                change = len(self.translation.text) - before
                start = max(begin, spot.start + change)
                place = self.place_at(spot._replace(start=start, end=max(start, spot.end + change)))
                yield place
                begin = len(self.translation.text) - len(place.rest)

    def _find_spots(self, links: tuple[Link, ...]) -> list[Spot]:
        """Where the missing terms belong, without those that are a part of a compound, which are not tried again."""
        self.tried.update([each for each in self.missing if self._is_in_compound(each, links)])
        text, missing = self.translation.text, self.missing
        marks = [Mark(each.start, each.end, number) for number, each in enumerate(missing)]
        placed = place_marks(marks, self.segment.text, TranslatedSegment(text, links))
        return [
            Spot(
                missing[mark.number],
                mark.start,
                mark.end,
                self._is_own(missing[mark.number], mark.start, mark.end, links),
            )
            for mark in placed
        ]

    def _is_in_compound(self, found: FoundTerm, links: tuple[Link, ...]) -> bool:
        """Whether a compound contains a term and translates other words, too: "Dateiname" for "file name".

        The alignment may miss the term itself, if another term is next to it that the compound also contains.
        """
        by_place = defaultdict[tuple[int, int], list[bool]](list)  # whether a word translates the term, and other words
        for link in links:
            is_own = found.start <= link.source_start and link.source_end <= found.end
            by_place[link.target_start, link.target_end].append(is_own)
        neighbors = [
            each.term.target
            for each in self._found
            if 1 in (each.start - found.end, found.start - each.end) and each.term.target != found.term.target
        ]
        for (start, end), own in by_place.items():
            word = self.translation.text[start:end]
            if is_compound(word, self.forms(found.term.target)) and (
                len(set(own)) > 1 or any(is_compound(word, self.forms(target)) for target in neighbors)
            ):
                return True
        return False

    def _is_own(self, found: FoundTerm, start: int, end: int, links: tuple[Link, ...]) -> bool:
        linked = [each for each in links if each.target_start < end and start < each.target_end]
        own = all(found.start <= each.source_start and each.source_end <= found.end for each in linked)
        return bool(linked) and own and not self._count(self.translation.text[start:end], found.term.target)

    def _gets_term(self, spot: Spot) -> bool:
        """Whether a term replaces words: if the translation has it already, only those that translate nothing else."""
        return spot.is_own or not self._count(self.translation.text, spot.found.term.target)

    def _keep_terms(self, spot: Spot) -> Spot:
        """The spot, or that after the words that must not change, if the term would replace another one in them."""
        if spot.start < self.fixed and self._loses_term(self.place_at(spot)):
            return spot._replace(start=self.fixed, end=self.fixed)
        return spot

    def place_at(self, spot: Spot) -> TermPlace:
        """The place of a term that replaces the words of a spot, or is between words."""
        found, start, end, _ = spot
        text = self.translation.text
        begins = text[start : start + 1].isupper() and starts_sentence(text, start)
        before, rest = text[:start], text[end:]
        if start == end:  # the term is between words
            after_word = SPACED.match(before[-1:]) or (
                _AFTER_WORD.match(before[-1:]) and SPACED.match(found.term.target)
            )
            before += " " * bool(after_word)
            rest = " " * bool(SPACED.match(rest)) + rest
        source = self.segment.text[found.start : found.end]
        words = "".join(text_between(text, find_spans(text)))  # a placeholder keeps its case
        is_upper = words.isupper() and source.isupper() and source != found.term.source  # not USB
        place = TermPlace(found, start, before, found.term.target, text[start:end], rest, begins, is_upper)
        return place.without_repetition(self.fixed)

    def has_modifier(self, place: TermPlace) -> bool:
        """Whether a long word of the source is next to a term, which a compound in its place may translate, too.

        It is before the term if the compound ends with the term, and after it if the compound begins with it.
        """
        found, text = place.found, self.segment.text
        before, after = text[: found.start].split(" ")[-2:-1], text[found.end :].split(" ")[1:2]
        ends = place.replaced.lower().endswith(tuple(form.lower() for form in self.forms(found.term.target)))
        return any(len(word) >= LONG_WORD and word.isalpha() for word in (before if ends else after))

    def _loses_term(self, place: TermPlace) -> bool:
        before, after = self.translation.text, place.prefix + place.rest
        return any(self._count(before, each) and not self._count(after, each) for each in self._targets)

    def use(self, place: TermPlace, searched: Translation | None) -> None:
        """Use the translation that a search found, or only replace the words if that is not acceptable."""
        if searched and place.accepts(searched.text):
            self.translation, self.fixed = searched, len(place.prefix)
            return
        change = len(place.prefix + place.rest) - len(self.translation.text)
        self.translation = replace(self.translation, text=place.prefix + place.rest)
        self.fixed = max(len(place.prefix), self.fixed + change)
