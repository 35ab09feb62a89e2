"""Token ids of many sentences in flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

IdArray = NDArray[np.int32] | NDArray[np.uint16]


@dataclass(frozen=True)
class IdStore:
    """Sentences as ids: sentence i is ids[offsets[i] : offsets[i + 1]].

    Shapes: `ids` (tokens,); `offsets` (sentences + 1,).
    """

    ids: IdArray
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, sentences: Iterable[Sequence[int]]) -> IdStore:
        """Store sentences given as lists of ids."""
        kept = list(sentences)
        offsets = np.zeros(len(kept) + 1, dtype=np.int64)
        np.cumsum([len(sentence) for sentence in kept], out=offsets[1:])
        ids = np.fromiter(chain.from_iterable(kept), dtype=np.int32, count=int(offsets[-1]))
        return cls(ids, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> IdArray:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Number of ids of each sentence, (sentences,)."""
        return np.diff(self.offsets).astype(np.int32)

    def copy(self) -> IdStore:
        """The same ids in arrays in memory."""
        return IdStore(self.ids.copy(), self.offsets.copy())


class IdPairs(Protocol):
    """Sentence pairs as ids: the two sides, and the number of pairs."""

    @property
    def source(self) -> IdStore:
        """The sources."""
        ...

    @property
    def target(self) -> IdStore:
        """The targets, as many."""
        ...

    def __len__(self) -> int: ...
