"""Training pairs that are changed in some epochs, as `training.augmentation` demands, and their marked terms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.corpus.pair import Languages
from dragoman.dataset.batch import ChangedPairs
from dragoman.dataset.buckets import Indices
from dragoman.dataset.prepare import Dataset
from dragoman.dataset.token_store import PairStore
from dragoman.lexicon.dictionary import dictionary_word_places
from dragoman.lexicon.fuzzy_matches import FuzzyMatches
from dragoman.lexicon.lemma_pairs import Entry
from dragoman.settings import Augmentation, Recipe
from dragoman.text.id_store import IdStore
from dragoman.text.lemmas import Lemmatize, lemmatizer
from dragoman.text.multilingual import in_direction
from dragoman.text.sentence_changes import SentenceChanges
from dragoman.text.term_marks import MarkedTerm, mark_terms
from dragoman.text.tokenizer import Tokenizer

MAX_WORDS = 3
"""The most words that a term has, and its translation."""

MAX_TERMS = 3
"""The most terms that are chosen in a sentence."""

_SEPARATORS = (" ", "-")  # between the words of a term

Links = set[tuple[int, int]]
"""The numbers of source words, and of the target words that translate them."""


class _Word(NamedTuple):
    start: int
    end: int
    lemma: str


class TermAligner:
    """Finds the terms of sentence pairs by a lexicon.

    Args:
        lexicon: The entries of the lexicon.
        languages: The codes of the languages.
    """

    def __init__(self, lexicon: Sequence[Entry], languages: Languages) -> None:
        self._lemmatizers = [lemmatizer(language) for language in languages]
        self._translations: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for source, target, score in lexicon:
            self._translations[source][target] = score

    def find(self, source: str, target: str) -> list[MarkedTerm]:
        """All terms of a pair, of one or several words each; they may overlap.

        As in phrase extraction (Koehn et al. 2003), the words of a term and of its translation are next to each other,
        and none of them is linked to any other word.
        """
        sides = _words(source, self._lemmatizers[0]), _words(target, self._lemmatizers[1])
        links = self._link(*sides)
        return [
            MarkedTerm(sides[0][first].start, sides[0][last].end, lemma)
            for first, last in _spans(sides[0], source)
            if (lemma := _translation(range(first, last + 1), links, sides[1], target)) is not None
        ]

    def choose(self, source: str, target: str, generator: Random) -> list[MarkedTerm]:
        """One to `MAX_TERMS` random terms of a pair that do not overlap, in order; none if it contains none."""
        found = self.find(source, target)
        generator.shuffle(found)
        chosen: list[MarkedTerm] = []
        for term in found[: generator.randint(1, MAX_TERMS)]:
            if all(term.end <= other.start or other.end <= term.start for other in chosen):
                chosen.append(term)
        return sorted(chosen)

    def _link(self, source: Sequence[_Word], target: Sequence[_Word]) -> Links:
        """The words that translate each other best, and neighbors that translate the same word, as in compounds."""
        places = defaultdict(list)
        for place, word in enumerate(target):
            places[word.lemma.lower()].append(place)
        best: tuple[dict[int, tuple[float, int]], dict[int, tuple[float, int]]] = {}, {}
        for ours, word in enumerate(source):
            for lemma, score in self._translations.get(word.lemma.lower(), {}).items():
                for theirs in places.get(lemma, ()):
                    best[0][ours] = max(best[0].get(ours, (0.0, 0)), (score, -theirs))  # the first of equal ones
                    best[1][theirs] = max(best[1].get(theirs, (0.0, 0)), (score, -ours))
        forward, backward = ({place: -other for place, (_, other) in side.items()} for side in best)
        mutual = {(ours, theirs) for ours, theirs in forward.items() if backward[theirs] == ours}
        many = {(ours, theirs) for ours, theirs in forward.items() if mutual & {(ours - 1, theirs), (ours + 1, theirs)}}
        others = {
            (ours, theirs) for theirs, ours in backward.items() if mutual & {(ours, theirs - 1), (ours, theirs + 1)}
        }
        linked = {ours for ours, _ in mutual}, {theirs for _, theirs in mutual}
        return (
            mutual
            | {link for link in many if link[0] not in linked[0]}
            | {link for link in others if link[1] not in linked[1]}
        )


def _words(text: str, lemmatize: Lemmatize) -> list[_Word]:
    return [_Word(start, end, lemmatize(text[start:end])) for start, end in dictionary_word_places(text)]


def _spans(words: Sequence[_Word], text: str) -> Iterator[tuple[int, int]]:
    """The first and the last word of every sequence of words that may be a term."""
    for first in range(len(words)):
        for last in range(first, min(first + MAX_WORDS, len(words))):
            if last > first and text[words[last - 1].end : words[last].start] not in _SEPARATORS:
                break
            yield first, last


def _translation(term: range, links: Links, words: Sequence[_Word], text: str) -> str | None:
    """The lemmas of the words that translate a term; None if they are no term, or not all of its words are linked."""
    inside = {link for link in links if link[0] in term}
    places = sorted({theirs for _, theirs in inside})
    is_complete = {ours for ours, _ in inside} == set(term) and places == list(range(places[0], places[-1] + 1))
    if not is_complete or len(places) > MAX_WORDS or any(link[1] in places for link in links - inside):
        return None
    parts = [words[places[0]].lemma]
    for before, after in pairwise(places):
        between = text[words[before].end : words[after].start]
        if between not in _SEPARATORS:
            return None
        parts += [between, words[after].lemma]
    return "".join(parts)


Integers = NDArray[np.integer[Any]]
Words = tuple[Sequence[tuple[str, str]], Sequence[Entry]]
"""A dictionary and a lexicon."""
IdPair = tuple[Any, Any]
"""The ids of a source and of its target, in arrays or lists."""

KINDS = tuple(Augmentation.model_fields)
_SINGLE_WORDS = KINDS.index("single_words")
COMPUTED = ("upper_case", "title_case", "terms")
"""Changes after which the length of a pair is computed, not estimated."""
WRONG_TERMS = 0.3
"""Share of the marked terms that get a translation from another pair, so that a model ignores terms that do not fit.

