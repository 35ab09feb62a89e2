"""Noise for synthetic sources, so that a model learns to rely on what it knows of the target (Edunov et al. 2018)."""

from __future__ import annotations

from random import Random

import regex

from dragoman.text.normalization import WITHOUT_SPACES
from dragoman.text.placeholders import find_spans

FILLER = "□"
"""Replaces a word."""

DELETED, REPLACED = 0.1, 0.1  # shares of the words
MAX_SHIFT = 3
"""How many places a word moves at most."""

_WITHOUT_SPACES = regex.compile(f"[{WITHOUT_SPACES}]")
_CHARACTER = regex.compile(r"\X")


def _has_span(word: str) -> bool:
    return next(find_spans(word), None) is not None


def add_noise(text: str, generator: Random) -> str:
    """The text with words deleted, replaced by a filler, and moved; characters in scripts without spaces.

    One word is always left. Words with placeholders, numbers and the like are only moved.
    """
    spaced = len(_WITHOUT_SPACES.findall(text)) <= len(text) / 2
    words = text.split() if spaced else _CHARACTER.findall(text)
    kept = [word for word in words if _has_span(word) or generator.random() >= DELETED] or words[:1]
    filled = [FILLER if not _has_span(word) and generator.random() < REPLACED else word for word in kept]
    places = [place + generator.uniform(0, MAX_SHIFT + 1) for place in range(len(filled))]
    return (" " if spaced else "").join(filled[place] for place in sorted(range(len(filled)), key=places.__getitem__))
