"""Error analysis: extreme translations, scores by sentence length and word frequency, and examples of attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.baseline import trivial_baseline
from dragoman.evaluation.metrics import CorpusScores, corpus_scores, sentence_chrf
from dragoman.evaluation.word_frequency import rarest_word_counts
from dragoman.text.id_store import IdStore
from dragoman.translator import Translator

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
