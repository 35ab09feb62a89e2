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
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, compress, islice

from dragoman.doctor.input.training_text import TrainingText
from dragoman.documents.segment import Segment
from dragoman.documents.term_draft import TermDraft, find_terms
from dragoman.documents.term_place import TermPlace, most_probable
from dragoman.engines.text_search import SourceText
from dragoman.explanation.alignment import align
from dragoman.settings.decoding import MAX_COST_OF_MARKED_TERMS
from dragoman.text.glossary import Glossary, Term, fold, term_words
from dragoman.text.masked_text import encode_masked
from dragoman.text.term_matcher import CheckedTerm, TermMatcher, capitalize
from dragoman.text.translation import Translation
from dragoman.text.word_forms import ENDING, FindForms, is_compound
from dragoman.text.world_languages import primary_language
from dragoman.translator import Translator

SAME_STEM = 0.6
"""The share of a term with which a probable form begins that the dictionaries lack, such as "wikis" of "wiki".

"Dialog" and "Dialogfenster" are no forms of "Dialogfeld".
"""

COST_IN_COMPOUND = 4.0
"""How much less probable a translation may be if a term replaces a compound that contains it, in nats.

The alignment may miss a part of a compound. With a model of LibreOffice's texts, "Formatvorlage" for "style" becomes
"Vorlage" (1.5 nats), but "Währungsfeld" for "currency field" does not become "Feld" (9.5).
"""

MOST_SEARCHES = 8
"""Of a sentence; further terms only replace words, so that a sentence of many terms does not take minutes."""

KEPT_COSTS = 10_000
"""Terms whose cost without a sentence is kept."""


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
        self._is_english = primary_language(translator.bundle.recipe.data.target_language) == "en"
        self._cost_alone = lru_cache(KEPT_COSTS)(self._compute_cost_alone)

    def translate(self, segments: Sequence[Segment]) -> list[Translation]:
        """The translation of each segment; only those that lack a term are searched again."""
        sources = self._encode(segments)
        translations = self._translate(sources)
        make_draft = partial(TermDraft, matcher=self._matcher, forms=self._forms)
        drafts = list(map(make_draft, segments, sources, translations))
        while waiting := [draft for draft in drafts if draft.missing]:
            self._improve(waiting)
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

    def _choose_places(self, placed: Sequence[tuple[TermDraft, TermPlace]]) -> list[tuple[TermDraft, TermPlace]]:
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
            cost = without_term - scored[best]
            if not self._keeps_compound(draft, best, cost) and not self._costs_too_much(best, cost):
                chosen.append((draft, best.with_a_or_an(draft.fixed) if self._is_english else best))
        return chosen

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

    def _costs_too_much(self, place: TermPlace, cost: float) -> bool:
        """Whether a term reduces the log-probability of a translation too much, by `cost` in nats.

        Names and other words that the model has never seen are always improbable, so they are never too expensive.
        Terms that it accepts as a translation of their source without context are kept, too: in a sentence, it often
        does not expect a right term. A model that reads marked terms judges by the sentence.
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

    def _can_search(self, draft: TermDraft, place: TermPlace) -> bool:
        (ids,) = encode_masked(self._bundle.target, [place.prefix])
        return draft.searches < MOST_SEARCHES and place.start >= draft.fixed and len(ids) < self._source_limit


def _is_probable_form(word: str, term: str) -> bool:
    stem = fold(term)[: math.ceil(SAME_STEM * len(term))]
    return fold(word).startswith(stem) and abs(len(word) - len(term)) <= ENDING
