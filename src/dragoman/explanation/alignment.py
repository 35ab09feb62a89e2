"""Which words of a translation translate which words of the source, from cross-attention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import AttentionRows, Bundle
from dragoman.corpus.pair import Pair
from dragoman.engines.choose import Engine
from dragoman.explanation.tokens import WordTokens, word_tokens
from dragoman.text.link import Link
from dragoman.text.masking import KINDS, Mask

OTHER_KIND = 1e-3
"""Factor for the attention of a word to punctuation and of punctuation to a word."""

SURE = 0.8
"""The share of its attention from which a target word is linked to a source word that another one matches better.

With 0, 12 % of the tags around one word of Multi30k also include an article or another word; with 0.8, 2 %.
"""

EPSILON = 1e-9

Weights = NDArray[np.float32]


def align(bundle: Bundle, engine: Engine, sources: Sequence[str], targets: Sequence[str]) -> list[tuple[Link, ...]]:
    """The words of each source that the words of its translation translate, by one pass of the model.

    The translations may come from anywhere. Every source word has a link; words of a translation that translate no
    word may have none. There are no links if the source or the translation is too long for one pass of the model.

    Args:
        bundle: The tokenizers, and which attention aligns words.
        engine: The engine of the bundle.
        sources: The texts.
        targets: The translation of each.

    Raises:
        UserError: The bundle is damaged.
    """
    shifted = bundle.attention_rows().shifted
    pairs = read_words(bundle, sources, targets)
    usable = [index for index, (source, target) in enumerate(pairs) if source.is_usable and target.is_usable]
    links: list[tuple[Link, ...]] = [()] * len(pairs)
    attention = engine.attention([pairs[index][0].ids for index in usable], [pairs[index][1].ids for index in usable])
    for index, rows in zip(usable, attention, strict=True):
        weights = between_words(*pairs[index], rows[1:] if shifted else rows[:-1])
        links[index] = tuple(_find_links(*pairs[index], weights))
    return links


def read_words(bundle: Bundle, sources: Sequence[str], targets: Sequence[str]) -> list[tuple[WordTokens, WordTokens]]:
    """The words and tokens of texts and of their translations; both have the same reserved token for the same span."""
    limit = bundle.recipe.model.max_length - 1
    masks = bundle.source.mask(sources)
    return [
        (word_tokens(bundle.source, mask, limit), word_tokens(bundle.target, _mask_like(mask, target), limit))
        for mask, target in zip(masks, targets, strict=True)
    ]


def _mask_like(mask: Mask, target: str) -> Mask:
    return Mask(mask.apply(target) if mask.spans else target, mask.spans)


def between_words(source: WordTokens, target: WordTokens, tokens: Weights) -> Weights:
    """Attention between words, (…, target words, source words), given that between tokens, (…, target, source).

    The attention from a word is the mean over its tokens, and that to a word the sum.
    """
    sizes = np.maximum(target.shares.sum(axis=1), EPSILON)[:, None]
    return np.asarray((target.shares / sizes) @ (tokens @ source.shares.T), dtype=np.float32)


def score_words(source: WordTokens, target: WordTokens, weights: Weights) -> Weights:
    """How well the words of a target match those of its source, (target words, source words).

    Attention is divided by the attention that a source word gets from all target words, so that no word attracts all
    of them. Words that were copied match each other, and punctuation matches punctuation.

    Args:
        source: The source.
        target: The target.
        weights: The attention between them, (target words, source words).
    """
    rows = weights / np.maximum(weights.sum(axis=1, keepdims=True), EPSILON)
    rows = rows * np.where(_kinds(target)[:, None] == _kinds(source)[None], 1.0, OTHER_KIND)
    rows = rows + (np.array(target.spellings)[:, None] == np.array(source.spellings)[None])
    return np.asarray(rows * rows / np.maximum(rows.sum(axis=0, keepdims=True), EPSILON))


def _kinds(text: WordTokens) -> NDArray[np.int64]:
    """The kind of each word: a masked span, a word, or punctuation."""
    return np.array([2 if word in KINDS else int(word[0].isalnum()) for word in text.spellings], dtype=np.int64)


def _find_links(source: WordTokens, target: WordTokens, weights: Weights) -> Iterator[Link]:
    """Links between words that match each other best, and those that are sure, see `SURE`.

    A source word without such a link is linked to the target word that matches it best. A target word may have none:
    articles that the source lacks attend to other words.
    """
    scores = score_words(source, target, weights)
    best, places = scores.argmax(axis=1), np.arange(len(target.words))
    attention = weights[places, best] / np.maximum(weights.sum(axis=1), EPSILON)
    chosen = (scores.argmax(axis=0)[best] == places) | (attention >= SURE)
    pairs = list(zip(places[chosen].tolist(), best[chosen].tolist(), strict=True))
    missing = sorted(set(range(len(source.words))) - set(best[chosen].tolist()))
    pairs += [(int(scores[:, word].argmax()), word) for word in missing]
    for target_word, source_word in sorted(pairs):
        yield Link(*source.words[source_word], *target.words[target_word])


MAX_PAIRS = 300
"""Pairs whose attention is measured."""


def choose_rows(
    bundle: Bundle, pairs: Sequence[Pair], dictionary: Collection[tuple[str, str]], layer: int | None = None
) -> AttentionRows | None:
    """The layer and the rows whose attention agrees best with words that are known to translate each other.

    Known are the words of the dictionary, and words that are equal in both languages, such as names and numbers, if
    they occur once on each side of a pair. Of equally good layers, the last one is chosen.

    Args:
        bundle: The model and its tokenizers.
        pairs: Sentence pairs that were not trained on.
        dictionary: Words and their translations.
        layer: The only layer to choose from, that of other directions of the same model.

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
    possible = [index for index in np.ndindex(scores.shape) if layer in (None, index[0])]
    best, shifted = max(possible, key=lambda index: (scores[index], index[0], -index[1]))
    return AttentionRows(best, bool(shifted))


def attention_between_words(bundle: Bundle, pairs: Sequence[tuple[WordTokens, WordTokens]]) -> list[Weights]:
    """The attention of the words of each target to those of its source, (layers, 2, target words, source words).

    Of each layer, first the rows that predict the words, then the rows that read them.
    """
    from dragoman.engines.scoring import cross_attention  # with torch, which `align` does not need

    sources, targets = [source.ids for source, _ in pairs], [target.ids for _, target in pairs]
    found = []
    for (source, target), tokens in zip(pairs, cross_attention(bundle.model, bundle, sources, targets), strict=True):
        rows = np.stack([tokens[:, :-1], tokens[:, 1:]], axis=1)  # (layers, 2, target, source)
        found.append(between_words(source, target, rows))
    return found


def known_links(
    source: WordTokens, target: WordTokens, dictionary: Collection[tuple[str, str]]
) -> Iterator[tuple[int, int]]:
    """The indices of words that are equal, or in a dictionary in lower case, and occur once on each side."""
    theirs = _single_words(target)
    for word, index in _single_words(source).items():
        for other, other_index in theirs.items():
            is_same = word == other and word[0].isalnum()
            if is_same or (word, other) in dictionary:
                yield index, other_index


def _single_words(text: WordTokens) -> dict[str, int]:
    """The words that occur once, in lower case, with their indices."""
    words = [word.lower() for word in text.spellings]
    counts = Counter(words)
    return {word: index for index, word in enumerate(words) if counts[word] == 1}
