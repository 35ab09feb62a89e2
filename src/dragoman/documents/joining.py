"""Joining the translations of the parts of a text."""

from __future__ import annotations

from collections.abc import Sequence

import regex

from dragoman.text.normalization import WITHOUT_SPACES

_NEEDS_NO_SPACE = regex.compile(rf"[{WITHOUT_SPACES}\u3000-\u303f\uff01-\uff65]")


def join_translations(text: str, spans: Sequence[tuple[int, int]], translations: Sequence[str]) -> str:
    """A text with a translation in place of each span, in order; all else is kept.

    A space is added between spans without one if the source needs none there but the translation does, for example
    from Chinese to English.
    """
    assert len(spans) == len(translations), "one translation for each span"
    parts: list[str] = []
    last = 0
    for index, ((start, end), translation) in enumerate(zip(spans, translations, strict=True)):
        if index and start == last and _lost_separator(text[last - 1], parts[-1]):
            parts.append(" ")
        parts += [text[last:start], translation]
        last = end
    return "".join([*parts, text[last:]])


def _lost_separator(source_end: str, translation: str) -> bool:
    """Whether the source needs no space after its last character, but the translation does."""
    return bool(_NEEDS_NO_SPACE.match(source_end)) and not _NEEDS_NO_SPACE.match(translation[-1:])
