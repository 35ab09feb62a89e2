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
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, compress, islice

from dragoman.doctor.input.training_text import TrainingText
from dragoman.documents.segment import Segment
from dragoman.documents.term_draft import Spot, TermDraft, find_terms
from dragoman.documents.term_place import TermPlace, most_probable
from dragoman.engines.text_search import SourceText
from dragoman.explanation.alignment import align
from dragoman.languages.codes import same_language
from dragoman.settings.decoding import MAX_COST_OF_MARKED_TERMS
from dragoman.text.glossary import Glossary, Term, fold, term_words
from dragoman.text.link import Link
from dragoman.text.masked_text import encode_masked
from dragoman.text.term_matcher import CheckedTerm, TermMatcher, capitalize
from dragoman.text.translation import Translation
from dragoman.text.word_forms import ENDING, FindForms, is_compound
from dragoman.translator import Translator

SAME_STEM = 0.6
"""The share of a term with which a probable form begins that the dictionaries lack, such as "wikis" of "wiki".

"Dialog" and "Dialogfenster" are no forms of "Dialogfeld".
"""

SHORTEST_STEM = 4  # letters: "wing" is no form of "wine"

COST_IN_COMPOUND = 4.0
"""How much less probable a translation may be if a term replaces a compound that contains it, in nats.

The alignment may miss a part of a compound. With a model of LibreOffice's texts, "Formatvorlage" for "style" becomes
"Vorlage" (1.5 nats), but "Währungsfeld" for "currency field" does not become "Feld" (9.5).
"""

MOST_SEARCHES = 8
"""Of a sentence, and the number of its terms that are placed one by one. Further ones only replace words, all at once,
so that a sentence of many terms takes seconds."""

