"""The data that the scripts of the page display."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from dragoman.bundle import Bundle
from dragoman.explanation.attention_map import AttentionMap, Weights
from dragoman.explanation.explain import Explanation
from dragoman.explanation.tokens import label_spans, sequence_labels, token_label
from dragoman.model.capture import KINDS, AttentionKind
from dragoman.search.description import describe_decoding
from dragoman.search.hypothesis import Candidate
from dragoman.settings import Decoding
from dragoman.text.tokenizer import Tokenizer


def page_data(
    bundle: Bundle, decoding: Decoding, text: str, explanation: Explanation, name: str = ""
) -> dict[str, Any]:
    """Plain data for JSON: texts, attention, output tokens with alternatives, and the steps of the beam search.

    Args:
        bundle: The model that translated, with its recipe and tokenizers.
        decoding: The settings of the search.
        text: The source text.
        explanation: The explanation of its translation.
        name: The name of the model, if the page shows two; otherwise that of its recipe.
    """
    recipe = bundle.recipe
    (mask,) = bundle.source.mask([text])
    labelled = label_spans(bundle, mask)
    return {
        "name": name or recipe.name,
        "languages": [recipe.data.source_language, recipe.data.target_language],
        "search": describe_decoding(decoding),
        "text": text,
        "translation": explanation.translation.text,
        "truncated": explanation.translation.truncated,
        "heads": recipe.model.heads,
        "bos": explanation.attention.target_input.tokens[0],
        "views": _views(explanation.attention),
        "output": _output_tokens(explanation, labelled.target),
        "steps": _search_steps(explanation.steps, labelled.target),
    }


def _views(attention: AttentionMap) -> dict[str, Any]:
    """The attention between "tokens" and, if some words consist of several tokens, between "words"."""
    rollouts = {kind: attention.rollout(kind) for kind in KINDS}
    views = {"tokens": _view(attention, rollouts)}
    if any(len(sequence.words) < len(sequence.tokens) for sequence in (attention.source, attention.target_input)):
        merged = {kind: attention.merge(kind, rollout) for kind, rollout in rollouts.items()}
        views["words"] = _view(attention.by_word(), merged)
    return views


def _view(attention: AttentionMap, rollouts: dict[AttentionKind, Weights]) -> dict[str, Any]:
    """Labels and weights of all kinds of attention."""
    return {
        "maps": {
            kind: {
                "queries": sequence_labels(attention.queries(kind)),
                "keys": sequence_labels(attention.keys(kind)),
                "layers": len(attention.weights[kind]),
                "weights": _encode(_stack_maps(attention, kind, rollouts[kind])),
            }
            for kind in KINDS
        },
        "target_input": sequence_labels(attention.target_input),
        "target_output": sequence_labels(attention.target_output),
    }


def _stack_maps(attention: AttentionMap, kind: AttentionKind, rollout: Weights) -> Weights:
    """All maps of a kind, (layers * (heads + 2) + 3, query, key).

    For each layer its heads, their mean and their maximum; then mean, maximum and rollout over all layers.
    """
    mean, maximum = attention.mean(kind), attention.maximum(kind)  # (layers, query, key)
    layers = np.concatenate([attention.weights[kind], mean[:, None], maximum[:, None]], axis=1)
    return np.concatenate([layers.reshape(-1, *mean.shape[1:]), [mean.mean(axis=0), maximum.max(axis=0), rollout]])


def _encode(weights: Weights) -> str:
    """Weights as one byte each, in base64. A byte is 255 times the square root, which keeps small weights apart."""
    quantized = np.rint(255 * np.sqrt(weights.clip(0, 1))).astype(np.uint8)
    return base64.b64encode(quantized.tobytes()).decode()


def _output_tokens(explanation: Explanation, tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """The tokens of the translation, eos included, with their probabilities and alternatives."""
    tokens = explanation.attention.target_output.tokens
    log_probabilities = explanation.translation.log_probabilities
    return [
        {
            "token": token_label(tokenizer, token),
            "probability": round(float(np.exp(log_probability)), 4),
            "alternatives": [(token_label(tokenizer, other), round(value, 5)) for other, value in alternatives],
        }
        for token, log_probability, alternatives in zip(
            tokens, log_probabilities, explanation.alternatives, strict=True
        )
    ]


def _search_steps(steps: Sequence[Sequence[Candidate]], tokenizer: Tokenizer) -> list[list[dict[str, Any]]]:
    """The candidates of each step; `parent` is the index in the previous step of the candidate that each continues."""
    data = []
    indices: dict[tuple[int, ...], int] = {(): 0}
    for step in steps:
        data.append([_candidate(each, indices[each.tokens[:-1]], tokenizer) for each in step])
        indices = {each.tokens: index for index, each in enumerate(step)}
    return data


def _candidate(candidate: Candidate, parent: int, tokenizer: Tokenizer) -> dict[str, Any]:
    return {
        "token": token_label(tokenizer, tokenizer.vocabulary.tokens[candidate.tokens[-1]]),
        "text": tokenizer.decode(candidate.tokens),
        "parent": parent,
        "probability": round(float(np.exp(candidate.log_probability)), 5),
        "score": round(candidate.score, 4),
        "status": candidate.status,
        "final": None if candidate.final is None else round(candidate.final, 5),
    }
