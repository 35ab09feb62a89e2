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
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import chain, compress, islice
from operator import itemgetter
from typing import NamedTuple

import regex

from dragoman.doctor.input import TrainingText
from dragoman.documents.marks import Mark, place_marks
from dragoman.documents.segment import Segment
from dragoman.explanation.alignment import align
from dragoman.languages.codes import same_language
from dragoman.languages.scripts import WITHOUT_SPACES
from dragoman.languages.sentence_marks import starts_sentence
from dragoman.settings.decoding import MAX_COST_OF_MARKED_TERMS
from dragoman.text.glossary import (
    FoundTerm,
    Term,
    decapitalize,
    fold,
    is_copied_word,
    list_words,
    replace_words,
    term_words,
)
from dragoman.text.lemmas import Lemmatize
from dragoman.text.link import Link
from dragoman.text.placeholders import find_spans, text_between
from dragoman.text.term_matcher import TermMatcher, capitalize, contains_term, count_term, is_copied
from dragoman.text.translation import Translation
from dragoman.text.word_forms import ENDING, FindForms, begins_alike, is_compound, is_dictionary_form
from dragoman.translator import SourceText, Translator

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
        targets = [draft.translation.text for draft in drafts]
        found = align(self._translator.bundle, self._translator.engine, texts, targets)
        return zip(drafts, found, strict=True)

    def _choose_places(self, placed: Sequence[tuple[TermDraft, TermPlace]]) -> list[tuple[TermDraft, TermPlace]]:
        """The places with the most probable form of each term; the given one unless another is clearly better.

        A place of a term of several words that its head already has is used if it is more probable, so that the head is
        not doubled. Terms that cost more than `max_term_cost` are left out, see `_are_affordable`.
        """
        variants = [list(place.variants(self._forms, draft.fixed)) for draft, place in placed]
        heads = [list(draft.places_of_head(place)) for draft, place in placed]
        texts = [
            [draft.translation.text, *(each.prefix + each.rest for each in (*own, *others))]
            for (draft, _), own, others in zip(placed, variants, heads, strict=True)
        ]
        sources = [draft.source for (draft, _), own in zip(placed, texts, strict=True) for _ in own]
        scores = iter(self._search.score(sources, list(chain.from_iterable(texts))))
        chosen, costs = [], []
        for (draft, place), own, others in zip(placed, variants, heads, strict=True):
            without_term = next(scores)
            scored = dict(zip(own, islice(scores, len(own)), strict=True))
            best = most_probable(place, list(scored.items()), self._matcher.target)
            scored |= zip(others, islice(scores, len(others)), strict=True)
            best = max(best, *others, key=scored.__getitem__) if others else best
            draft.tried.add(place.found)
            chosen.append((draft, best))
            costs.append(without_term - scored[best])
        affordable = compress(chosen, self._are_affordable(chosen, costs))
        return [(draft, self._with_article(draft, best)) for draft, best in affordable]

    def _with_article(self, draft: TermDraft, place: TermPlace) -> TermPlace:
        return place.with_a_or_an(draft.fixed) if self._is_english else place

    def _replaces(self, draft: TermDraft, place: TermPlace) -> bool:
        """Whether a term replaces the words in its place; not if a model that knows the term has inflected it."""
        words = [place.replaced, *list_words(place.replaced)]
        is_form = self._marks and any(begins_alike(word, place.form) for word in words)
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
        (ids,) = self._bundle.target.encode_masked([place.prefix])
        return place.start >= draft.fixed and len(ids) < self._source_limit


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
        placed = place_marks(marks, self.segment.text, Translation(text, links=links))
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

    def places_of_head(self, place: TermPlace) -> Iterator[TermPlace]:
        """Other places for a term of several words: where the translation already has the last of them, its head.

        Of "large crowd", for example, "crowd", if the alignment found another word.
        """
        text, words = self.translation.text, term_words(place.form)
        head, taken = place.form[words[-1][0] :], range(place.start, place.start + len(place.replaced) + 1)
        for start, end in term_words(text) if len(words) > 1 else ():
            if start >= self.fixed and start not in taken and self._count(text[start:end], head):
                other = self.place_at(Spot(place.found, start, end, False))
                if other.prefix + other.rest != text and not self._loses_term(other):
                    yield other

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


