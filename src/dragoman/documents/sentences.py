"""Splitting a paragraph into sentences."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from dragoman.text.normalization import replace_surrogates
from dragoman.text.placeholders import find_spans

_ORDINAL = regex.compile(r"(?<![\w.,])(?:\d{1,2}|[IVXL]{2,})\.\s*$")
ORDINAL_POINTS = {"bs", "cs", "da", "de", "et", "fi", "hr", "hu", "is", "lv", "no", "nb", "pl", "sk", "sl", "sr", "tr"}
"""Languages that write a point after an ordinal number: no sentence ends in "der 2. Weltkrieg"."""


def split_paragraph(text: str, language: str, whole: bool) -> list[tuple[int, int]]:
    """The start and the end of each text in a paragraph that is translated at once: each sentence, or all of it."""
    if not whole:
        return split_sentences(text, language)
    return [(len(text) - len(text.lstrip()), len(text.rstrip()))] if has_words(text) else []


def split_sentences(text: str, language: str) -> list[tuple[int, int]]:
    """The start and the end of each sentence of a paragraph, without the spaces around it.

    Parts without a letter or a number, such as emoji, belong to no sentence. Languages that `sentencex` does not know
    are split like English. A line break does not end a sentence, but an empty line does.
    """
    spans: list[tuple[int, int]] = []
    for start, end in _joined_boundaries(text, language):
        part = text[start:end]
        if has_words(part):
            spans.append((start + len(part) - len(part.lstrip()), start + len(part.rstrip())))
    return spans


def has_words(text: str) -> bool:
    """Whether a text contains a letter or a number, so that there is something to translate."""
    return any(map(str.isalnum, text))


def _joined_boundaries(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence; those that were split in the middle are joined again."""
    from sentencex import get_sentence_boundaries

    # The library cannot read lone surrogates.
    found = get_sentence_boundaries(language, replace_surrogates(text))
    primary = regex.split("[-_]", language)[0].lower()
    inside = [(span.start, span.end) for span in find_spans(text)] if len(found) > 1 else []
    start = 0
    for end in [sentence["end_index"] for sentence in found[:-1]]:
        ordinal = primary in ORDINAL_POINTS and _ORDINAL.search(text, start, end)
        divided = any(first < end < last for first, last in inside)
        if not (ordinal or divided or _continues(text, start, end)):
            yield start, end
            start = end
    if start < len(text):
        yield start, len(text)


def _continues(text: str, start: int, end: int) -> bool:
    """Whether the next letter is in lower case, as in "“No!” she said", in a text that is not all in lower case."""
    return text[end : end + 1].islower() and not text[start:end].islower()
