"""What a translator returns."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Translation:
    """A translation and what the model thought of it.

    `log_probabilities` (natural logarithm) has one value for each of `tokens` and one for the end of
    the sentence; `score` is their sum over the length penalty. An engine that was not asked for
    log-probabilities leaves them out. `truncated` says that the source was longer than the model's
    limit and only its beginning was translated.
    """

    text: str
    tokens: list[str] = field(default_factory=list)
    log_probabilities: list[float] = field(default_factory=list)
    score: float = 0.0
    truncated: bool = False
    alternatives: list[Translation] = field(default_factory=list)

    def __str__(self) -> str:
        return self.text
