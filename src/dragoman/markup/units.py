"""What a translation unit consists of, in any format: segments, each with a source and a translation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

Text = TypeVar("Text")
"""How a format stores the text of a segment: a string, or an element of XML."""


class State(Enum):
    """Whether a segment is translated."""

    MISSING = "missing"
    """It has no translation, or one that its file declares to be none yet, such as a copy of the source."""
    DRAFT = "draft"
    """Nobody has confirmed the translation: a fuzzy message, for example, or a rejected segment."""
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class UnitSegment(Generic[Text]):
    """A part of a unit that is translated by itself: a sentence, a plural form, or the whole unit.

    Attributes:
        source: The text.
        target: Its translation; None if the unit has no place for it yet.
        state: Whether it is translated. A finished translation may be blank if the source is, too.
        line: Where the unit starts in its file.
        key: What the file calls it: the number of an `mrk` element, or a keyword such as ``msgstr[1]``.
    """

    source: Text
    target: Text | None
    state: State
    line: int
    key: str = ""
