"""The probability of given translations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dragoman.bundle import require_direction
from dragoman.search.hypothesis import finished_hypothesis
from dragoman.system.resumable import grouped
from dragoman.text.translation import Translation
from dragoman.translator import WINDOW, TextSearch, Translator


def score(translator: Translator, pairs: Iterable[tuple[str, str]]) -> Iterator[Translation]:
    """Each target as a translation of its source, with the probability that the model gives each of its tokens.

    Unknown words have the probability of unk. A side that is longer than the model's limit is cut, and marked as
    truncated. The scores are divided by the length penalty of the translator's settings. Spans that the bundle
    masks in a source, such as placeholders and numbers, are masked in its target too, as in a translation.

    Args:
        translator: The model, its engine and settings.
        pairs: Sources and their targets, any number; a few thousand are read at a time.

    Raises:
        UserError: The translator has several directions, and none is stated, or the model computes probabilities that
            are not finite.
    """
    require_direction(translator.bundle)
    search = TextSearch(translator.bundle, translator.engine, translator.decoding)
    limit, given = translator.source_limit, len(translator.bundle.target.language_ids)
    for window in grouped(pairs, WINDOW):
        sources = search.encode([source for source, _ in window])
        targets = search.encode_targets(sources, [target for _, target in window])
        scores = translator.engine.score([source.ids for source in sources], [ids[:limit] for ids in targets])
        for (_, text), source, target, scored_target in zip(window, sources, targets, scores, strict=True):
            values = [0.0] * given + scored_target.log_probabilities[given:]  # as in a search
            hypothesis = finished_hypothesis(target[:limit], values, translator.decoding.length_penalty)
            scored = search.translation(source, search.require_probabilities([hypothesis]))
            yield replace(scored, text=text, truncated=source.truncated or len(target) > limit)
