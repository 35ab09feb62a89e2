"""Which part of a text translates which part of another."""

from __future__ import annotations

from typing import NamedTuple


class Link(NamedTuple):
    """A part of a translation and the part of the source that it translates, in characters; ends are exclusive."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int