The translation remains right if the other pair contains no term.
"""

STREAM = 1  # distinguishes these random numbers from those of the order of an epoch


@dataclass(frozen=True)
class _Direction:
    """What changes the pairs of a direction."""

    terms: TermAligner
    source: SentenceChanges
    target: SentenceChanges
    tokenizers: tuple[Tokenizer, Tokenizer]
    words: list[IdPair]
    """The entries of its dictionary."""

    @classmethod
    def of(cls, languages: Languages, data: Dataset, limit: int, words: Words) -> _Direction:
        """Those of languages, given their dictionary and lexicon."""
        direction, (dictionary, lexicon) = languages if data.directions else None, words
        source, target = in_direction(data.source, direction, "source"), in_direction(data.target, direction, "target")
        sources = source.encode([each for each, _ in dictionary])
        targets = target.encode([each for _, each in dictionary])
        return cls(
            TermAligner(lexicon, languages),
            SentenceChanges(source, languages[0]),
            SentenceChanges(target, languages[1]),
            (source, target),
            [pair for pair in zip(sources, targets, strict=True) if max(map(len, pair)) <= limit],
        )


class PairAugmenter:
    """Changes pairs, each in at most one way, which depends only on the seed, the epoch and the index of the pair.

    Batches are planned before the text is changed. A pair that would become longer than planned, or than
    `data.max_tokens`, remains unchanged.

    Args:
        recipe: Shares, seed, languages and limits.
        data: The pairs, their tokenizers, the dictionary and the lexicon.
    """

    def __init__(self, recipe: Recipe, data: Dataset) -> None:
        self._pairs, self._seed, self._limit = data.train, recipe.training.seed, recipe.data.max_tokens
        self._tag = data.source.vocabulary.bos
        self._unk = data.source.vocabulary.unk, data.target.vocabulary.unk
        words = data.words if data.directions else [(data.dictionary, data.lexicon)]
        languages = data.directions or [recipe.data.languages]
        self._directions = [
            _Direction.of(each, data, self._limit, of_direction)
            for each, of_direction in zip(languages, words, strict=True)
        ]
        self._places = [data.train.of_direction(number) for number in range(len(languages))] if data.directions else []
        entries = [pair for direction in self._directions for pair in direction.words]
        self._words = PairStore(
            IdStore.of(source for source, _ in entries), IdStore.of(target for _, target in entries)
        )
        shares = recipe.training.augmentation.model_dump()
        shares["single_words"] *= len(self._words) > 0
        self._matches: FuzzyMatches | None = None
        if shares["fuzzy_matches"] and data.matches is not None:
            self._matches = FuzzyMatches(data.train, data.matches, data.source, self._limit)
        shares["fuzzy_matches"] *= self._matches is not None
        self._bounds = np.round(np.minimum(np.cumsum([0, *shares.values()]), 1) * 2**32).astype(np.int64)
        self._draws = lru_cache(maxsize=2)(self._draw)  # of this epoch, and of the next one

    def lengths(self, epoch: int) -> tuple[Integers, Integers]:
        """The planned number of tokens of each source and of each target in an epoch, eos included, (pairs,) each.

        Capital letters and terms make a pair so much longer that its length is computed, not estimated.
        """
        draws = self._draws(epoch)
        source, target = self._pairs.source.lengths, self._pairs.target.lengths
        for kind, first, end in zip(KINDS, self._bounds, self._bounds[1:], strict=False):
            chosen = np.flatnonzero((draws >= first) & (draws < end))
            if kind == "single_words" and len(chosen):
                words = self._entries(draws[chosen])
                source[chosen], target[chosen] = self._words.source.lengths[words], self._words.target.lengths[words]
            elif kind == "fuzzy_matches" and self._matches:
                source[chosen] = self._matches.lengths[chosen]
            elif kind == "typos":
                source[chosen] = self._longest_with_typos(source[chosen])
            elif kind in COMPUTED:
                for index in chosen.tolist():
                    source[index], target[index] = map(len, self._change(kind, index, epoch))
        return source + 1, target + 1

    def change(self, indices: Indices, epoch: int) -> ChangedPairs:
        """The pairs with these indices as they are in an epoch, in this order."""
        pairs = [self._pair(index) for index in indices.tolist()]
        draws = self._draws(epoch)[indices]
        kinds = np.searchsorted(self._bounds[1:], draws, side="right")
        for place in np.flatnonzero(kinds < len(KINDS)).tolist():
            kind = KINDS[kinds[place]]
            if kind == "single_words":
                entry = self._entries(draws[place])
                pairs[place] = self._words.source[entry], self._words.target[entry]
            elif kind == "fuzzy_matches" and self._matches:
                pairs[place] = self._matches.source(indices[place]), pairs[place][1]
            else:
                pairs[place] = self._change(kind, int(indices[place]), epoch)
        return ChangedPairs([source for source, _ in pairs], [target for _, target in pairs])

    def _pair(self, index: int) -> IdPair:
        return self._pairs.source[index], self._pairs.target[index]

    def _draw(self, epoch: int) -> NDArray[np.uint32]:
        """A random number for each pair, (pairs,)."""
        generator = np.random.Generator(np.random.PCG64([self._seed, epoch, STREAM]))
        return generator.integers(2**32, size=len(self._pairs), dtype=np.uint32)

    def _entries(self, draws: Any) -> Any:
        """The entries of the dictionary that replace pairs: equal shares of the random numbers."""
        first, end = self._bounds[_SINGLE_WORDS : _SINGLE_WORDS + 2]
        return (draws - first) * len(self._words) // (end - first)

    def _longest_with_typos(self, length: Any) -> Any:
        """The maximum number of tokens of a source of this length, or of several, that gets typing errors."""
        return np.minimum(length + 2 + length // 6, self._limit)

    def _change(self, kind: str, index: int, epoch: int) -> IdPair:
        """A pair, changed in one way if it does not become too long; the mark of its source is kept."""
        pair, seed = self._pair(index), f"{self._seed} {epoch} {index}"
        number = 0 if self._pairs.directions is None else int(self._pairs.directions[index])
        if pair[0][0] != self._tag:
            return self._change_text(kind, pair, seed, number)
        source, target = self._change_text(kind, (pair[0][1:], pair[1]), seed, number)
        return ([self._tag, *source], target) if len(source) < self._limit else pair

    def _change_text(self, kind: str, pair: IdPair, seed: str, number: int) -> IdPair:
        """The same for a pair without a mark, in the direction with this number."""
        longest, direction = (self._limit, self._limit), self._directions[number]
        if kind == "typos":
            changed: IdPair = direction.source.typos(pair[0], seed), pair[1]
            longest = int(self._longest_with_typos(len(pair[0]))), self._limit
        elif kind == "no_end_punctuation":
            changed = direction.source.without_end(pair[0]), direction.target.without_end(pair[1])
            longest = len(pair[0]), len(pair[1])
            if any(np.array_equal(one, other) for one, other in zip(changed, pair, strict=True)):
                return pair
        elif kind == "upper_case":
            changed = direction.source.upper_case(pair[0]), direction.target.upper_case(pair[1])
        elif kind == "terms":
            changed = self._mark_terms(pair, seed, number), pair[1]
        else:
            assert kind == "title_case"
            changed = direction.source.title_case(pair[0]), direction.target.title_case(pair[1])
        fits = all(0 < len(side) <= limit for side, limit in zip(changed, longest, strict=True))
        return changed if fits else pair

    def _mark_terms(self, pair: IdPair, seed: str, number: int) -> list[int]:
        """The source of a pair with some terms marked; unchanged if it has none, or contains unk."""
        if self._has_unknown(pair):
            return list(map(int, pair[0]))
        generator, direction = Random(seed), self._directions[number]
        texts = _texts(direction, pair)
        terms = [
            term._replace(lemma=self._other_lemma(generator, number) or term.lemma)
            if generator.random() < WRONG_TERMS
            else term
            for term in direction.terms.choose(*texts, generator)
        ]
        return direction.tokenizers[0].encode_masked([mark_terms(texts[0], terms)])[0]

    def _other_lemma(self, generator: Random, number: int) -> str | None:
        """The translation of a term of a random pair of a direction; None if that has no term."""
        if self._places:
            index = int(self._places[number][generator.randrange(len(self._places[number]))])
        else:
            index = generator.randrange(len(self._pairs))
        source, target = self._pair(index)
        pair, direction = (source[1:] if source[0] == self._tag else source, target), self._directions[number]
        if self._has_unknown(pair):
            return None
        found = direction.terms.choose(*_texts(direction, pair), generator)
        return generator.choice(found).lemma if found else None

    def _has_unknown(self, pair: IdPair) -> bool:
        return any(unk in ids for unk, ids in zip(self._unk, pair, strict=True))


def _texts(direction: _Direction, pair: IdPair) -> tuple[str, str]:
    """Both sides of a pair as text, with reserved characters in place of spans."""
    source, target = (
        tokenizer.decode_masked(ids.tolist()) for tokenizer, ids in zip(direction.tokenizers, pair, strict=True)
    )
    return source, target
