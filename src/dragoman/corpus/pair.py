"""Sentence pairs, and corpora that contain them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

Languages = tuple[str, str]
"""Codes of the source and the target language."""


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str
    weight: float = 1.0
    """How often it is seen in an epoch of training."""
    tagged: bool = False
    """Whether its source is marked as text of a machine."""
    direction: Languages | None = None
    """Its languages, in models with several directions."""
    one_way: bool = False
    """Whether such a model does not read it in the opposite direction, too."""

    @property
    def reversed(self) -> Pair:
        """The same pair in the opposite direction."""
        direction = self.direction and (self.direction[1], self.direction[0])
        return self._replace(source=self.target, target=self.source, direction=direction)

    @property
    def complete(self) -> bool:
        """Whether both sides have text. Readers keep blank sides so that lines stay aligned; training drops them."""
        return bool(self.source.strip() and self.target.strip())


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus that was found but not read yet; each call of `read` returns its pairs from the beginning."""

    name: str
    read: Callable[[], Iterator[Pair]]
    files: tuple[Path, ...] = ()
    """The files that contain the pairs; empty if dragoman generates them."""
    aligned: bool = False
    """Whether `files` are a source and a target file with one sentence per line in UTF-8."""
    machine_tags: tuple[str, ...] = ()
    """The languages of its columns, if they state that a machine has translated one, as `dragoman synthesize` does."""

    @property
    def machine_made(self) -> bool:
        """Whether the corpus states that a machine has translated one side."""
        return bool(self.machine_tags)
