"""The result of translating a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field

from dragoman.text.match import NO_MATCH, Match
from dragoman.text.term_matcher import CheckedTerm
from dragoman.text.translation_html import translation_html


@dataclass(frozen=True)
class Translation:
    """A translation with its scores."""

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

    `dragoman.TextTranslator` also reports "empty" (the text is then the source), "broken characters", "loop", "copied",
    "too short" and "too long", and terms that it does not use, such as "missing term: hound".
    """
    confidence: float | None = None
    """The estimated probability that the translation is good; only of `dragoman.TextTranslator`, if it is known."""
    terms: list[CheckedTerm] = field(default_factory=list)
    """The terms of a glossary in the source, and whether they are used; only of `dragoman.TextTranslator`."""
    match: Match = NO_MATCH
    """What the translation took from a translation memory; of several sentences, the least similar match."""
    log_probability: float = 0.0
    """The sum of `log_probabilities`, also if these are not requested."""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """What notebooks show: see `translation_html`."""
        return translation_html(self)