_ARTICLE = regex.compile(r"(?<!\w)([\p{L}\p{M}]{1,5}) $")
"""A short word at the end, which may be an article. Longer ones are not changed: "drinks" would become "drinking"."""

_A_OR_AN = regex.compile(r"(?<!\w)(a)(n?) $", regex.IGNORECASE)

_WITH_AN = regex.compile(
    r"(?!eu(?!ler)|ewe|oui|on(?:c?e)\b"
    r"|u(?:-|k|[bt][io]|te[nr]|ganda|vu|nix|nary|nanim|nimod|ni(?![mn]|d(?!ir))|s[aeiu]|r[aio]|rugu|re[at]))"
    r"(?:hour|honest|honou?r|heir|[aeiou])"
)
"""The beginnings of lower-case words that take "an"."""

OTHER_FORM = 2.0
"""How much higher the log-probability of a translation with another form of a term must be, in nats."""

OTHER_ARTICLE = 1.0
"""The same for another form of the word before a term."""

MOST_LOST = 0.5
"""The share of the words after a term of which a search must find at least as many."""

SPACED = regex.compile(rf"[\w--[{WITHOUT_SPACES}]]", regex.VERSION1)
"""A letter or a number of a script with spaces between words."""

_WORD_CHARACTERS = regex.compile(r"\A\w+")

SAME_KIND = 3.0
"""What a form gains, in nats, if it is a dictionary form as the replaced word is, or is none as that is none.

The model often knows the number of a word, but not the plural of a term that it has rarely seen.
"""


@dataclass(frozen=True)
class TermPlace:
    """Where a translation gets a term.

    Attributes:
        found: The place in the source.
        start: Where the term begins in the translation.
        before: The translation up to the term.
        form: The form of the term, not capitalized.
        replaced: The words that the term replaces.
        rest: What comes after them now.
        begins: Whether the term is capitalized, because it begins a sentence.
        is_upper: Whether the term is all capitals, because the text is.
    """

    found: FoundTerm
    start: int
    before: str
    form: str
    replaced: str
    rest: str
    begins: bool = False
    is_upper: bool = False

    @property
    def written(self) -> str:
        """The form of the term with the capitals that it has in this place."""
        words = list_words(self.form)
        if self.is_upper:
            return replace_words(self.form, [word if is_copied_word(word) else word.upper() for word in words])
        return capitalize(self.form) if self.begins and not is_copied_word(words[0]) else self.form

    @property
    def prefix(self) -> str:
        """How the translation begins, up to and with the term."""
        return self.before + self.written

    def without_repetition(self, fixed: int) -> TermPlace:
        """The place that also replaces words before and after it that are a part of the term.

        The translation of a compound is often aligned with one of its words only: "Textfeld" with "field".

        Args:
            fixed: Number of characters at the beginning that must not change.
        """
        words, before, after = _folded_words(self.form), _folded_words(self.before), _folded_words(self.rest)
        start, begin, end = self.start, len(self.before), 0
        for count in range(1, len(words)):
            is_beginning = before[-count:] == words[:count] or _are_long_words(before[-count:], words[:-1])
            if is_beginning and (first := term_words(self.before)[-count][0]) >= fixed:
                start = begin = first
            if after[:count] == words[-count:]:
                end = term_words(self.rest)[count - 1][1]
        replaced = self.before[begin:] + self.replaced + self.rest[:end]
        return replace(self, start=start, before=self.before[:begin], replaced=replaced, rest=self.rest[end:])

    def variants(self, find_forms: FindForms, fixed: int) -> Iterator[TermPlace]:
        """The place with all forms of its term and of the word before it, such as an article; first the place itself.

        Args:
            find_forms: Finds the forms of a term.
            fixed: Number of characters at the beginning that must not change.
        """
        match = _ARTICLE.search(self.before)
        if match is None or match.start() < fixed or self.is_upper:
            yield from (replace(self, form=form) for form in find_forms(self.form))
            return
        begins = match[1][0].isupper() and starts_sentence(self.before, match.start())
        word = decapitalize(match[1]) if begins else match[1]
        for phrase in find_forms(f"{word} {self.form}", with_article=True):
            other, form = phrase.split(" ", 1)
            before = self.before[: match.start()] + (capitalize(other) if begins else other) + " "
            yield replace(self, before=before, form=form)

    def with_a_or_an(self, fixed: int) -> TermPlace:
        """The place with the English article that the term needs, if one of "a" and "an" is before it.

        The sound decides, but a model still expects the sound of the word that the term replaces. How abbreviations and
        names with digits sound is not known, so these keep the article that the model prefers.

        Args:
            fixed: Number of characters at the beginning that must not change.
        """
        match, word = _A_OR_AN.search(self.before), self.form[: term_words(self.form)[0][1]]
        if match is None or match.start() < fixed or len(word) < 2 or not word.isalpha() or word.isupper():
            return self
        if match[1] == "A" and not starts_sentence(self.before, match.start()):
            return self  # a letter, as in "Vitamin A"
        n = "n" if _WITH_AN.match(word.lower()) else ""
        return replace(self, before=f"{self.before[: match.end(1)]}{n} ")

    def accepts(self, translation: str) -> bool:
        """Whether a search has kept the term without an ending, and brought back neither it nor what it replaces.

        After a beginning that the model has never seen, a search may end at once, which would lose what follows, or add
        words at the end of a sentence.
        """
        rest = translation[len(self.prefix) :]
        longest = max(list_words(self.replaced), key=len, default="").lower()
        others = (self.prefix + self.rest).lower()
        returns = bool(longest) and count_term(translation.lower(), longest) > count_term(others, longest)
        ending = not self.prefix[-1].isalnum() and bool(SPACED.match(rest))  # as in ™s
        here = self.written + "".join(_WORD_CHARACTERS.findall(rest))
        lost = len(list_words(rest)) < MOST_LOST * len(list_words(self.rest))
        replaces_end = not SPACED.search(self.rest) and 0 < len(list_words(self.replaced)) <= len(list_words(self.form))
        added = replaces_end and bool(SPACED.search(rest))
        if self._doubles_head(rest):
            return False
        return not (returns or ending or lost or added or self._repeats(rest, longest)) and contains_term(
            here, self.written
        )

    def _doubles_head(self, rest: str) -> bool:
        """Whether what follows a term of several words contains the last of them more often than before."""
        *others, head = _folded_words(self.form)
        counts = [
            sum(word.startswith(head) and len(word) <= len(head) + ENDING for word in _folded_words(text))
            for text in (rest, self.rest)
        ]
        return bool(others) and counts[0] > counts[1]

    def _repeats(self, rest: str, longest: str) -> bool:
        """Whether what follows the term begins with its last word, all of it, or the longest word that it replaces."""
        words, following = _folded_words(self.form), _folded_words(rest)
        return following[:1] in (words[-1:], _folded_words(longest)[:1] or None) or following[: len(words)] == words


