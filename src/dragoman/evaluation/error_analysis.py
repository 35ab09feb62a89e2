"""Error analysis: extreme translations, scores by sentence length and word frequency, and examples of attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.baseline import trivial_baseline
from dragoman.evaluation.metrics import CorpusScores, corpus_scores, sentence_chrf
from dragoman.text.id_store import IdStore
from dragoman.text.tokenizer import Tokenizer
from dragoman.translator import Translator

CHUNK = 100_000  # sentences whose words are counted at once


def rarest_word_counts(train: IdStore, tokenizer: Tokenizer, texts: Sequence[str]) -> NDArray[np.int64]:
    """The number of occurrences in training of the rarest word of each text, (texts,); 0 for an unseen word.

    Words are the tokenizer's tokens merged. They are counted by 64-bit hashes, so that only the hashes of one chunk
    of the training text are in memory.

    Args:
        train: The source side of the training data.
        tokenizer: The tokenizer of that side.
        texts: The texts whose words are looked up; an empty text has the count 0.
    """
    hasher = _WordHasher(tokenizer)
    hashes, first_words = hasher.hash_words(IdStore.of(tokenizer.encode_spans_masked(texts)))
    if not len(hashes):
        return np.zeros(len(texts), dtype=np.int64)
    known = np.unique(hashes)
    counts = _count(hasher, known, train)[np.searchsorted(known, hashes)]  # (words,)
    return np.array([part.min() if len(part) else 0 for part in np.split(counts, first_words[1:])])


def _count(hasher: _WordHasher, known: NDArray[np.uint64], train: IdStore) -> NDArray[np.int64]:
    """The number of occurrences of each known hash, (known,)."""
    counts = np.zeros(len(known) + 1, dtype=np.int64)  # the last entry counts all other words
    for chunk in _chunks(train):
        hashes, _ = hasher.hash_words(chunk)
        places = np.searchsorted(known, hashes).clip(max=len(known) - 1)
        counts += np.bincount(np.where(known[places] == hashes, places, len(known)), minlength=len(counts))
    return counts[:-1]


def _chunks(store: IdStore) -> Iterator[IdStore]:
    for begin in range(0, len(store), CHUNK):
        offsets = store.offsets[begin : begin + CHUNK + 1]
        yield IdStore(store.ids[offsets[0] : offsets[-1]], offsets - offsets[0])


class _WordHasher:
    """Hashes words: the sum of a random number per token, times an odd number for its place in the word."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokens = tokenizer.vocabulary.tokens
        self.starts_word = np.array([tokenizer.starts_word(token) for token in tokens])
        self.numbers = np.random.default_rng(1).integers(1, 2**63, len(tokens), dtype=np.uint64)

    def hash_words(self, store: IdStore) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """A hash of each word, in order, and the index of the first word of each sentence."""
        begins = self.starts_word[store.ids]
        begins[store.offsets[:-1][store.lengths > 0]] = True
        word_begins = np.flatnonzero(begins)
        first_words = np.searchsorted(word_begins, store.offsets[:-1])
        if not len(word_begins):
            return np.empty(0, np.uint64), first_words
        places = np.arange(len(begins)) - word_begins[np.cumsum(begins) - 1]  # of each token in its word
        values = self.numbers[store.ids] * (2 * places + 1).astype(np.uint64)  # wraps around
        return np.add.reduceat(values, word_begins), first_words


EXTREMES = 5  # best and worst translations
ATTENTION_EXAMPLES = 3  # first sentences whose attention is included
MAX_ATTENTION_WORDS = 40  # of either side of such an example
LENGTH_BOUNDS = (1, 6, 11, 16, 21, 31, 51)  # minimum number of source words of each group
COUNT_BOUNDS = (0, 1, 5, 20, 100, 1000)  # minimum occurrences in training of the rarest source word of each group


def analyze_errors(
    translator: Translator,
    train: IdStore,
    sources: Sequence[str],
    references: Sequence[str],
    translations: Sequence[str],
) -> dict[str, Any]:
    """Analyze translations beyond their corpus scores.

    Args:
        translator: The translator of these translations.
        train: The source side of its training data.
        sources: The translated texts.
        references: The reference translation of each.
        translations: The translation of each.

    Returns:
        Plain data for JSON, with the keys baseline, best, worst, by_length, by_rarest_word and attention.
    """

    def score(members: NDArray[np.int64]) -> CorpusScores:
        return corpus_scores([translations[index] for index in members], [references[index] for index in members])

    best, worst = _extremes(sources, references, translations)
    lengths = np.array([len(source.split()) for source in sources])
    counts = rarest_word_counts(train, translator.bundle.source, sources)
    return {
        "baseline": asdict(trivial_baseline(sources, references)),
        "best": best,
        "worst": worst,
        "by_length": _scores_by_group(lengths, LENGTH_BOUNDS, score),
        "by_rarest_word": _scores_by_group(counts, COUNT_BOUNDS, score),
        "attention": list(_attention_examples(translator, sources)),
    }


def _extremes(
    sources: Sequence[str], references: Sequence[str], translations: Sequence[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The best and the worst translations by sentence-level chrF, both starting with the most extreme one."""
    scores = sentence_chrf(translations, references)
    order = np.argsort(scores, kind="stable").tolist()
    rows = [
        {"source": source, "reference": reference, "translation": translation, "chrf": round(score, 1)}
        for source, reference, translation, score in zip(sources, references, translations, scores, strict=True)
    ]
    return [rows[index] for index in reversed(order[-EXTREMES:])], [rows[index] for index in order[:EXTREMES]]


def _scores_by_group(
    values: NDArray[np.int64], bounds: Sequence[int], score: Callable[[NDArray[np.int64]], CorpusScores]
) -> list[dict[str, Any]]:
    """Scores of the sentences in each group; `bounds` are the minimum values of the groups. Omits empty groups."""
    groups = []
    for low, high in zip(bounds, [*bounds[1:], None], strict=True):
        members = np.flatnonzero((values >= low) & (True if high is None else values < high))
        if len(members):
            scores = score(members)
            name = group_name(low, high)
            groups.append({"name": name, "sentences": len(members), "bleu": scores["bleu"], "chrf": scores["chrf"]})
    return groups


def group_name(low: int, high: int | None) -> str:
    """The name of the group of values from `low` up to but not including `high`; None: without upper limit."""
    if high is None:
        return f"{low:,} or more"
    return f"{low:,}" if high == low + 1 else f"{low:,} to {high - 1:,}"


def _attention_examples(translator: Translator, sources: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Cross-attention between the words of the first sentences: the mean over the heads of the last layer, in %."""
    for source in sources[:ATTENTION_EXAMPLES]:
        if not translator.bundle.source.encode([source])[0]:  # nothing to translate
            continue
        attention = translator.attention(source).by_word()
        source_words, target_words = attention.source.tokens, attention.target_output.tokens
        if max(len(source_words), len(target_words)) <= MAX_ATTENTION_WORDS:
            weights = np.rint(100 * attention.mean("cross")[-1]).astype(int).tolist()
            yield {"source": source_words, "translation": target_words, "weights": weights}
