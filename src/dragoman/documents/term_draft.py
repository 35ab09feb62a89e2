"""A translation that gets the terms that it lacks, one after another."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

import regex

from dragoman.documents.marks import Mark, place_marks
from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.documents.term_place import TermPlace
from dragoman.engines.text_search import SourceText
from dragoman.text.glossary import FoundTerm, Term
from dragoman.text.link import Link
from dragoman.text.normalization import WITHOUT_SPACES
from dragoman.text.placeholders import find_spans, text_between
from dragoman.text.term_matcher import TermMatcher, is_copied
from dragoman.text.translation import Translation
from dragoman.text.usual_case import starts_sentence
from dragoman.text.word_forms import FindForms, is_compound

LONG_WORD = 5
"""Letters of a word that is probably no article or preposition."""

_SPACED = regex.compile(rf"[\w--[{WITHOUT_SPACES}]]", regex.VERSION1)
"""A letter or a number of a script with spaces between words."""


def find_terms(matcher: TermMatcher, segment: Segment) -> list[FoundTerm]:
    """The terms of a segment that a search can use."""
    return [each for each in matcher.find(segment.text, segment.glossary) if not is_copied(each.term.source)]


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
    searches: int = 0  # number of searches that continued a beginning with a term

    @property
    def missing(self) -> list[FoundTerm]:
        """The places in the source of terms that the translation contains less often, which were not tried.

        A word of the translation counts once, also if it is a form of the translations of several terms.
        """
        found = find_terms(self.matcher, self.segment)
        needed = Counter(each.term for each in found)
        missing = {term for term in needed if self._has_too_few(term, needed)}
        return [each for each in found if each.term in missing and each not in self.tried]

    def _has_too_few(self, term: Term, needed: Counter[Term]) -> bool:
        wanted = sum(needed[other] * self.matcher.count(other.target, term.target) for other in needed)
        return self.matcher.count(self.translation.text, term.target) < wanted

    def place_term(self, links: tuple[Link, ...]) -> TermPlace | None:
        """The first place in the translation that gets a term: that of the words that translate it.

        None if there is none, because the translation expresses several places of the term in one. These are not tried
        again.
        """
        kept = [each for each in self.missing if self._is_in_compound(each, links)]
        self.tried.update(kept)
        text, missing = self.translation.text, self.missing
        marks = [Mark(each.start, each.end, number) for number, each in enumerate(missing)]
        placed = place_marks(marks, self.segment.text, TranslatedSegment(text, links))
        mark = next((each for each in placed if self._gets_term(missing[each.number], each, links)), None)
        if mark is None:
            self.tried.update(missing)
            return None
        place = self._place(missing[mark.number], mark.start, mark.end)
        if mark.start < self.fixed and self._loses_term(place):
            return self._place(place.found, self.fixed, self.fixed)
        return place

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
            for each in find_terms(self.matcher, self.segment)
            if 1 in (each.start - found.end, found.start - each.end) and each.term.target != found.term.target
        ]
        for (start, end), own in by_place.items():
            word = self.translation.text[start:end]
            if is_compound(word, self.forms(found.term.target)) and (
                len(set(own)) > 1 or any(is_compound(word, self.forms(target)) for target in neighbors)
            ):
                return True
        return False

    def _gets_term(self, found: FoundTerm, mark: Mark, links: tuple[Link, ...]) -> bool:
        """Whether a term replaces words: if the translation has it already, only those that translate nothing else."""
        text, target = self.translation.text, found.term.target
        if not self.matcher.count(text, target):
            return True
        linked = [each for each in links if each.target_start < mark.end and mark.start < each.target_end]
        own = all(found.start <= each.source_start and each.source_end <= found.end for each in linked)
        return bool(linked) and own and not self.matcher.count(text[mark.start : mark.end], target)

    def _place(self, found: FoundTerm, start: int, end: int) -> TermPlace:
        text = self.translation.text
        begins = text[start : start + 1].isupper() and starts_sentence(text, start)
        before, rest = text[:start], text[end:]
        if start == end:  # the term is between words
            before += " " * bool(_SPACED.match(before[-1:]))
            rest = " " * bool(_SPACED.match(rest)) + rest
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
        terms = self.matcher.check(self.segment.text, self.segment.glossary, self.translation.text)
        used = [term.target for term in terms if term.used != "not"]
        return not all(self.matcher.count(place.prefix + place.rest, target) for target in used)

    def use(self, place: TermPlace, searched: Translation | None) -> None:
        """Use the translation that a search found, or only replace the words if that is not acceptable."""
        self.searches += searched is not None
        if searched and place.accepts(searched.text):
            self.translation, self.fixed = searched, len(place.prefix)
            return
        change = len(place.prefix + place.rest) - len(self.translation.text)
        self.translation = replace(self.translation, text=place.prefix + place.rest)
        self.fixed = max(len(place.prefix), self.fixed + change)
