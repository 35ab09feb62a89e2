"""Translations with the terms of a glossary, by any model: the search continues a beginning that has the term.

Where the term belongs is known from a first translation: in place of the words that translate it (Chatterjee et al.
2017, section 3). The term takes another form if the model finds that clearly more probable. What is before this place
is kept, and the search continues after the term. If it continues the term itself, for example with an ending, or brings
back a word that the term replaces, only these words are replaced instead. Each place of a term in the source gets the
term, unless other words share its translation.

If a model was trained with marked terms, they are marked in its source. It then uses most terms in the first
translation already, and gives a low probability to terms that do not fit the sentence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain, compress, islice

import regex

from dragoman.doctor.input.training_text import TrainingText
from dragoman.documents.marks import Mark, place_marks
from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.documents.term_place import TermPlace, most_probable
from dragoman.engines.text_search import SourceText
from dragoman.explanation.alignment import align
from dragoman.settings.decoding import MAX_COST_OF_MARKED_TERMS
from dragoman.text.glossary import FoundTerm, Glossary, Term, fold, term_words
from dragoman.text.link import Link
from dragoman.text.masked_text import encode_masked
from dragoman.text.normalization import WITHOUT_SPACES
from dragoman.text.placeholders import find_spans, text_between
from dragoman.text.term_matcher import CheckedTerm, TermMatcher, capitalize, is_copied
from dragoman.text.translation import Translation
from dragoman.text.usual_case import starts_sentence
from dragoman.text.word_forms import LETTERS, SHORTEST_HEAD, FindForms
from dragoman.translator import Translator

SAME_STEM, ENDING = 0.6, 2
"""What a probable form of a term that the dictionaries lack has in common with it.

The share of the term that it begins with, and the largest difference in length: "Wickelköpfe" is a form of
"Wickelkopf", but "Dialog" and "Dialogfenster" are no forms of "Dialogfeld".
"""

KEPT_COSTS = 10_000
"""Terms whose cost without a sentence is kept."""

_SPACED = regex.compile(rf"[\w--[{WITHOUT_SPACES}]]", regex.VERSION1)
"""A letter or a number of a script with spaces between words."""


def with_glossary(segments: Iterable[Segment], glossary: Glossary | None) -> list[Segment]:
    """Segments whose translations must use the terms of a glossary, if there is one."""
    return [replace(segment, glossary=glossary) for segment in segments] if glossary else list(segments)


def missing_terms(terms: Iterable[CheckedTerm]) -> list[str]:
    """The problems of a translation that does not use some terms."""
    return list(dict.fromkeys(f"missing term: {term.target}" for term in terms if term.used == "not"))


class TermSearch:
    """Translates segments so that the translations contain their terms.

    Args:
        translator: The translator.
        matcher: Finds the terms.
        forms: Finds the forms that a term may have in a translation.
        marks: Whether the translator was trained with marked terms.
    """

    def __init__(self, translator: Translator, matcher: TermMatcher, forms: FindForms, *, marks: bool = False) -> None:
        self._search, self._bundle = translator.text_search, translator.bundle
        self._source_limit = translator.source_limit
        self._matcher, self._forms, self._marks = matcher, forms, marks
        self._trained = translator.bundle.table("training_text", TrainingText)
        self._max_cost = translator.decoding.max_term_cost
        if self._max_cost is None and marks:
            self._max_cost = MAX_COST_OF_MARKED_TERMS
        self._cost_alone = lru_cache(KEPT_COSTS)(self._compute_cost_alone)

    def translate(self, segments: Sequence[Segment]) -> list[Translation]:
        """The translation of each segment; only those that lack a term are searched again."""
        sources = self._encode(segments)
        translations = self._translate(sources)
        drafts = list(map(partial(_Draft, matcher=self._matcher, forms=self._forms), segments, sources, translations))
        while waiting := [draft for draft in drafts if draft.missing]:
            self._improve(waiting)
        return [draft.translation for draft in drafts]

    def _encode(self, segments: Sequence[Segment]) -> list[SourceText]:
        texts = [segment.text for segment in segments]
        if not self._marks:
            return self._search.encode(texts)
        return self._search.encode_with_terms(texts, [_find(self._matcher, segment) for segment in segments])

    def _translate(self, sources: Sequence[SourceText], prefixes: Sequence[str] | None = None) -> list[Translation]:
        forced = None if prefixes is None else self._search.encode_prefixes(sources, prefixes)
        return list(map(self._search.translation, sources, self._search.search(sources, forced)))

    def _improve(self, drafts: Sequence[_Draft]) -> None:
        """Put one more term into each translation."""
        texts = [draft.segment.text for draft in drafts]
        links = align(self._bundle, texts, [draft.translation.text for draft in drafts])
        found = [(draft, draft.place_term(own_links)) for draft, own_links in zip(drafts, links, strict=True)]
        placed = self._choose_places(
            [(draft, place) for draft, place in found if place and self._replaces(draft, place)]
        )
        is_free = [self._can_search(draft, place) for draft, place in placed]
        free = list(compress(placed, is_free))
        searched = iter(self._translate([draft.source for draft, _ in free], [place.prefix for _, place in free]))
        for (draft, place), can_search in zip(placed, is_free, strict=True):
            draft.use(place, next(searched) if can_search else None)

    def _choose_places(self, placed: Sequence[tuple[_Draft, TermPlace]]) -> list[tuple[_Draft, TermPlace]]:
        """The places with the most probable form of each term; the given one unless another is clearly better.

        Terms that cost more than `max_term_cost` are left out, see `_costs_too_much`.
        """
        variants = [list(place.variants(self._forms, draft.fixed)) for draft, place in placed]
        texts = [
            [draft.translation.text, *(each.prefix + each.rest for each in own)]
            for (draft, _), own in zip(placed, variants, strict=True)
        ]
        sources = [draft.source for (draft, _), own in zip(placed, texts, strict=True) for _ in own]
        scores = iter(self._search.score(sources, list(chain.from_iterable(texts))))
        chosen = []
        for (draft, place), own in zip(placed, variants, strict=True):
            without_term = next(scores)
            scored = dict(zip(own, islice(scores, len(own)), strict=True))
            best = most_probable(place, list(scored.items()), self._matcher.target)
            draft.tried.add(place.found)
            if not self._costs_too_much(best, without_term - scored[best]):
                chosen.append((draft, best))
        return chosen

    def _replaces(self, draft: _Draft, place: TermPlace) -> bool:
        """Whether a term replaces the words in its place; not if a model that knows the term has inflected it."""
        words = [place.replaced, *(place.replaced[start:end] for start, end in term_words(place.replaced))]
        is_form = self._marks and any(_is_probable_form(word, place.form) for word in words)
        if is_form:
            draft.tried.add(place.found)
        return not is_form

    def _costs_too_much(self, place: TermPlace, cost: float) -> bool:
        """Whether a term reduces the log-probability of a translation too much, by `cost` in nats.

        Names and other words that the model has never seen are always improbable, so they are never too expensive. Nor
        are those that it knows as translations of their source alone: in a sentence, it often does not expect a right
        term. A model that reads marked terms judges by the sentence.
        """
        limit, trained = self._max_cost, self._trained
        if limit is None or cost <= limit or trained is None or not trained.knows(place.form):
            return False
        return self._marks or self._cost_alone(place.found.term) > limit

    def _compute_cost_alone(self, term: Term) -> float:
        """How much less probable a term is than the model's translation of its source without a sentence, in nats."""
        sources, spelled = self._search.encode([term.source]), self._forms(term.target)
        forms = [*spelled, *map(capitalize, spelled)]  # a model may write a single word like a sentence
        (best,) = self._translate(sources)
        return max(0.0, best.log_probability - max(self._search.score(sources * len(forms), forms)))

    def _can_search(self, draft: _Draft, place: TermPlace) -> bool:
        (ids,) = encode_masked(self._bundle.target, [place.prefix])
        return place.start >= draft.fixed and len(ids) < self._source_limit


