"""Where a translator is good and where it is not: by sentence, by length, by rarity of words; and where it looked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.dataset.token_store import IdStore
from dragoman.errors import UserError
from dragoman.evaluation.evaluate import corpus_scores
from dragoman.text.tokenizer import Tokenizer
from dragoman.translator import Translator

EXTREMES = 5  # best and worst translations shown
LOOKED_AT = 3  # translations whose attention is shown
WIDEST = 40  # words of those at most
LENGTHS = (1, 6, 11, 16, 21, 31, 51)  # least source words of each group
COUNTS = (0, 1, 5, 20, 100, 1000)  # least occurrences in training of the rarest source word of each group
CHUNK = 100_000  # sentences whose words are counted at once


def break_down(
    translator: Translator,
    train: IdStore,
    sources: Sequence[str],
    references: Sequence[str],
    translations: Sequence[str],
) -> dict[str, Any]:
    """What a report tells of a translator beside its scores, as plain data.

    Args:
        translator: Whose translations these are.
        train: The source side that it was trained on.
        sources: What was translated.
        references: The right translations.
        translations: Those of the translator.
    """
    scores = sentence_scores(translations, references)
    order = np.argsort(scores, kind="stable").tolist()
    described = [
        {"source": source, "reference": reference, "translation": translation, "chrf": round(score, 1)}
        for source, reference, translation, score in zip(sources, references, translations, scores, strict=True)
    ]
    lengths = np.array([len(source.split()) for source in sources])
    rarest = rarest_words(train, translator.bundle.source, sources)

    def score(members: NDArray[np.int64]) -> dict[str, Any]:
        return corpus_scores([translations[index] for index in members], [references[index] for index in members])

    return {
        "best": [described[index] for index in reversed(order[-EXTREMES:])],
        "worst": [described[index] for index in order[:EXTREMES]],
        "by_length": _group(lengths, LENGTHS, score),
        "by_rarest_word": _group(rarest, COUNTS, score),
        "attention": list(_looks(translator, sources)),
    }


def sentence_scores(translations: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF of each translation alone (Popović 2015), 0 to 100."""
    from sacrebleu.metrics.chrf import CHRF

    chrf = CHRF()
    pairs = zip(translations, references, strict=True)
    return [chrf.sentence_score(translation, [reference]).score for translation, reference in pairs]


def rarest_words(train: IdStore, tokenizer: Tokenizer, texts: Sequence[str]) -> NDArray[np.int64]:
    """How often the rarest word of each text occurs in training, (texts,): 0 if it never does.

    Words are those that the tokenizer's tokens merge to. They are counted by 64-bit hashes, which takes
    no more memory than a part of the training text.
    """
    vocabulary = tokenizer.vocabulary
    starts = np.array([tokenizer.starts_word(token) for token in vocabulary.tokens])
    numbers = np.random.default_rng(1).integers(1, 2**63, len(starts), dtype=np.uint64)
    here, firsts = _words(IdStore.of(tokenizer.encode(texts)), starts, numbers)
    if not len(here):
        return np.zeros(len(texts), dtype=np.int64)
    known = np.unique(here)
    counts = np.zeros(len(known) + 1, dtype=np.int64)
    for begin in range(0, len(train), CHUNK):
        offsets = train.offsets[begin : begin + CHUNK + 1]
        part = IdStore(train.ids[offsets[0] : offsets[-1]], offsets - offsets[0])
        words, _ = _words(part, starts, numbers)
        places = np.searchsorted(known, words).clip(max=len(known) - 1)
        counts += np.bincount(np.where(known[places] == words, places, len(known)), minlength=len(known) + 1)
    of_each = counts[np.searchsorted(known, here)]
    return np.array([part.min() if len(part) else 0 for part in np.split(of_each, firsts[1:])])


def _words(
    store: IdStore, starts: NDArray[np.bool_], numbers: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """A hash of each word, in order, and which is the first word of each sentence."""
    begins = starts[store.ids]
    begins[store.offsets[:-1][store.lengths > 0]] = True
    word_begins = np.flatnonzero(begins)
    firsts = np.searchsorted(word_begins, store.offsets[:-1])
    if not len(word_begins):
        return np.empty(0, np.uint64), firsts
    place = np.arange(len(begins)) - word_begins[np.cumsum(begins) - 1]  # of a token in its word
    values = numbers[store.ids] * (2 * place + 1).astype(np.uint64)  # wraps around
    return np.add.reduceat(values, word_begins), firsts


def _group(
    values: NDArray[np.int64], least: Sequence[int], score: Callable[[NDArray[np.int64]], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Scores of the groups of sentences whose values lie between these bounds; empty ones are left out."""
    groups = []
    for low, high in zip(least, [*least[1:], None], strict=True):
        members = np.flatnonzero((values >= low) & (True if high is None else values < high))
        if len(members):
            scores = score(members)
            kept = {"bleu": scores["bleu"], "chrf": scores["chrf"]}
            groups.append({"name": _name(low, high), "sentences": len(members), **kept})
    return groups


def _name(low: int, high: int | None) -> str:
    if high is None:
        return f"{low:,} or more"
    return f"{low:,}" if high == low + 1 else f"{low:,} to {high - 1:,}"


def _looks(translator: Translator, sources: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Cross-attention between the words of the first sentences: the mean over the heads of the last layer, in %."""
    for source in sources[:LOOKED_AT]:
        try:
            attention = translator.attention(source).by_word()
        except UserError:  # there is nothing in it to translate
            continue
        if max(len(attention.source.tokens), len(attention.predicted.tokens)) <= WIDEST:
            weights = np.rint(100 * attention.mean("cross")[-1]).astype(int).tolist()
            yield {"source": attention.source.tokens, "translation": attention.predicted.tokens, "weights": weights}
