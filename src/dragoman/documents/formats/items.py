"""What a stretch of a file consists of: text, things that are kept, and what surrounds text, such as tags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from dragoman.documents.sentences import is_translatable

if TYPE_CHECKING:
    from dragoman.documents.formats.passage import Passage
    from dragoman.documents.formats.strings import FileString

Part: TypeAlias = "str | Passage | FileString"
"""A part of a file: kept as it is, or translated."""


@dataclass(frozen=True, slots=True)
class TextItem:
    """Text.

    Attributes:
        raw: What the file contains.
        text: What a reader sees.
        style: What a changed text is surrounded by, such as the tags of a run in a Word document.
    """

    raw: str
    text: str
    style: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Fixed:
    """Something without text of the sentence around it, such as a picture or a footnote.

    Attributes:
        parts: What the file contains; the passages in it are translated separately.
        divides: Whether sentences end before it.
        is_word: Whether it is a part of the sentence, such as code, that a placeholder may stand for.
        name: The placeholder that stands for it.
    """

    parts: tuple[Part, ...]
    divides: bool = False
    is_word: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Items between a start and an end, such as a link.

    Attributes:
        start: What is before the items.
        end: What is after the items.
        items: What is between both.
        changed_end: What is after changed items, if that is something else.
    """

    start: str
    end: str
    items: tuple[Item, ...]
    changed_end: str | None = None


Item: TypeAlias = TextItem | Fixed | Group


def plain_text(items: Sequence[Item]) -> str:
    """The text of items; of fixed ones, the placeholders."""
    return "".join(
        item.text if isinstance(item, TextItem) else item.name if isinstance(item, Fixed) else plain_text(item.items)
        for item in items
    )


def raw_parts(items: Sequence[Item]) -> Iterator[Part]:
    """What the file contains."""
    for item in items:
        if isinstance(item, TextItem):
            yield item.raw
        elif isinstance(item, Fixed):
            yield from item.parts
        else:
            yield from (item.start, *raw_parts(item.items), item.end)


def original(parts: Iterable[Part]) -> str:
    """What the file contains for these parts."""
    return "".join(part if isinstance(part, str) else part.original for part in parts)


def attach_spaces(items: Sequence[Item], before: str = "") -> list[Item]:
    """The items, but a space after one without text belongs to it if there is also one before it.

    So the text has only one space there, and both stay around the item.

    Args:
        items: The items.
        before: The text before them.
    """
    attached: list[Item] = []
    for item in items:
        last = attached[-1] if attached else None
        if isinstance(item, Group):
            item = replace(item, items=tuple(attach_spaces(item.items, before)))
        elif isinstance(item, TextItem) and before.endswith(" ") and item.raw[:1] == item.text[:1] == " ":
            if isinstance(last, Fixed) and not last.name:
                attached[-1] = replace(last, parts=(*last.parts, " "))
                item = replace(item, raw=item.raw[1:], text=item.text[1:])
            elif isinstance(last, Group) and not plain_text(last.items):
                attached[-1] = replace(last, end=f"{last.end} ")
                item = replace(item, raw=item.raw[1:], text=item.text[1:])
        attached.append(item)
        before = plain_text([item]) or before
    return attached


def to_parts(items: Sequence[Item], make_passage: Callable[[Sequence[Item]], Passage]) -> list[Part]:
    """The parts of a stretch of a file: a passage for each text between items that divide it."""
    parts: list[Part] = []
    stretch: list[Item] = []
    for item in items:
        if not _is_divided(item):
            stretch.append(item)
            continue
        parts += _trimmed(stretch, make_passage)
        stretch = []
        if isinstance(item, Group):
            parts += [item.start, *to_parts(item.items, make_passage), item.end]
        else:
            parts += raw_parts([item])
    return parts + _trimmed(stretch, make_passage)


def _is_divided(item: Item) -> bool:
    return (isinstance(item, Fixed) and item.divides) or (isinstance(item, Group) and any(map(_is_divided, item.items)))


def _is_word(item: Item) -> bool:
    return isinstance(item, Fixed) and item.is_word


def _trimmed(items: list[Item], make_passage: Callable[[Sequence[Item]], Passage]) -> list[Part]:
    """One passage, and the kept items before and after it."""
    texts = [index for index, item in enumerate(items) if plain_text([item]).strip() or _is_word(item)]
    if not is_translatable(plain_text(items)):
        return list(raw_parts(items))
    first, end = texts[0], texts[-1] + 1
    return [*raw_parts(items[:first]), make_passage(items[first:end]), *raw_parts(items[end:])]