def _find(matcher: TermMatcher, segment: Segment) -> list[FoundTerm]:
    """The terms of a segment that a search can use."""
    return [each for each in matcher.find(segment.text, segment.glossary) if not is_copied(each.term.source)]


def _is_probable_form(word: str, term: str) -> bool:
    stem = fold(term)[: math.ceil(SAME_STEM * len(term))]
    return fold(word).startswith(stem) and abs(len(word) - len(term)) <= ENDING


def _is_compound(word: str, parts: Iterable[str]) -> bool:
    """Whether a word is a compound that begins or ends with one of some words, and not only a form of it."""
    if not LETTERS.fullmatch(word.replace("-", "")):
        return False
    whole = fold(word)
    longest = len(whole) - ENDING - 1  # of the parts
    suitable = tuple(fold(part) for part in parts if SHORTEST_HEAD <= len(part) <= longest)
    return whole.startswith(suitable) or whole.endswith(suitable)


@dataclass
class _Draft:
    """A translation that may lack terms."""

    segment: Segment
    source: SourceText
    translation: Translation
    matcher: TermMatcher
    forms: FindForms
    fixed: int = 0  # number of characters at the beginning that must not change, because they contain terms
    tried: set[FoundTerm] = field(default_factory=set)

    @property
    def missing(self) -> list[FoundTerm]:
        """The places in the source of terms that the translation contains less often, which were not tried.

        A word of the translation counts once, also if it is a form of the translations of several terms.
        """
        found = _find(self.matcher, self.segment)
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

    def _gets_term(self, found: FoundTerm, mark: Mark, links: tuple[Link, ...]) -> bool:
        """Whether a term replaces words: if the translation has it already, only those that translate nothing else.

        It also does not replace a compound that contains the term and translates other words: "Dateiname" for "file
        name".
        """
        text, target = self.translation.text, found.term.target
        replaced = text[mark.start : mark.end]
        linked = [each for each in links if each.target_start < mark.end and mark.start < each.target_end]
        own = all(found.start <= each.source_start and each.source_end <= found.end for each in linked)
        if not own and _is_compound(replaced, self.forms(target)):
            return False
        if not self.matcher.count(text, target):
            return True
        return bool(linked) and own and not self.matcher.count(replaced, target)

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

    def _loses_term(self, place: TermPlace) -> bool:
        terms = self.matcher.check(self.segment.text, self.segment.glossary, self.translation.text)
        used = [term.target for term in terms if term.used != "not"]
        return not all(self.matcher.count(place.prefix + place.rest, target) for target in used)

    def use(self, place: TermPlace, searched: Translation | None) -> None:
        """Use the translation that a search found, or only replace the words if that is not acceptable."""
        if searched and place.accepts(searched.text):
            self.translation, self.fixed = searched, len(place.prefix)
            return
        change = len(place.prefix + place.rest) - len(self.translation.text)
        self.translation = replace(self.translation, text=place.prefix + place.rest)
        self.fixed = max(len(place.prefix), self.fixed + change)
