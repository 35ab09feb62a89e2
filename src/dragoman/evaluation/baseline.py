"""Translators that need no model, for comparison: the same sentence for every source, and the nearest training pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.dataset.prepare import Dataset
from dragoman.evaluation.metrics import corpus_scores
from dragoman.text.id_store import IdStore


@dataclass(frozen=True)
class Baseline:
    """How trivial translations are made, and their BLEU and chrF."""

    name: str
    bleu: float
    chrf: float


def trivial_baseline(sources: Sequence[str], references: Sequence[str]) -> Baseline:
    """The better one, by BLEU, of two trivial translators: copies of the sources, and one sentence for all of them.

    Copies are left out if most references are copies, as in the copy task.

    Args:
        sources: Texts to translate, at least one.
        references: The reference translation of each.
    """
    typical = _typical(references)
    others = list(references)
    others.remove(typical)  # which is no translation of itself
    scores = {}
    if others:
        scores["the same sentence for every source"] = corpus_scores([typical] * len(others), others)
    copies = sum(source == reference for source, reference in zip(sources, references, strict=True))
    if not others or copies <= len(references) / 2:
        scores["copying the source"] = corpus_scores(list(sources), references)
    best = max(scores, key=lambda name: scores[name]["bleu"])
    return Baseline(best, scores[best]["bleu"], scores[best]["chrf"])


def _typical(texts: Sequence[str]) -> str:
    """The text, of at least average length, whose words occur in the most texts."""
    words = [text.split() for text in texts]
    frequency = Counter(word for each in words for word in set(each))
    average = sum(map(len, words)) / len(words)
    mean = [sum(frequency[word] for word in each) / max(1, len(each)) for each in words]
    return max((value, text) for value, text, each in zip(mean, texts, words, strict=True) if len(each) >= average)[1]


MAX_SENTENCES = 200_000
"""Training sentences that are searched; more would take much time and memory."""


def nearest_match_baseline(data: Dataset, sources: Sequence[str], references: Sequence[str]) -> Baseline:
    """BLEU and chrF of the translations that a translation memory of the training text would return.

    A translator that is not better has learned nothing that searching its training text would not give.

    Args:
        data: The training data.
        sources: Texts to translate, at least one.
        references: The reference translation of each.
    """
    nearest = nearest_sentences(data.train.source, data.source.encode_spans_masked(sources)).tolist()
    translations = [data.target.decode(data.train.target[index].tolist()) for index in nearest]
    scores = corpus_scores(translations, references)
    return Baseline("the translation of the most similar training sentence", scores["bleu"], scores["chrf"])


def nearest_sentences(train: IdStore, texts: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """The index of the most similar training sentence for each text, the first one of several, (texts,).

    Similarity is the cosine between vectors with the inverse document frequency of each distinct token
    (Spärck Jones 1972).

    Args:
        train: The source side of the training data, at least one sentence; of a larger one, `MAX_SENTENCES` are
            searched, spread evenly over it.
        texts: Ids of each text.
    """
    count = min(len(train), MAX_SENTENCES)
    searched = np.linspace(0, len(train) - 1, count).astype(np.int64)
    store = train if count == len(train) else IdStore.of([train[index].tolist() for index in searched])
    rows = np.repeat(np.arange(count), store.lengths)  # of each token
    size = int(store.ids.max(initial=0)) + 1
    keys = np.unique(store.ids.astype(np.int64) * count + rows)  # (distinct tokens,), by id
    ids, rows = np.divmod(keys, count)
    frequencies = np.bincount(ids, minlength=size)
    weights = np.log((1 + count) / (1 + frequencies)) ** 2  # (vocabulary,)
    norms = np.sqrt(np.bincount(rows, weights[ids], minlength=count)).clip(min=1e-9)
    starts = np.concatenate([[0], np.cumsum(frequencies)])
    found = np.zeros(len(texts), np.int64)
    for number, text in enumerate(texts):
        similarities = np.zeros(count)
        for token in {token for token in text if token < size}:
            similarities[rows[starts[token] : starts[token + 1]]] += weights[token]
        found[number] = np.argmax(similarities / norms)
    return searched[found]
