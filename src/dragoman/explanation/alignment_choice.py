"""Choosing the attention that shows best which words translate each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from dragoman.bundle import Bundle
from dragoman.corpus.pair import Pair
from dragoman.explanation.alignment import AttentionRows, attention_between_words, read_words
from dragoman.explanation.word_tokens import WordTokens

MAX_PAIRS = 300
"""Pairs whose attention is measured."""


def choose_rows(bundle: Bundle, pairs: Sequence[Pair], dictionary: Collection[tuple[str, str]]) -> AttentionRows | None:
    """The layer and the rows whose attention agrees best with words that are known to translate each other.

    Known are the words of the dictionary, and words that are equal in both languages, such as names and numbers, if
    they occur once on each side of a pair. Of equally good layers, the last one is chosen.

    Args:
        bundle: The model and its tokenizers.
        pairs: Sentence pairs that were not trained on.
        dictionary: Words and their translations.

    Returns:
        The best attention; None if no pair contains known words.
    """
    chosen = pairs[:MAX_PAIRS]
    words = read_words(bundle, [pair.source for pair in chosen], [pair.target for pair in chosen])
    lower = {(source.lower(), target.lower()) for source, target in dictionary}
    hits = [
        weights[:, :, target].argmax(axis=-1) == source
        for each, weights in zip(words, attention_between_words(bundle, words), strict=True)
        for source, target in known_links(*each, lower)
    ]
    if not hits:
        return None
    scores = np.sum(hits, axis=0)  # (layers, 2)
    layer, shifted = max(np.ndindex(scores.shape), key=lambda index: (scores[index], index[0], -index[1]))
    return AttentionRows(layer, bool(shifted))


def known_links(
    source: WordTokens, target: WordTokens, dictionary: Collection[tuple[str, str]]
) -> Iterator[tuple[int, int]]:
    """The indices of words that are equal, or in a dictionary in lower case, and occur once on each side."""
    ours, theirs = ([word.lower() for word in side.spellings] for side in (source, target))
    our_counts, their_counts = Counter(ours), Counter(theirs)
    for index, word in enumerate(ours):
        for other_index, other in enumerate(theirs):
            known = (word == other and word[0].isalnum()) or (word, other) in dictionary
            if known and our_counts[word] == their_counts[other] == 1:
                yield index, other_index
