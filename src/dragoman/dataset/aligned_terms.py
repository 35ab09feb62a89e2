"""The terms of a sentence pair: words of the source, and the lemmas of the words that translate them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import NamedTuple

from dragoman.corpus.pair import Languages
from dragoman.lexicon.dictionary import dictionary_word_places
from dragoman.lexicon.lemma_pairs import Entry
from dragoman.text.lemmas import Lemmatize, lemmatizer
from dragoman.text.term_marks import MarkedTerm

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
