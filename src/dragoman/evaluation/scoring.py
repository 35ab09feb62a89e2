"""The probability of given translations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from dragoman.search.hypothesis import finished_hypothesis
from dragoman.text.translation import Translation
from dragoman.translator import WINDOW, Translator


def score(translator: Translator, pairs: Iterable[tuple[str, str]]) -> Iterator[Translation]:
    """Each target as a translation of its source, with the probability that the model gives each of its tokens.

    Unknown words have the probability of unk. A side that is longer than the model's limit is cut, and marked as
    truncated. The scores are divided by the length penalty of the translator's settings.

    Args:
        translator: The model, its engine and settings.
        pairs: Sources and their targets, any number; a few thousand are read at a time.
    """
    bundle, limit, pairs = translator.bundle, translator.source_limit, iter(pairs)
    while window := list(islice(pairs, WINDOW)):
        sources = bundle.source.encode([source for source, _ in window])
        targets = bundle.target.encode([target for _, target in window])
        scores = translator.engine.score([ids[:limit] for ids in sources], [ids[:limit] for ids in targets])
        for (_, text), source, target, values in zip(window, sources, targets, scores, strict=True):
            hypothesis = finished_hypothesis(target[:limit], values, translator.decoding.length_penalty)
            yield Translation(
                text=text,
                tokens=[bundle.target.vocabulary.tokens[token] for token in hypothesis.tokens],
                log_probabilities=values,
                score=hypothesis.score,
                truncated=max(len(source), len(target)) > limit,
            )
