"""A dictionary of single words that is learned from sentence pairs.

See `dragoman.lexicon.word_probabilities` for how probable it is that two words translate each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import regex
from numpy.typing import NDArray

from dragoman.corpus.pair import Pair
from dragoman.languages.scripts import has_no_spaces
from dragoman.lexicon.word_probabilities import Floats, Integers, Side, Words, learn_word_pairs, select_sentences

MIN_COUNT = 3
"""How often two words must occur in the same sentence pair."""

MIN_PROBABILITY = 0.4
"""How probable a translation must be in both directions."""

MAX_SECOND = 0.5
"""How probable another translation may be, as a share of the most probable one: "Ringträger" is "ring bearer"."""

MIN_LIFT = 20
"""How much more probable than by chance that other translation must be: "Hund" also makes "a" probable, by chance."""

_WORD = regex.compile(r"[\p{L}\p{M}]+(?:['’-][\p{L}\p{M}]+)*")


def learn_dictionary(pairs: Iterable[Pair]) -> list[tuple[str, str]]:
    """Words and their translations: only those that are each other's most probable translation, without punctuation.

    A word is spelled as it is most often inside of sentences. There is no dictionary if one of the languages has no
    spaces between words.
    """
    sources, targets = dictionary_sentences(pairs)
    source_spelling, target_spelling = _spelling(sources), _spelling(targets)
    return sorted(
        (source_spelling[source], target_spelling[target])
        for source, target in _find_mutual(_lower_case(sources), _lower_case(targets))
        if source in source_spelling and target in target_spelling
    )


def dictionary_sentences(pairs: Iterable[Pair]) -> tuple[list[Words], list[Words]]:
    """The words of both sides of the pairs to learn from; none if one of the languages has no spaces between words."""
    kept = select_sentences([(dictionary_words(pair.source), dictionary_words(pair.target)) for pair in pairs])
    sources, targets = [source for source, _ in kept], [target for _, target in kept]
    if any(has_no_spaces(map("".join, side)) for side in (sources, targets)):
        return [], []
    return sources, targets


def dictionary_words(text: str) -> list[str]:
    """The words of a text, without numbers and punctuation."""
    return _WORD.findall(text)


def dictionary_word_places(text: str) -> list[tuple[int, int]]:
    """The start and the end of each of these words."""
    return [match.span() for match in _WORD.finditer(text)]


def _lower_case(sentences: Sequence[Words]) -> Side:
    return Side([[word.lower() for word in words] for words in sentences], MIN_COUNT)


def _spelling(sentences: Sequence[Words]) -> dict[str, str]:
    """The most frequent spelling inside of sentences of each word in lower case."""
    inside = Counter(word for words in sentences for word in words[1:])
    ranked = sorted(inside.items(), key=lambda item: (item[1], item[0]))  # the most frequent one comes last
    return {word.lower(): word for word, _ in ranked}


def _find_mutual(source: Side, target: Side) -> list[tuple[str, str]]:
    """The pairs of words that are each other's most probable translation, and are probable enough."""
    found = learn_word_pairs(source, target)
    if not len(found.source):
        return []
    probable = (np.minimum(found.forward, found.backward) >= MIN_PROBABILITY) & (found.together >= MIN_COUNT)
    clear = _is_clear(found.forward, found.source, target.shares[found.target]) & _is_clear(
        found.backward, found.target, source.shares[found.source]
    )
    chosen = np.flatnonzero(probable & clear)
    return [(source.words[found.source[entry]], target.words[found.target[entry]]) for entry in chosen]


def _is_clear(probabilities: Floats, given: Integers, shares: Floats) -> NDArray[np.bool_]:
    """Whether each translation is the most probable one of its word, and no other one is likely.

    Args:
        probabilities: Of the translations, (entries,).
        given: The word that is translated, (entries,).
        shares: The share of the translation in the whole text, (entries,).
    """
    largest = np.zeros(int(given.max()) + 1)
    np.maximum.at(largest, given, probabilities)
    best = probabilities == largest[given]
    likely = best | ((probabilities > MAX_SECOND * largest[given]) & (probabilities > MIN_LIFT * shares))
    is_clear: NDArray[np.bool_] = best & (np.bincount(given, likely)[given] == 1)
    return is_clear
