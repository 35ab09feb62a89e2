"""The data of the sections that answer "why?": influence by removal, the logit lens, and what a change does."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.bundle import Bundle
from dragoman.explanation.explain import Explanation
from dragoman.explanation.influence import Values
from dragoman.explanation.tokens import TokenSequence, label_spans, sequence_labels, token_label


def influence_data(explanation: Explanation) -> dict[str, Any]:
    """Between the words of the translation (rows) and those of the source (columns): removal, and attention.

    "probabilities" are those of the target words, "decreases" the change of their log-probability in nats, and
    "attention" the mean of all layers and heads.
    """
    influence, attention = explanation.influence, explanation.attention
    starts = attention.source.starts
    columns = [starts.index(word.start) for word in influence.words]
    mean = attention.merge("cross", attention.mean("cross").mean(axis=0))  # (target words, source words)
    by_word = np.add.reduceat(influence.log_probabilities, influence.target.starts)
    return {
        "words": [word.text for word in influence.words],
        "targets": [word.text for word in influence.target.words],
        "probabilities": _rounded(np.exp(by_word)),
        "decreases": _rounded(influence.by_word()),
        "totals": _rounded(influence.total),
        "attention": _rounded(mean[:, columns]),
    }


def lens_data(bundle: Bundle, text: str, explanation: Explanation) -> dict[str, Any]:
    """For each decoder layer and each token of the translation: the likeliest tokens, and its own probability."""
    (mask,) = bundle.source.mask([text])
    tokenizer, lens = label_spans(bundle, mask).target, explanation.logit_lens
    return {
        "targets": sequence_labels(lens.target),
        "layers": [
            [[(token_label(tokenizer, token), round(value, 4)) for token, value in best] for best in layer]
            for layer in lens.predictions
        ],
        "probabilities": _rounded(lens.probabilities),
    }


def change_data(before: Values, after: Values, target: TokenSequence, text: str) -> dict[str, Any]:
    """What a change does to an earlier translation: the probability of each of its tokens before and after.

    Args:
        before: The log-probabilities of its tokens before the change, (target,).
        after: The same after it.
        target: Its tokens, eos included.
        text: Its text.
    """
    return {
        "translation": text,
        "tokens": sequence_labels(target),
        "before": _rounded(np.exp(before)),
        "after": _rounded(np.exp(after)),
        "totals": [round(float(each.sum()), 3) for each in (before, after)],
    }


def _rounded(values: Values) -> list[Any]:
    rounded: list[Any] = np.asarray(values, dtype=np.float64).round(4).tolist()
    return rounded
