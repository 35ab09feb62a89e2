"""Placeholders for the things in a sentence that are words by themselves, such as code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dragoman.documents.formats.items import Fixed, Group, Item, plain_text
from dragoman.documents.placeholder_names import new_names


def name_words(items: Sequence[Item]) -> list[Item]:
    """Items in which each fixed one that is a word by itself has a placeholder, such as {1}."""
    text = plain_text(items)
    return list(_named(items, new_names(text), text, 0))


def _named(items: Sequence[Item], names: Iterator[str], text: str, position: int) -> Iterator[Item]:
    """The items, which start at a position of the text."""
    for item in items:
        if isinstance(item, Group):
            yield replace(item, items=tuple(_named(item.items, names, text, position)))
        elif isinstance(item, Fixed) and item.is_word and not _touches_word(text, position):
            yield replace(item, name=next(names))
        else:
            yield item
        position += len(plain_text([item]))


def _touches_word(text: str, position: int) -> bool:
    return text[position : position + 1].isalnum() or text[max(0, position - 1) : position].isalnum()
