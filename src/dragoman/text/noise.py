"""Noise for synthetic sources, so that a model learns to rely on what it knows of the target (Edunov et al. 2018)."""

from __future__ import annotations

from random import Random

import regex

from dragoman.languages.scripts import has_no_spaces
from dragoman.text.placeholders import find_spans, text_between

FILLER = "□"
"""Replaces a word."""

DELETED, REPLACED = 0.1, 0.1  # the share of all words that are deleted, and of the others that are replaced
MAX_SHIFT = 3
"""How many places a word moves at most."""

_CHARACTER = regex.compile(r"\X")


def _units(text: str) -> tuple[list[str], str]:
    """Words, or characters and whole spans in scripts without spaces; and what joins them."""
    spans = list(find_spans(text))
    between = list(text_between(text, spans))
    if not has_no_spaces(between):
        return text.split(), " "
    units = _CHARACTER.findall(between[0])
    for span, part in zip(spans, between[1:], strict=True):
        units += [text[span.start : span.end], *_CHARACTER.findall(part)]
    return units, ""


def _has_span(word: str) -> bool:
    return next(find_spans(word), None) is not None


def add_noise(text: str, generator: Random) -> str:
    """The text with words deleted, replaced by a filler, and moved; characters in scripts without spaces.

    One word is always left. Words with placeholders, numbers and the like are only moved.
    """
    words, separator = _units(text)
    kept = [word for word in words if _has_span(word) or generator.random() >= DELETED] or words[:1]
    filled = [FILLER if not _has_span(word) and generator.random() < REPLACED else word for word in kept]
    places = [place + generator.uniform(0, MAX_SHIFT + 1) for place in range(len(filled))]
    return separator.join(filled[place] for place in sorted(range(len(filled)), key=places.__getitem__))


def noise_translation(text: str, translation: str, seed: int) -> str:
    """A synthetic translation with noise that depends only on the seed and the pair, so that it is the same always."""
    return add_noise(translation, Random(f"{seed}\t{translation}\t{text}"))
