"""The score of translations that need no model, below which a translator is useless."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.evaluation.metrics import corpus_scores


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
    if not others or sum(map(str.__eq__, sources, references)) <= len(references) / 2:
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