def most_probable(
    place: TermPlace, scored: Sequence[tuple[TermPlace, float]], lemmatize: Lemmatize | None
) -> TermPlace:
    """The variant of a place with the best form of the term, and then with the best form of the word before it.

    The form is the given one unless another is clearly better; "an" instead of "a" is no reason for a plural.

    Args:
        place: The place.
        scored: Its variants, with the log-probability of the translation in nats.
        lemmatize: Finds the lemmas of the target language.
    """
    kind = _is_lemma(place.replaced, lemmatize, place.begins) if lemmatize and place.replaced else None

    def gain(form: str) -> float:
        if lemmatize and kind is not None and _is_lemma(form, lemmatize) != kind:
            return 0.0
        return (0.0 if kind is None else SAME_KIND) + (OTHER_FORM if form == place.form else 0.0)

    form = max(scored, key=lambda each: each[1] + gain(each[0].form))[0].form
    with_form = [each for each in scored if each[0].form == form]
    best, given = max(with_form, key=itemgetter(1)), with_form[0]
    return best[0] if best[1] > given[1] + OTHER_ARTICLE else given[0]


def _folded_words(text: str) -> list[str]:
    return list(map(fold, list_words(text)))


def _are_long_words(words: Sequence[str], of: Sequence[str]) -> bool:
    """Whether words are among others, as "young" is among "little young", and are no articles or prepositions."""
    return bool(words) and all(len(word) > 3 and word in of for word in words)


def _is_lemma(text: str, lemmatize: Lemmatize, begins: bool = False) -> bool:
    """Whether a text is in its dictionary form; at the beginning of a sentence, also with a lower-case first letter."""
    return all(is_dictionary_form(each, lemmatize) for each in ({text, text.lower()} if begins else {text}))
