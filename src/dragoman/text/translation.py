"""A translation: of a sentence, of a segment of a document, or of a text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from dragoman.text.link import Link
from dragoman.text.match import NO_MATCH, Match
from dragoman.text.normalization import METASPACE
from dragoman.text.term_matcher import CheckedTerm

_CELL = "padding:2px 8px;text-align:left;vertical-align:top"
_TOKEN = "display:inline-block;margin:1px;padding:0 3px;border-radius:3px"


@dataclass(frozen=True)
class Translation:
    """A translation with its scores, and with what is known about it."""

    text: str
    tokens: list[str] = field(default_factory=list)
    log_probabilities: list[float] = field(default_factory=list)
    """Natural logarithms, one for each of `tokens` and one for the end of the sentence; empty if not requested."""
    score: float = 0.0
    """`log_probability` divided by the length penalty."""
    truncated: bool = False
    """Whether the source was longer than the model's limit, so that only its beginning was translated."""
    alternatives: list[Translation] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Placeholders, URLs and other spans that the translation lacks, repeats or adds, such as "missing: %s".

    `dragoman.TextTranslator` also reports "empty" (the text is then the source), "no words", "broken characters",
    "loop", "copied", "too short" and "too long", and terms that it does not use, such as "missing term: hound".
    """
    confidence: float | None = None
    """The estimated probability that the translation is good; only of `dragoman.TextTranslator`, if it is known."""
    terms: list[CheckedTerm] = field(default_factory=list)
    """The terms of a glossary in the source, and whether they are used; only of `dragoman.TextTranslator`."""
    match: Match = NO_MATCH
    """What the translation took from a translation memory; of several sentences, the least similar match."""
    log_probability: float = 0.0
    """The sum of `log_probabilities`, also if these are not requested."""
    links: Sequence[Link] = ()
    """What each part of the text translates, in order; only of segments of documents that are `aligned`."""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """What notebooks show: see `translation_html`."""
        return translation_html(self)


def translation_html(translation: Translation) -> str:
    """HTML for notebooks, without scripts.

    It has the text, its tokens colored by their probabilities if these are known, and a table with any alternatives.
    """
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
