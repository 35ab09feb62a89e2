"""Splitting a paragraph into sentences."""

from __future__ import annotations


def split_sentences(text: str, language: str) -> list[tuple[int, int]]:
    """The start and the end of each sentence of a paragraph, without the spaces around it."""
    from sentencex import get_sentence_boundaries

    spans = []
    start = 0
    for sentence in get_sentence_boundaries(language, text):
        end = sentence["end_index"]
        part = text[start:end]
        if any(map(str.isalnum, part)):
            spans.append((start + len(part) - len(part.lstrip()), start + len(part.rstrip())))
        start = end
    return spans
