"""Translations as HTML for notebooks: no scripts, and nothing that is loaded from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from dragoman.text.normalization import METASPACE

if TYPE_CHECKING:
    from dragoman.text.translation import Translation

_CELL = "padding:2px 8px;text-align:left;vertical-align:top"
_TOKEN = "display:inline-block;margin:1px;padding:0 3px;border-radius:3px"


def translation_html(translation: Translation) -> str:
    """The text, its tokens colored by their probabilities if these are known, and a table with any alternatives."""
    parts = [f'<p dir="auto"><strong>{escape(translation.text)}</strong></p>']
    if translation.truncated:
        parts.append("<p>Only the beginning of the text was translated: it is longer than the model's limit.</p>")
    if translation.problems:
        parts.append(f"<p>Problems: {escape('; '.join(translation.problems))}</p>")
    if translation.log_probabilities:
        parts.append(_tokens(translation.tokens, translation.log_probabilities))
    if translation.alternatives:
        parts.append(_ranking([translation, *translation.alternatives]))
    return f'<div class="dragoman-translation">{"".join(parts)}</div>'


def _tokens(tokens: Sequence[str], log_probabilities: Sequence[float]) -> str:
    """The tokens; the less probable a token is, the darker is its background."""
    spans = []
    for token, value in zip(tokens, log_probabilities, strict=False):  # the last value is that of the end
        probability = math.exp(value)
        style = f"{_TOKEN};background:rgba(217,95,2,{0.7 * (1 - probability):.2f})"
        label = escape(token.removeprefix(METASPACE) or token)
        spans.append(f'<span style="{style}" title="{probability:.1%}">{label}</span>')
    return f'<p dir="auto">{" ".join(spans)}</p>'


def _ranking(translations: Sequence[Translation]) -> str:
    rows = "".join(
        f'<tr><td style="{_CELL}">{each.score:.3f}</td><td style="{_CELL}" dir="auto">{escape(each.text)}</td></tr>'
        for each in translations
    )
    header = f'<tr><th style="{_CELL}">score</th><th style="{_CELL}">translation</th></tr>'
    return f'<table style="border-collapse:collapse"><thead>{header}</thead><tbody>{rows}</tbody></table>'