KEPT_COSTS = 10_000
"""Maximum number of terms whose cost without a sentence is kept."""


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
        self._translator, self._search, self._bundle = translator, translator.text_search, translator.bundle
        self._source_limit = translator.source_limit
        self._matcher, self._forms, self._marks = matcher, forms, marks
        self._trained = translator.bundle.table("training_text", TrainingText)
        given, usual = translator.decoding.max_term_cost, MAX_COST_OF_MARKED_TERMS if marks else math.inf
        self._max_cost = usual if given is None else given
        self._is_english = same_language(translator.bundle.recipe.data.target_language, "en")
        self._known_costs: dict[Term, float] = {}

    def translate(self, segments: Sequence[Segment]) -> list[Translation]:
        """The translation of each segment; only those that lack a term are searched again."""
        sources = self._encode(segments)
        translations = self._translate(sources)
        make_draft = partial(TermDraft, matcher=self._matcher, forms=self._forms)
        drafts = list(map(make_draft, segments, sources, translations))
        while waiting := [draft for draft in drafts if draft.missing]:
            if searched := [draft for draft in waiting if draft.rounds < MOST_SEARCHES]:
                self._improve(searched)
            else:
                self._replace_words(waiting)
        return [draft.translation for draft in drafts]

    def _encode(self, segments: Sequence[Segment]) -> list[SourceText]:
        texts = [segment.text for segment in segments]
        if not self._marks:
            return self._search.encode(texts)
        return self._search.encode_with_terms(texts, [find_terms(self._matcher, segment) for segment in segments])

    def _translate(self, sources: Sequence[SourceText], prefixes: Sequence[str] | None = None) -> list[Translation]:
        forced = None if prefixes is None else self._search.encode_prefixes(sources, prefixes)
        return list(map(self._search.translation, sources, self._search.search(sources, forced)))

    def _improve(self, drafts: Sequence[TermDraft]) -> None:
        """Put one more term into each translation."""
        found = [(draft, draft.place_term(links)) for draft, links in self._align(drafts)]
        placed = self._choose_places(
            [(draft, place) for draft, place in found if place and self._replaces(draft, place)]
        )
        is_free = [self._can_search(draft, place) for draft, place in placed]
        free = list(compress(placed, is_free))
        searched = iter(self._translate([draft.source for draft, _ in free], [place.prefix for _, place in free]))
        for (draft, place), can_search in zip(placed, is_free, strict=True):
            draft.use(place, next(searched) if can_search else None)

    def _replace_words(self, drafts: Sequence[TermDraft]) -> None:
        """Put all terms that are still missing into each translation, as the glossary spells them."""
        spots = [(draft, spot) for draft, links in self._align(drafts) for spot in draft.find_spots(links)]
        placed = [(draft, draft.place_at(spot)) for draft, spot in spots]
        is_affordable = self._are_affordable(placed, self._compute_costs(placed))
        kept = defaultdict[int, list[Spot]](list)
        for (draft, spot), (_, place), is_kept in zip(spots, placed, is_affordable, strict=True):
            if is_kept and self._replaces(draft, place):
                kept[id(draft)].append(spot)
        for draft in drafts:
            for place in draft.places(kept[id(draft)]):
                draft.use(self._with_article(draft, place), None)

    def _align(self, drafts: Sequence[TermDraft]) -> Iterator[tuple[TermDraft, tuple[Link, ...]]]:
        texts = [draft.segment.text for draft in drafts]
        found = align(self._translator.bundle_on_device, texts, [draft.translation.text for draft in drafts])
        return zip(drafts, found, strict=True)

    def _choose_places(self, placed: Sequence[tuple[TermDraft, TermPlace]]) -> list[tuple[TermDraft, TermPlace]]:
        """The places with the most probable form of each term; the given one unless another is clearly better.

        Terms that cost more than `max_term_cost` are left out, see `_are_affordable`.
        """
        variants = [list(place.variants(self._forms, draft.fixed)) for draft, place in placed]
        texts = [
            [draft.translation.text, *(each.prefix + each.rest for each in own)]
            for (draft, _), own in zip(placed, variants, strict=True)
        ]
        sources = [draft.source for (draft, _), own in zip(placed, texts, strict=True) for _ in own]
        scores = iter(self._search.score(sources, list(chain.from_iterable(texts))))
        chosen, costs = [], []
        for (draft, place), own in zip(placed, variants, strict=True):
            without_term = next(scores)
            scored = dict(zip(own, islice(scores, len(own)), strict=True))
            best = most_probable(place, list(scored.items()), self._matcher.target)
            draft.tried.add(place.found)
            chosen.append((draft, best))
            costs.append(without_term - scored[best])
        affordable = compress(chosen, self._are_affordable(chosen, costs))
        return [(draft, self._with_article(draft, best)) for draft, best in affordable]

    def _with_article(self, draft: TermDraft, place: TermPlace) -> TermPlace:
        return place.with_a_or_an(draft.fixed) if self._is_english else place

    def _replaces(self, draft: TermDraft, place: TermPlace) -> bool:
        """Whether a term replaces the words in its place; not if a model that knows the term has inflected it."""
        words = [place.replaced, *(place.replaced[start:end] for start, end in term_words(place.replaced))]
        is_form = self._marks and any(_is_probable_form(word, place.form) for word in words)
        if is_form:
            draft.tried.add(place.found)
        return not is_form

    def _keeps_compound(self, draft: TermDraft, place: TermPlace, cost: float) -> bool:
        """Whether a compound that contains a term stays, because it probably translates other words as well."""
        contains = is_compound(place.replaced, self._forms(place.found.term.target))
        return cost > COST_IN_COMPOUND and contains and draft.has_modifier(place)

    def _are_affordable(self, placed: Sequence[tuple[TermDraft, TermPlace]], costs: Sequence[float]) -> list[bool]:
        """Whether terms are used, each of which reduces the log-probability of its translation by a cost in nats.

        Not if they reduce it too much. Names and other words that the model has never seen are always improbable, so
        they are never too expensive. Terms that it accepts as a translation of their source without context are kept,
        too: in a sentence, it often does not expect a right term. A model that reads marked terms judges by the
        sentence.
        """
        limit, trained = self._max_cost, self._trained
        terms = [place.found.term for _, place in placed]
        expensive = [
            cost > limit and trained is not None and trained.knows(place.form)
            for (_, place), cost in zip(placed, costs, strict=True)
        ]
        alone = {} if self._marks else self._costs_alone(compress(terms, expensive))
        return [
            not (is_expensive and alone.get(term, math.inf) > limit) and not self._keeps_compound(*each, cost)
            for each, term, cost, is_expensive in zip(placed, terms, costs, expensive, strict=True)
        ]

    def _compute_costs(self, placed: Sequence[tuple[TermDraft, TermPlace]]) -> list[float]:
        """What terms cost in their sentences; 0 for those that are used at any cost."""
        affordable = self._are_affordable(placed, [math.inf] * len(placed))
        others = [each for each, is_affordable in zip(placed, affordable, strict=True) if not is_affordable]
        drafts = {id(draft): draft for draft, _ in others}
        before = self._search.score(
            [each.source for each in drafts.values()], [each.translation.text for each in drafts.values()]
        )
        without_term = dict(zip(drafts, before, strict=True))
        after = self._search.score(
            [draft.source for draft, _ in others], [place.prefix + place.rest for _, place in others]
        )
        costs = (without_term[id(draft)] - score for (draft, _), score in zip(others, after, strict=True))
        return [0.0 if is_affordable else next(costs) for is_affordable in affordable]

    def _costs_alone(self, terms: Iterable[Term]) -> dict[Term, float]:
        """How much less probable each term is than the model's translation of its source alone, in nats."""
        known = {term: self._known_costs.get(term) for term in terms}
        found = {term: cost for term, cost in known.items() if cost is not None}
        if not (new := [term for term in known if term not in found]):
            return found
        computed = dict(zip(new, self._compute_costs_alone(new), strict=True))
        if len(self._known_costs) + len(new) > KEPT_COSTS:
            self._known_costs.clear()
        self._known_costs.update(computed)
        return found | computed

    def _compute_costs_alone(self, terms: Sequence[Term]) -> list[float]:
        sources, spelled = self._search.encode([term.source for term in terms]), [self._forms(t.target) for t in terms]
        forms = [[*each, *map(capitalize, each)] for each in spelled]  # a model may write a word like a sentence
        given = [source for source, own in zip(sources, forms, strict=True) for _ in own]
        scores = iter(self._search.score(given, list(chain.from_iterable(forms))))
        return [
            max(0.0, best.log_probability - max(islice(scores, len(own))))
            for best, own in zip(self._translate(sources), forms, strict=True)
        ]

    def _can_search(self, draft: TermDraft, place: TermPlace) -> bool:
        (ids,) = encode_masked(self._bundle.target, [place.prefix])
        return place.start >= draft.fixed and len(ids) < self._source_limit


def _is_probable_form(word: str, term: str) -> bool:
    stem = fold(term)[: max(SHORTEST_STEM, math.ceil(SAME_STEM * len(term)))]
    if len(stem) < SHORTEST_STEM:
        return fold(word) == stem  # "its" is no form of IT
    return fold(word).startswith(stem) and abs(len(word) - len(term)) <= ENDING
