"""Explanations as HTML for notebooks: no scripts, and nothing that is loaded from elsewhere."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from dragoman.explanation.labels import sequence_labels
from dragoman.text.translation_html import translation_html

if TYPE_CHECKING:
    from dragoman.explanation.attention_map import AttentionMap
    from dragoman.explanation.explain import Explanation

_COLUMN = "writing-mode:vertical-rl;padding:2px;text-align:left;font-weight:normal"
_ROW = "padding:0 6px 0 2px;text-align:right;font-weight:normal;white-space:nowrap"
_CELL = "width:1.3em;height:1.3em;min-width:1.3em;padding:0;border:1px solid rgba(128,128,128,.25)"


def explanation_html(explanation: Explanation) -> str:
    """The translation, and the cross-attention of the last layer as a heat map."""
    heat_map = attention_html(explanation.attention)
    return f'<div class="dragoman-explanation">{translation_html(explanation.translation)}{heat_map}</div>'


def attention_html(attention: AttentionMap) -> str:
    """The cross-attention of the last layer, mean over its heads: a row for each target token, and its title in words.

    The opacity of a cell is the square root of its weight, which makes small weights visible.
    """
    weights = attention.mean("cross")[-1].tolist()  # (target, source)
    source, target = (sequence_labels(each) for each in (attention.source, attention.target_output))
    header = "".join(f'<th scope="col" style="{_COLUMN}">{escape(label)}</th>' for label in source)
    rows = []
    for label, row in zip(target, weights, strict=True):
        boxes = "".join(
            f'<td style="{_CELL};background:rgba(33,113,181,{weight**0.5:.2f})" '
            f'title="{escape(label)} attends to {escape(column)}: {weight:.1%}"></td>'
            for column, weight in zip(source, row, strict=True)
        )
        rows.append(f'<tr><th scope="row" style="{_ROW}">{escape(label)}</th>{boxes}</tr>')
    caption = "Cross-attention of the last layer, mean over its heads: from the translation (rows) to the source"
    return (
        f'<div style="overflow-x:auto"><p>{caption}</p>'
        f'<table style="border-collapse:collapse;width:auto;margin:0" aria-label="{caption}">'
        f"<thead><tr><td></td>{header}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
