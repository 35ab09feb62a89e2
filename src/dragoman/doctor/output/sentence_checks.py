"""Checks of single translations, without references."""

from __future__ import annotations

import math
from collections.abc import Iterator

import regex

from dragoman.doctor.input.training_text import TrainingText, log_length_ratio
from dragoman.doctor.output.text_checks import MIN_REPEATS, count_repeats, equal_words
from dragoman.languages.identify import words_of
from dragoman.languages.scripts import WITHOUT_SPACES

EMPTY = "empty"
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Stands for bytes that are no character, which a model with tokens for bytes can write."""

MAX_DEVIATIONS = 4.0  # of the length ratio; 0.1 to 0.8 % of the pairs of seven corpora are beyond
MIN_COPIED_WORDS = 5  # shorter copies may be names …
MIN_COPIED_EVIDENCE = 3.0  # … unless their words show the source language, in nats
_WIDE_LETTER = regex.compile(rf"([{WITHOUT_SPACES}])")
_LOOP_IN_WORD = regex.compile(r"(?=\w{8})(\w{1,10}?)\1{7,}")  # the lookahead only saves time


def check_sentence(source: str, translation: str, trained: TrainingText | None = None) -> Iterator[str]:
    """What is probably wrong: "empty", "broken characters", "loop", "copied", "too short", "too long".

    Args:
        source: The source, with at least one word.
        translation: Its translation.
        trained: The description of the training text, without which lengths are not compared.
    """
    if not translation.strip():
        yield EMPTY
        return
    if REPLACEMENT in translation and REPLACEMENT not in source:
        yield "broken characters"
    repeats = _repeats(translation)
    if repeats > 1 and repeats > _repeats(source):
        yield "loop"
    if equal_words(source, translation) and _is_translatable(source, trained):
        yield "copied"
    if trained and trained.length_ratio is not None and trained.length_deviation:
        deviations = (log_length_ratio(source, translation) - trained.length_ratio) / trained.length_deviation
        if abs(deviations) > MAX_DEVIATIONS:
            yield "too long" if deviations > 0 else "too short"


def _repeats(text: str) -> int:
    """How often the same words or parts of a word follow each other; 1 if that is not often enough for a loop."""
    words = count_repeats(_WIDE_LETTER.sub(r" \1 ", text))
    inside = max((len(match[0]) // len(match[1]) for match in _LOOP_IN_WORD.finditer(text)), default=1)
    return max(words if words >= MIN_REPEATS else 1, inside)


def _is_translatable(source: str, trained: TrainingText | None) -> bool:
    """Whether a text is probably not a name, which a translation repeats."""
    words = list(words_of(source))
    evidence = math.fsum(trained.evidence.get(word, 0.0) for word in set(words)) if trained else 0.0
    return len(words) >= MIN_COPIED_WORDS or evidence >= MIN_COPIED_EVIDENCE
