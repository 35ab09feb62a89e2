"""One HTML page that shows how a sentence was translated; it needs no network and no other file."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dragoman.evaluation.evaluate import describe_decoding
from dragoman.explanation.attention_map import AttentionMap, Weights
from dragoman.explanation.capture import KINDS, Kind
from dragoman.explanation.explain import Explanation
from dragoman.explanation.labels import label, labels
from dragoman.search.trace import Candidate
from dragoman.text.tokenizer import Tokenizer
from dragoman.translator import Translator

HERE = Path(__file__).parent
SCRIPTS = ("page.js", "attention.js", "search.js")


def render_page(translator: Translator, text: str, explanation: Explanation) -> str:
    """The page.

    Args:
        translator: Whose bundle and settings it was.
        text: What was translated.
        explanation: How.
    """
    recipe = translator.bundle.recipe
    data = _data(translator, explanation)
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    return environment.get_template("page.html.j2").render(
        recipe=recipe,
        text=text,
        translation=explanation.translation,
        subwords="words" in data["views"],
        decoding=describe_decoding(translator.decoding),
        data=data,
        style=Markup((HERE / "page.css").read_text("utf-8")),
        scripts=[Markup((HERE / name).read_text("utf-8")) for name in SCRIPTS],
    )


def _data(translator: Translator, explanation: Explanation) -> dict[str, Any]:
    """What the page's script draws."""
    attention, recipe = explanation.attention, translator.bundle.recipe
    views = {"tokens": _view(attention, None)}
    if any(len(side.words) < len(side.tokens) for side in (attention.source, attention.read)):
        views["words"] = _view(attention.by_word(), attention)
    target = translator.bundle.target
    said = zip(
        attention.predicted.tokens, explanation.translation.log_probabilities, explanation.alternatives, strict=True
    )
    return {
        "languages": [recipe.data.source_language, recipe.data.target_language],
        "heads": recipe.model.heads,
        "beginning": attention.read.tokens[0],
        "views": views,
        "said": [
            {
                "token": label(target, token),
                "probability": round(float(np.exp(value)), 4),
                "alternatives": [(label(target, other), round(probability, 5)) for other, probability in others],
            }
            for token, value, others in said
        ],
        "steps": _tree(explanation.steps, target),
    }


def _view(attention: AttentionMap, tokens: AttentionMap | None) -> dict[str, Any]:
    """Labels and maps between tokens, or between the words that tokens merge to."""
    return {
        "maps": {
            kind: {
                "queries": labels(attention.queries(kind)),
                "keys": labels(attention.keys(kind)),
                "layers": len(attention.weights[kind]),
                "weights": _encode(_maps(attention, tokens, kind)),
            }
            for kind in KINDS
        },
        "read": labels(attention.read),
        "predicted": labels(attention.predicted),
    }


def _maps(attention: AttentionMap, tokens: AttentionMap | None, kind: Kind) -> Weights:
    """All maps of a kind: each layer's heads, their mean and maximum; then mean, maximum and rollout of all layers."""
    mean, maximum = attention.mean(kind), attention.maximum(kind)
    layers = np.concatenate([attention.weights[kind], mean[:, None], maximum[:, None]], axis=1)
    rollout = attention.rollout(kind) if tokens is None else tokens.merge(kind, tokens.rollout(kind))
    return np.concatenate([layers.reshape(-1, *mean.shape[1:]), [mean.mean(axis=0), maximum.max(axis=0), rollout]])


def _encode(weights: Weights) -> str:
    """Weights as bytes in base64: 255 times their square root, which keeps small ones apart."""
    quantised = np.rint(255 * np.sqrt(weights.clip(0, 1))).astype(np.uint8)
    return base64.b64encode(quantised.tobytes()).decode()


def _tree(steps: Sequence[Sequence[Candidate]], tokenizer: Tokenizer) -> list[list[dict[str, Any]]]:
    """The candidates of each step; `parent` is the place of what each continues in the step before."""
    tokens, tree = tokenizer.vocabulary.tokens, []
    places: dict[tuple[int, ...], int] = {(): 0}
    for step in steps:
        tree.append(
            [
                {
                    "token": label(tokenizer, tokens[each.tokens[-1]]),
                    "text": tokenizer.decode(each.tokens),
                    "parent": places[each.tokens[:-1]],
                    "probability": round(float(np.exp(each.log_probability)), 5),
                    "score": round(each.score, 4),
                    "fate": each.fate,
                    "final": None if each.final is None else round(each.final, 5),
                }
                for each in step
            ]
        )
        places = {each.tokens: place for place, each in enumerate(step)}
    return tree
