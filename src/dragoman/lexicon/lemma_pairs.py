"""A lexicon: which lemmas of two languages translate each other, learned from sentence pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dragoman.corpus.pair import Languages, Pair
from dragoman.lexicon.dictionary import dictionary_sentences
from dragoman.lexicon.word_probabilities import Side, Words, learn_word_pairs
from dragoman.text.lemmas import Lemmatize, lemmatizer

MIN_COUNT = 2
"""How often a lemma must occur."""

MIN_PROBABILITY = 0.1
"""How probable a translation must be in both directions. The other words of a sentence decide between several ones."""

FREQUENT = 0.005
"""Two lemmas that both are a larger share of all words are probably function words."""

Entry = tuple[str, str, float]
"""A source lemma, a target lemma, both in lower case, and how probable it is that they translate each other."""


def learn_lexicon(pairs: Iterable[Pair], languages: Languages) -> list[Entry]:
    """Learn which lemmas translate each other; a lemma may have several translations.

    The lexicon is empty if one of the languages has no spaces between words.
    """
    sides = zip(dictionary_sentences(pairs), map(lemmatizer, languages), strict=True)
    source, target = (_side(*each) for each in sides)
    found = learn_word_pairs(source, target)
    is_probable = np.minimum(found.forward, found.backward) >= MIN_PROBABILITY
    is_rare = np.minimum(source.shares[found.source], target.shares[found.target]) <= FREQUENT
    scores = found.forward * found.backward
    return sorted(
        (source.words[found.source[entry]], target.words[found.target[entry]], round(float(scores[entry]), 4))
        for entry in np.flatnonzero(is_probable & is_rare)
    )


def _side(sentences: Sequence[Words], lemmatize: Lemmatize) -> Side:
    return Side([[lemmatize(word).lower() for word in words] for words in sentences], MIN_COUNT)
